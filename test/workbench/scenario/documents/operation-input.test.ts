/** What operations take, durations and names in YAML and JSON: judged when a file is loaded, as far as can be known then. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { operations } from '../../../../src/service/index.ts'
import { OPERATION_INPUTS } from '../../../../src/workbench/scenario/documents/operation-input.ts'
import { scenarioJsonSchema } from '../../../../src/workbench/scenario/documents/schema.ts'
import { loadScenarios } from '../../../../src/workbench/scenario/runner/files.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'

let folder: string

beforeEach(() => {
  folder = temporaryFolder()
})
/** What is said to a file, without its name. */
async function said(text: string): Promise<string> {
  writeFileSync(join(folder, 'story.yaml'), text)
  return loadScenarios(join(folder, 'story.yaml'), folder).then(
    () => 'nothing',
    error => (error as Error).message.replace('Failed to load story.yaml:', ''),
  )
}

const step = (text: string) => `title: a story\nsteps:\n  - ${text}\n`
const given = (text: string) => `title: a story\ngiven:\n  ${text}\nsteps:\n  - advance: 1m\n`
const DURATION = "Give a duration of at least 0 with its unit, like '90s', '10m' or '1h30m'."

describe('a mistake is reported with its line, its column and the nearest word', () => {
  test.each([
    [step('advance: [1]'), `3:5: invalid value of 'advance'. ${DURATION}`],
    [step('advance: 90'), `3:5: invalid value '90' of 'advance'. ${DURATION}`],
    [step('advance: 10 min'), `3:5: invalid value '10 min' of 'advance'. ${DURATION}`],
    [step('advance: -1s'), `3:5: invalid value '-1s' of 'advance'. ${DURATION}`],
    [
      step('until: { get: { listDeployments: }, where: [], within: soon }'),
      `3:52: invalid value 'soon' of 'within'. ${DURATION}`,
    ],
    [
      step('leadsTo: { event: node.crashed, to: node.repaired, within: soon }'),
      `3:56: invalid value 'soon' of 'within'. ${DURATION}`,
    ],
    [step('fault: { verb: hub.down, at: soon }'), `3:30: invalid value 'soon' of 'at'. ${DURATION}`],
    [
      step('at:\n      5 min:\n        - fault: { verb: hub.down }'),
      "4:7: invalid time '5 min'. Give a duration from now, as in '5m', or a virtual time, as in '2026-01-01T01:00:00Z'.",
    ],
    [
      step('every:\n      0s:\n        - fault: { verb: hub.down }'),
      "4:7: invalid interval '0s'. Give a duration above 0, as in '1h'.",
    ],
    [step('do: { createLLM: {} }'), "3:11: unknown operation 'createLLM'. Did you mean 'createLlmDeployment'?"],
    [given('tags: [money]'), "3:3: unknown key 'tags'. Move it up, beside 'given'."],
    ['title: a story\nseed: 7\nsteps:\n  - advance: 1m\n', "2:1: unknown key 'seed'. Move it below 'given'."],
    [step('do: { getDeployment: { deployid: a } }'), "3:28: unknown key 'deployid'. Did you mean 'deploy_id'?"],
    [step('do: { getDeployment: }'), "3:11: 'deploy_id' is missing. Add it."],
    [
      step('do: { getDeployment: abc }'),
      "3:11: the input of 'getDeployment' must be a map. Give its fields by their names.",
    ],
    [
      step('do:\n      createLlmDeployment:\n        model_name: acme/chat\n        gpu: H10-80GB'),
      "6:9: invalid value 'H10-80GB'. Did you mean 'H100-80GB'?",
    ],
    [
      step('do: { createLlmDeployment: { model_name: a/b, gpu: H100-80GB, hub: { rpo: a/b-8b } } }'),
      "3:74: unknown key 'rpo'. Did you mean 'repo'?",
    ],
    [
      step('do: { createLlmDeployment: { model_name: a/b, gpu: H100-80GB, settings: { max_instance: 2 } } }'),
      "3:79: unknown key 'max_instance'. Did you mean 'max_instances'?",
    ],
    [
      step('do: { createLlmDeployment: { model_name: a/b, gpu: H100-80GB, num_gpus: two } }'),
      "3:67: 'num_gpus': Input should be a valid integer. Fix it.",
    ],
    [
      step('do: { createLlmDeployment: { model_nam: acme/chat } }\n    refused: { status: 422 }'),
      "3:34: unknown key 'model_nam'. Did you mean 'model_name'?",
    ],
    [step('do: { uploadFile: { purpose: batch } }'), "3:11: 'file' is missing. Add it."],
    [step('expect: { get: { listBatches: { limt: 1 } } }'), "3:37: unknown key 'limt'. Did you mean 'limit'?"],
    [
      step('always: { get: { listBatches: { limit: one } }, is: {} }'),
      "3:37: 'limit': Input should be a valid integer. Fix it.",
    ],
    [step('expect: { get: { node: } }'), "3:22: 'node' needs a name or an id. Give one, as in node: …."],
    [step('expect: { get: { balance: mine } }'), "3:22: 'balance' takes no input. Remove its value."],
    [given('fixtures: emty'), /^3:3: fixture 'emty': unknown name\. Did you mean 'empty'\?/],
    [given('fixtures: ./mine'), /^3:3: fixture '.*mine': the folder is missing\. Give the path of a folder/],
    [given('profile: quik'), /^3:3: expected a profile, got 'quik': unknown name\. Did you mean 'quick'\?/],
    [given('weather: lunch-day'), /^3:3: unknown weather 'lunch-day'\. Did you mean 'launch-day'\?/],
  ] satisfies [string, string | RegExp][])('%j', async (text, expected) => {
    if (expected instanceof RegExp) expect(await said(text)).toMatch(expected)
    else expect(await said(text)).toBe(expected)
  })
})

test.each([
  ['what an earlier step saved', `do: { getDeployment: '\${all[0]}' }`],
  [
    'a field of it',
    `do: { createLlmDeployment: { model_name: a/b, gpu: '\${all[0].gpu}', num_gpus: '\${all[0].n}' } }`,
  ],
  [
    'a field of it, deep in a value',
    `do: { createLora: { base_model: a, lora_name: b, private: true, source: { type: modelhub, modelhub_url: '\${all}' } } }`,
  ],
  ['a duration of it', `advance: '\${all[0].n}'`],
  [
    'what is meant to be refused',
    'do: { createLlmDeployment: { gpu: H10, num_gpus: two } }\n    refused: { status: 422 }',
  ],
  ['a number in an address', 'do: { listBatches: { limit: 1, after: 5 } }'],
  ['nothing, where nothing has to be given', 'do: { listFiles: }'],
])('%s is checked when the scenario runs', async (_, text) => {
  expect(await said(step(`do: { listDeployments: }\n    as: all\n  - ${text}`))).toBe('nothing')
})

test('the path of a fixture is relative to the scenario file', async () => {
  writeFileSync(join(folder, 'account.json'), '{}')
  expect(await said(given('fixtures: ../'.concat(folder.split('/').at(-1)!)))).toBe('nothing')
})

test('the request of every example in the documents is accepted', () => {
  const wrong = Object.entries(operations).flatMap(([name, { example, body }]) => {
    if (body === undefined || example?.body === undefined) return []
    const { error } = OPERATION_INPUTS[name]!.safeParse(example.body)
    // A parameter of the path is not in the body.
    return (error?.issues ?? []).filter(
      ({ path, code }) => code !== 'invalid_type' || !(String(path[0]) in OPERATION_INPUTS[name]!.shape),
    )
  })
  expect(wrong).toEqual([])
})

describe('the published schema has the input of every operation', () => {
  const schema = z.fromJSONSchema(scenarioJsonSchema() as Parameters<typeof z.fromJSONSchema>[0])
  const takes = (step: unknown) => schema.safeParse({ title: 'a story', steps: [step] }).success
  const model = { model_name: 'acme/chat', gpu: 'H100-80GB' }
  const forms = ['crash.yaml', 'refusals.yaml', 'money.yaml', 'timeline.yaml', 'wire.yaml', 'limit.json']

  test.each([...forms.map(name => `test/workbench/scenario/forms/${name}`), 'scenarios/hub/hub-outage.yaml'])(
    '%s',
    { tags: 'slow' },
    file => {
      expect(schema.safeParse(parse(readFileSync(file, 'utf8'))).error).toBeUndefined()
    },
  )

  test.each([
    [{ do: { createLlmDeployment: { ...model, hub: { repo: 'acme/chat-8b' } } } }, true],
    [{ do: { createLlmDeployment: { ...model, num_gpus: `\${made.num_gpus}` } } }, true],
    [{ do: { createLlmDeployment: { ...model, num_gpus: 'two' } } }, false],
    [{ do: { createLlmDeployment: { ...model, hub: { rpo: 'acme/chat-8b' } } } }, false],
    [{ do: { listDeployments: null } }, true],
    [{ do: { getDeployment: null } }, false],
    [{ until: { get: { getDeployment: { deployid: 'a' } }, where: {} } }, false],
    [{ until: { get: { nodes: null }, where: [] } }, true],
    [{ expect: { get: { node: null } } }, false],
  ])('%j', (step, expected) => {
    expect(takes(step)).toBe(expected)
  })
})
