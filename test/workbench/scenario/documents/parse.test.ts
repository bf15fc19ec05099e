/** Scenarios as YAML and JSON: the same as scripts, and their mistakes reported by line and column. */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { runScenario } from '../../../../src/workbench/scenario/index.ts'
import { loadScenarios } from '../../../../src/workbench/scenario/runner/files.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'

const FORMS = 'test/workbench/scenario/forms'

describe('a scenario is the same as data and as a script', () => {
  test.each(['crash.yaml', 'refusals.yaml', 'money.yaml', 'timeline.yaml', 'wire.yaml', 'limit.json'])(
    '%s',
    { tags: 'slow' },
    async name => {
      const scripts = await loadScenarios(resolve(FORMS, 'forms.ts'))
      const [data] = await loadScenarios(resolve(FORMS, name))
      const script = scripts.find(({ title }) => title === data!.title)!
      const [one, other] = [await runScenario(script), await runScenario(data!)]
      expect(one.failure).toBeUndefined()
      expect(other.failure).toBeUndefined()
      expect(other.trace).toEqual(one.trace)
      expect(other.digest).toBe(one.digest)
      expect(data!.options).toEqual(script.options)
    },
  )
})

let folder: string

beforeEach(() => {
  folder = temporaryFolder()
})
async function mistake(text: string, name = 'story.yaml'): Promise<string> {
  writeFileSync(join(folder, name), text)
  return loadScenarios(join(folder, name), folder).then(
    () => 'none',
    error => (error as Error).message,
  )
}

test('a step executes a command by its name, its target and its arguments, which can be references', async () => {
  const text = `title: a story
given: { fixtures: empty }
steps:
  - do: { createLlmDeployment: { model_name: acme/chat, gpu: H100-80GB, hub: { repo: acme/chat-8b } } }
    as: made
  - until: { get: { getDeployment: { deploy_id: '\${made.deploy_id}' } }, where: { status: running } }
  - fault: { verb: deployment.crash, target: '\${made.deploy_id}', args: { times: 2 } }
  - countOf: { event: instance.crashed, range: 1 }
  - expect: { get: { value: { xid: 79, notice: 5m } } }
    as: saved
  - fault: { verb: gpu.fail, target: h100-0/1, args: { xid: '\${saved.xid}' }, at: 1m }
  - fault: { verb: pool.stockOut, target: H100-80GB }
  - fault: { verb: hub.throttle, args: { share: 0.5 } }
  - advance: 2m
  - countOf: { event: gpu.failed, range: 1 }
`
  writeFileSync(join(folder, 'story.yaml'), text)
  const [story] = await loadScenarios(join(folder, 'story.yaml'), folder)
  expect((await runScenario(story!)).failure).toBeUndefined()
})

const STEP = `title: a story
steps:
`

test('every mistake of a file is reported in the order of its lines, without mistakes that follow from another', {
  tags: 'slow',
}, async () => {
  const text = `titel: a story
given: { fixtures: emty, seeed: 7, names: { fields: { hbu: x } } }
steps:
  - do: { createLlmDeployment: { modelname: acme/chat, gpus: 2, gpu: H100 } }
    as: made
  - advnace: 10m
  - until: { get: { getDeployment: { deploy_id: '\${made.deploy_id}' } }, wehre: { status: running }, within: soon }
    as: seen
  - at:
      1x:
        - fault: { verb: node.crsh, nodeOf: '\${maed.deploy_id}' }
        - advance: 1m
          fault: { verb: hub.down }
  - fault: { on: createLlmDeploymnt, fault: { kind: reset } }
`
  const said = (await mistake(text)).split('\n').map(line => line.replace(/^(Failed to load )?story\.yaml:/, ''))
  expect(said).toEqual([
    "1:1: unknown key 'titel'. Did you mean 'title'?",
    expect.stringMatching(/^2:10: .*'emty'.* Did you mean 'empty'\? /),
    "2:26: unknown key 'seeed'. Did you mean 'seed'?",
    "2:36: the names of the world: fields.hbu: unknown word. Did you mean 'hub'?",
    "4:34: unknown key 'modelname'. Did you mean 'model_name'?",
    "4:56: unknown key 'gpus'. Did you mean 'gpu'?",
    "4:65: invalid value 'H100'. Did you mean 'H100-80GB'?",
    "6:5: unknown step 'advnace'. Did you mean 'advance'?",
    "7:74: unknown key 'wehre'. Did you mean 'where'?",
    "7:102: invalid value 'soon' of 'within'. Give a duration of at least 0 with its unit, like '90s', '10m' or '1h30m'.",
    "8:5: unknown key 'as'. Keys are until, token.",
    "10:7: invalid time '1x'. Give a duration from now, as in '5m', or a virtual time, as in '2026-01-01T01:00:00Z'.",
    "11:20: invalid value 'node.crsh'. Did you mean 'node.crash'?",
    `11:37: no earlier step saves \${maed.deploy_id}. Did you mean 'made'?`,
    "13:11: one step has both 'advance' and 'fault'. Split it into two steps.",
    "14:14: unknown operation 'createLlmDeploymnt'. Did you mean 'createLlmDeployment'?",
  ])
})

test('the first mistakes of a file and the number of the others are reported when a file has very many', async () => {
  const said = (await mistake(`${STEP}${'  - advnace: 1m\n'.repeat(60)}`)).split('\n')
  expect(said).toHaveLength(41)
  expect(said.at(-1)).toBe('and 20 more')
})

describe('a mistake is reported with its line, its column and the nearest word', () => {
  test.each<[step: string, problem: string | RegExp]>([
    [
      'fault: { on: listModels, fault: { kind: headers, headers: { x a: b } } }',
      /^3:65: unknown key 'x a'\. Give a header name: at most 100 ASCII letters/,
    ],
    ['fault: { verb: { hub: down } }', /^3:14: invalid value '\{"hub":"down"\}'\. Allowed values: /],
    [
      'countOf: { event: instance.ready, range: 3..1 }',
      "3:39: invalid value '3..1' of 'range'. Give a count, as in 3, '1..3', '2..' or '..4'.",
    ],
    [
      'countOf: { event: instance.ready, range: 1.5 }',
      "3:39: invalid value '1.5' of 'range'. Give a count, as in 3, '1..3', '2..' or '..4'.",
    ],
    ['advnace: 10m', "3:5: unknown step 'advnace'. Did you mean 'advance'?"],
    [
      'sleep: 10m',
      "3:5: unknown step 'sleep'. Steps are do, expect, advance, until, fault, removeFault, addAnswer, removeAnswer, clearAnswers, request, answered, leave, always, never, leadsTo, countOf, at, every.",
    ],
    [
      'do: { creatLlmDeployment: { } }',
      "3:11: unknown operation 'creatLlmDeployment'. Did you mean 'createLlmDeployment'?",
    ],
    ['until: { get: { listDeployments: }, within: 1m }', "3:5: 'where' is missing. Add it."],
    ['until: { get: { listDeployments: }, where: [], withn: 1m }', "3:52: unknown key 'withn'. Did you mean 'within'?"],
    ['fault: { verb: node.crsh, target: h100-0 }', "3:14: invalid value 'node.crsh'. Did you mean 'node.crash'?"],
    [
      'fault: { verb: crash, target: h100-0 }',
      "3:14: invalid value 'crash'. Did you mean 'node.crash', 'deployment.crash' or 'hosted.crash'?",
    ],
    ['fault: { verb: node.crash }', `3:5: 'node.crash': target is missing. Give a node, as in "target": "h100-0".`],
    ['fault: { verb: gpu.reset }', `3:5: 'gpu.reset': target is missing. Give a GPU, as in "target": "h100-0/0".`],
    [
      'fault: { verb: gpu.reset, target: h100-0 }',
      "3:31: invalid GPU 'h100-0'. Write it 'node/number', as in 'h100-0/3'.",
    ],
    ['fault: { verb: hub.down, target: x }', `3:30: 'hub.down': the command takes no target, got "x". Remove target.`],
    ['fault: { verb: hub.down, nodeOf: x }', "3:30: 'hub.down' takes no nodeOf. Remove it."],
    [
      'fault: { verb: node.crash, target: h100-0, nodeOf: x }',
      "3:48: a command has both 'target' and 'nodeOf'. Give one of them.",
    ],
    [
      'fault: { verb: gpu.fail, target: h100-0/0, args: { xdi: 79 } }',
      "3:48: 'gpu.fail': unknown argument 'xdi'. Did you mean 'xid'?",
    ],
    [
      'fault: { verb: node.degrade, target: h100-0, args: { factor: 0.5 } }',
      "3:50: 'node.degrade': factor is 0.5. Give a factor from 1 to 1,000.",
    ],
    [
      'do: getDeployment',
      "3:5: 'do': expected an operation with its input, received string. Give one, as in { getDeployment: { deploy_id: … } }.",
    ],
    [
      'fault: { on: listDeploymnts, fault: { kind: hang } }',
      "3:14: unknown operation 'listDeploymnts'. Did you mean 'listDeployments'?",
    ],
    [
      'fault: { on: pods, fault: { kind: hang } }',
      "3:14: unknown operation 'pods'. docs/endpoints.md lists them; '*' is all of them.",
    ],
    [`fault: { on: '*', evry: 2, fault: { kind: hang } }`, "3:23: unknown key 'evry'. Did you mean 'every'?"],
    [`fault: { on: '*', fault: { kind: reste } }`, "3:32: invalid value 'reste'. Did you mean 'reset'?"],
    [
      `fault:\n      on: '*'\n      fault: { kind: reset, efect: done }`,
      "5:29: unknown key 'efect'. Did you mean 'effect'?",
    ],
    [
      `fault: { on: '*', nth: 2, every: 2, fault: { kind: hang } }`,
      '3:5: nth and every contradict each other. Give at most one of times, nth, every, chance.',
    ],
    [
      `fault: { on: '*', until: later, fault: { kind: hang } }`,
      "3:23: invalid value 'later' of 'until'. Give a duration from now like '10m', or ISO 8601 with an offset like '2026-01-01T01:00:00Z'.",
    ],
    [
      `fault: { on: '*', after: { kind: deployment.runing }, fault: { kind: hang } }`,
      "3:32: unknown kind 'deployment.runing'. Did you mean 'deployment.running'?",
    ],
    ['countOf: { event: instance.lst, range: 1 }', "3:16: invalid value 'instance.lst'. Did you mean 'instance.lost'?"],
    [
      'leadsTo: { event: node.crashed, to: { kind: node.repared }, within: 1h }',
      "3:43: invalid value 'node.repared'. Did you mean 'node.repaired'?",
    ],
    ['always: { get: { listDeployments: }, si: [] }', "3:42: unknown key 'si'. Did you mean 'is'?"],
    [
      `at:\n      5m:\n        - fault: { verb: hub.down }\n        - advanc: 1m`,
      "6:11: unknown step 'advanc'. Did you mean 'advance'?",
    ],
    [
      `advance: 1m\n    fault: { verb: hub.down }`,
      "4:5: one step has both 'advance' and 'fault'. Split it into two steps.",
    ],
    [
      `do: { listDeployments: }\n    as: all\n  - expect: { get: { cost: '\${al[0]}' } }`,
      /^5:22: no earlier step saves \$\{al\[0\]\}\. Did you mean 'all'\?$/,
    ],
    ['do: { a: [ }', /^3:\d+: .*\. Fix that line\.$/],
  ])('the step %j', { tags: 'slow' }, async (step, expected) => {
    await expectMistake(`${STEP}  - ${step}\n`, expected)
  })

  test.each<[text: string, problem: string | RegExp]>([
    ['titel: a story\nsteps:\n  - advance: 1m\n', "1:1: unknown key 'titel'. Did you mean 'title'?"],
    ['title: a story\n', "1:1: 'steps' is missing. Add it."],
    [
      'title: a\ngiven:\n  fixture: empty\nsteps:\n  - advance: 1m\n',
      "3:3: unknown key 'fixture'. Did you mean 'fixtures'?",
    ],
    [
      '',
      /^1:1: the file does not hold a scenario\. Give a map with title, steps and the other keys of docs\/scenarios\.md\.$/,
    ],
    ['- advance: 1m\n', /^1:1: the file does not hold a scenario\. Give a map with title, steps/],
    [
      `${STEP}  - advance: 1m\n---\ntitle: another\n`,
      '4:1: a second document begins here. Put each scenario into its own file.',
    ],
    [
      'title: a\ngiven: { toString: 1 }\nsteps:\n  - advance: 1m\n',
      /^2:10: unknown key 'toString'\. Keys are fixtures, /,
    ],
    [
      'title: a\ngiven: { seed: {} }\nsteps:\n  - advance: 1m\n',
      "2:10: 'seed': expected string or number, received object. Fix it.",
    ],
    [
      'title: a\ngiven: { inferencePac: clock }\nsteps:\n  - advance: 1m\n',
      "2:10: unknown key 'inferencePac'. Did you mean 'inferencePace'?",
    ],
    [
      'title: a\ngiven: { inferencePace: clok }\nsteps:\n  - advance: 1m\n',
      "2:10: invalid value 'clok'. Did you mean 'clock'?",
    ],
    [
      `title: a story\ngiven:\n  faults:\n    - { on: '*', fault: { kind: latency, dely: 2s } }\nsteps:\n  - advance: 1m\n`,
      "4:42: unknown key 'dely'. Did you mean 'delay'?",
    ],
    [
      `title: a story\ngiven:\n  faults:\n    - { on: lst*, fault: { kind: hang } }\nsteps:\n  - advance: 1m\n`,
      /^4:9: unknown operation 'lst\*'\./,
    ],
    ['title: &a a\nsteps:\n  - *b\n', /^\d+:\d+: .*[aA]lias/],
  ])('the file %j', { tags: 'slow' }, async (text, expected) => {
    await expectMistake(text, expected)
  })

  async function expectMistake(text: string, expected: string | RegExp): Promise<void> {
    const [begin, said] = (await mistake(text)).split(/(?<=story\.yaml:)/)
    expect(begin).toBe('Failed to load story.yaml:')
    if (expected instanceof RegExp) expect(said).toMatch(expected)
    else expect(said).toBe(expected)
  }

  test('in JSON as well', async () => {
    expect(await mistake('{\n  "title": "a",\n  "stpes": []\n}', 'story.json')).toBe(
      "Failed to load story.json:3:3: unknown key 'stpes'. Did you mean 'steps'?",
    )
  })

  test('a few lines that expand to gigabytes are refused', { tags: 'slow' }, async () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]']
    for (let i = 1; i < 9; i++) {
      const [name, before] = [String.fromCharCode(97 + i), String.fromCharCode(96 + i)]
      lines.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`)
    }
    expect(await mistake(`${lines.join('\n')}\n`)).toBe(
      'Failed to load story.yaml:1:1: excessive alias count indicates a resource exhaustion attack. Use at most 50 aliases.',
    )
    expect(await mistake(`title: ${'a'.repeat(300_000)}`)).toMatch(/larger than 256 KiB/)
    expect(await mistake('['.repeat(20_000))).toMatch(/^Failed to load story\.yaml/)
  })
})

test('the error of a failed step names its line', async () => {
  const file = join(folder, 'story.yaml')
  writeFileSync(
    file,
    `${STEP.replace('steps', 'given: { fixtures: empty }\nsteps')}  - advance: 1m\n  - expect:\n      get: { balance: }\n      is: 3\n      what: the funds\n`,
  )
  const [story] = await loadScenarios(file)
  const { failure } = await runScenario(story!, { file })
  expect(failure).toMatchObject({
    message: 'check 1 (the funds) does not hold:\n  expected 3, found 100000000000',
    where: { line: 5, column: 5 },
    at: 60_000_000,
  })
})

test('a reference to a missing field of an answer is refused with the existing fields', async () => {
  writeFileSync(
    join(folder, 'story.yaml'),
    `${STEP}  - do: { listApiTokens: }\n    as: all\n  - expect: { get: { value: 'x\${all[0].nothing}' } }\n`,
  )
  const [story] = await loadScenarios(join(folder, 'story.yaml'))
  expect((await runScenario(story!)).failure!.message).toMatch(
    /^Failed to fill in \$\{all\[0\]\.nothing\}: 'nothing' is missing\. Available: /,
  )
})

test('an until that is never reached names the differences at the end', async () => {
  writeFileSync(
    join(folder, 'story.yaml'),
    `title: a story
given: { fixtures: two-nodes }
steps:
  - do: { createLlmDeployment: { model_name: acme/chat, gpu: H100-80GB, hub: { repo: acme/chat-8b } } }
    as: made
  - until:
      get: { getDeployment: { deploy_id: '\${made.deploy_id}' } }
      where: { status: stopped, instances: { pending: 1 } }
      within: 30s
`,
  )
  const file = join(folder, 'story.yaml')
  const [story] = await loadScenarios(file)
  const { failure } = await runScenario(story!, { file })
  expect(failure).toMatchObject({
    message: 'until (within 30s) does not hold:\n  status: expected "stopped", found "downloading"',
    differences: [{ path: 'status', expected: '"stopped"', found: '"downloading"' }],
    where: { line: 6, column: 5 },
    at: 30_000_000,
  })
  expect(failure!.events.at(-1)).toMatch(/deployment\.downloading/)
})
