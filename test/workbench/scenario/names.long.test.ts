/** Scenarios under a names profile: the names for clients of a script, for the script itself, and in reports. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunArguments, run } from '../../../src/cli/commands/run.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { runScenario } from '../../../src/workbench/scenario/index.ts'
import { loadScenarios } from '../../../src/workbench/scenario/runner/files.ts'
import { withResolvedPaths } from '../../../src/workbench/scenario/runner/paths.ts'
import type { Scenario } from '../../../src/workbench/scenario/scenario.ts'
import { commandOutput } from '../../cli/command-output.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const NAMES = JSON.stringify({ paths: { hosted: 'machines' }, fields: { account_balance: 'owed' } })
/** One client of its own, which speaks the words of its provider, and the typed one beside it. */
const CLIENT = `
import { scenario } from 'modelhost-sim/scenario'
export default scenario('a client of its own', { fixtures: 'empty', OPTIONS }, async ({ api, fetch, baseUrl, token, check }) => {
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
  const checklist = await (await fetch(baseUrl + '/payment/checklist', { headers })).json()
  check('owed' in checklist, true, 'the words of the provider')
  check(typeof (await api.getPaymentChecklist()).account_balance, 'number')
  const made = await fetch(baseUrl + '/v1/machines', { method: 'POST', headers, body: '{"nam":"x"}' })
  const { detail } = await made.json()
  check(detail.some(({ loc }) => loc[1] === 'nam'), STRICT, 'strictness')
})
`
const STORY = `title: a deployment is renamed nowhere
given: { fixtures: two-nodes, seed: 7 GIVEN }
steps:
  - do: { getHosted: { instance_id: missing } }
    refused: { status: 404, message: 'hosted instance' }
  - expect: { get: { getPaymentChecklist: {} }, is: { account_balance: -5000 } }
`

let folder: string

beforeEach(() => {
  folder = temporaryFolder()
  write('names.json', NAMES)
})
function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text)
}

const client = (options = '', strict = false) => CLIENT.replace('OPTIONS', options).replace('STRICT', String(strict))
const story = (given = '') => STORY.replace('GIVEN', given)

async function play(args: RunArguments) {
  const { written, output } = commandOutput()
  const code = await run(args, { ...output, folder })
  return { code, ...written }
}

/** Returns the answer to a client about the account after a scenario. */
async function checklistAfter(scenario: Scenario): Promise<unknown> {
  let checklist: unknown
  const { failure } = await runScenario({
    ...scenario,
    async play(props) {
      await scenario.play(props)
      const headers = { authorization: `Bearer ${props.token}` }
      checklist = await (await props.fetch(`${props.baseUrl}/payment/checklist`, { headers })).json()
    },
  })
  expect(failure).toBeUndefined()
  return checklist
}

describe('run --names', () => {
  test('applies to clients on fetch, and not to the typed client and the trace', async () => {
    write('client.ts', client())
    write('story.yaml', story())
    const scenarios = ['client.ts', 'story.yaml']
    expect((await play({ scenarios: ['story.yaml'], update: true })).code).toBe(0)
    expect((await play({ scenarios: ['client.ts'], names: 'names.json', update: true })).code).toBe(0)
    expect(await play({ scenarios, names: 'names.json' })).toMatchObject({ code: 0, error: '' })
    const { code, out } = await play({ scenarios })
    expect(code).toBe(1)
    expect(out).toContain('(the words of the provider)')
    expect(out).toContain('✓ a deployment is renamed nowhere')
  })

  test('overrides the names of a scenario, is reported with a failure, and replays it', async () => {
    write('client.ts', client("names: './names.json'"))
    write('other.json', JSON.stringify({ fields: { account_balance: 'standing' } }))
    const { code, out } = await play({ scenarios: ['client.ts'], names: 'other.json' })
    expect(code).toBe(1)
    expect(out).toContain('(the words of the provider)')
    const names = join(folder, 'other.json')
    expect(out).toContain(`repeat: npx modelhost-sim run client.ts --seed 1 --names ${names}\n`)
    const again = await play({ scenarios: ['client.ts'], seed: '1', names, reporter: 'json' })
    expect(JSON.parse(again.out).scenarios[0].failure.replay).toContain(`--names ${names}`)
  })

  test.each([
    ['{"fields":{"hbu":"x"}}', /fields\.hbu: unknown word\. Did you mean 'hub'\?\n$/],
    [
      '{"paths":{"hosted":"files"}}',
      /paths\.hosted: 'files' makes \/v1\/hosted\/\{instance_id\} into .*already\. Give it another\.\n$/,
    ],
    ['[', /line 1, column 2: .*Fix the JSON there\.\n$/],
  ])('rejects invalid names before any scenario: %s', async (text, message) => {
    write('bad.json', text)
    write('story.yaml', story())
    const { code, out, error } = await play({ scenarios: ['story.yaml'], names: 'bad.json', update: true })
    expect([code, out]).toEqual([2, ''])
    expect(error).toMatch(/^Failed to read the names '.*bad\.json':/)
    expect(error).toMatch(message)
    expect((await play({ scenarios: ['story.yaml'], names: 'none.json' })).error).toMatch(
      /none\.json': the file is missing/,
    )
  })
})

describe('the option of a scenario', () => {
  test('is a path relative to the script in TypeScript, also with strictRequests', async () => {
    write('client.ts', client("names: './names.json', strictRequests: true", true))
    expect((await play({ scenarios: ['client.ts'], update: true })).error).toBe('')
    expect((await play({ scenarios: ['client.ts'] })).code).toBe(0)
    write('lax.ts', client("names: './names.json', strictRequests: true", false))
    expect((await play({ scenarios: ['lax.ts'] })).out).toContain('(strictness)')
  })

  test('is a path relative to the file or the profile itself in YAML', async () => {
    write('path.yaml', story(', names: ./names.json, strictRequests: true'))
    write('whole.yaml', story(', names: { fields: { account_balance: standing } }'))
    const load = async (name: string) => {
      const [scenario] = await loadScenarios(join(folder, name))
      return { ...scenario!, options: withResolvedPaths(scenario!.options, folder) }
    }
    expect(await checklistAfter(await load('path.yaml'))).toHaveProperty('owed', -5000)
    expect((await load('path.yaml')).options).toHaveProperty('strictRequests', true)
    expect(await checklistAfter(await load('whole.yaml'))).toHaveProperty('standing', -5000)
  })

  test.each([
    [', names: ./none.json', /story\.yaml:2:41: the names '.*none\.json': the file is missing/],
    [
      ', names: { paths: { hosted: files } }',
      /story\.yaml:2:41: the names of the world:\n {2}paths\.hosted: 'files' makes/,
    ],
    [', nams: ./names.json', "story.yaml:2:41: unknown key 'nams'. Did you mean 'names'?"],
    [', strict_requests: true', "story.yaml:2:41: unknown key 'strict_requests'. Did you mean 'strictRequests'?"],
    [', strictRequests: 1', "story.yaml:2:41: 'strictRequests': expected boolean, received number."],
  ])('an error in it is reported with its place: %s', async (given, message) => {
    write('story.yaml', story(given))
    const { code, error } = await play({ scenarios: ['story.yaml'] })
    expect(code).toBe(2)
    expect(error).toMatch(message instanceof RegExp ? message : new RegExp(message.replaceAll(/[.?]/g, '\\$&')))
  })
})

test('a scenario that begins with a snapshot has its own names, and not those of the snapshot', async () => {
  const { saveSnapshot } = await import('../../../src/index.ts')
  const sim = createSimulator({ fixtures: 'empty', names: { fields: { account_balance: 'else' } } })
  saveSnapshot(join(folder, 'before.snapshot'), sim.snapshot())
  write('client.ts', client("names: './names.json'").replace("'empty'", "'./before.snapshot'"))
  expect((await play({ scenarios: ['client.ts'], update: true })).out).toContain('1 scenario passed')
})
