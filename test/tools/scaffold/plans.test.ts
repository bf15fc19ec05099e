import { describe, expect, test } from 'vitest'
import { planEndpoint } from '../../../tools/scaffold/endpoint.ts'
import { planFault } from '../../../tools/scaffold/fault.ts'
import { InputError } from '../../../tools/scaffold/input.ts'
import { planScenario } from '../../../tools/scaffold/scenario.ts'

/** Returns the message with which a plan is rejected. */
function rejection(plan: () => unknown): string {
  try {
    plan()
  } catch (error) {
    if (error instanceof InputError) return error.message
    throw error
  }
  return 'accepted'
}

describe('new:endpoint', () => {
  const summary = 'List things'
  test.each([
    [[], /name is missing/],
    [['list-things', 'GET /v1/things'], /name 'list-things' is invalid/],
    [['listvoices', 'GET /v1/things'], /name 'listvoices' is invalid/],
    [['listVoices', 'GET /v1/things'], /'listVoices' exists/],
    [['listVOICES', 'GET /v1/things'], /'listVoices' exists/],
    [['listThings'], /unknown method ''/],
    [['listThings', 'GTE /v1/things'], /unknown method 'GTE'\. Did you mean 'GET'\?/],
    [['listThings', 'GET v1/things'], /route 'GET v1\/things' is invalid/],
    [['listThings', 'GET /v1/things/{}'], /is invalid/],
    [['listThings', 'GET /v1/../things'], /is invalid/],
    [['listThings', 'GET /v1/voices/{id}'], /'getVoice' has the route GET \/v1\/voices\/\{voice_id\}/],
    [['listThings', 'GET /v2/voices'], /voices\.ts: it exists\. Add 'export const listThings'/],
  ])('rejects %j', (args, message) => {
    expect(rejection(() => planEndpoint(args, { summary }))).toMatch(message)
  })

  test.each([undefined, '', 'list things', 'List things.', 'List\nthings'])('rejects the summary %j', text => {
    expect(rejection(() => planEndpoint(['listThings', 'GET /v1/things'], { summary: text }))).toMatch(/--summary/)
  })
})

test('new:endpoint writes the endpoints of a path to the folder of their first word', () => {
  const { files } = planEndpoint(['listTags', 'GET /v1/account/tags'], { summary: 'List tags' })
  expect(files[0]!.path).toBe('src/service/endpoints/account/tags.ts')
  expect(files[0]!.text).toContain("from '../../endpoint.ts'")
})

describe('new:fault', () => {
  test.each([
    [[], /name is missing/],
    [['drop-header'], /name 'drop-header' is invalid/],
    [['drift'], /'drift' exists/],
    [['rateLIMIT'], /'rateLimit' exists/],
    [['kind'], /'kind' exists/],
    [['../escape'], /is invalid/],
  ])('rejects %j', (args, message) => {
    expect(rejection(() => planFault(args, { summary: 'An empty answer' }))).toMatch(message)
  })
})

describe('new:scenario', () => {
  const texts = { teaches: 'A card of the account can expire.', client: 'Reads the checklist each day.' }
  test.each([
    [[], /name is missing/],
    [['card-expires'], /name 'card-expires' is invalid/],
    [['mony/card-expires'], /unknown folder of scenarios 'mony'\. Did you mean 'money'\?/],
    [['money/out-of-funds'], /'out-of-funds' exists/],
    [['hub/hub-outage'], /'hub-outage' exists/],
  ])('rejects %j', (args, message) => {
    expect(rejection(() => planScenario(args, texts))).toMatch(message)
  })

  test.each(['teaches', 'client'] as const)('rejects a missing or short --%s', flag => {
    for (const text of [undefined, 'Too short.', 'a sentence without a capital letter.'])
      expect(rejection(() => planScenario(['money/card-expires'], { ...texts, [flag]: text }))).toMatch(`--${flag}`)
  })
})
