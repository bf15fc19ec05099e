/** Scenarios that play a flow under a plan: as files and as `survives`. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import type { FlowFunction } from '../../../src/workbench/explore/flow.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { toTypeScriptScenario, toYamlScenario } from '../../../src/workbench/explore/report/finding-files.ts'
import { scenarioJsonSchema } from '../../../src/workbench/scenario/documents/schema.ts'
import { type FileResult, runFiles, runScenario, survives } from '../../../src/workbench/scenario/index.ts'
import { loadScenarios } from '../../../src/workbench/scenario/runner/files.ts'
import { ScenarioLibrary } from '../../../src/workbench/scenario/runner/library.ts'
import { reporter } from '../../../src/workbench/scenario/runner/reporters.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

/** A client that sends its create once more if the answer is lost. A mended one looks for the first deployment before. */
const client = (isMended: boolean) => `
export default {
  name: 'deploy',
  options: {
    fixtures: 'empty',
    invariants: {
      onlyOne: ({ created }) => (created.length > 1 ? created.length + ' deployments were created.' : undefined),
    },
  },
  async run({ fetch, url, token }) {
    const headers = { authorization: \`Bearer \${token}\`, 'content-type': 'application/json' }
    const call = async (method, path, body) =>
      (await fetch(url + path, { method, headers, body: JSON.stringify(body) })).json()
    let count = 0
    const create = () =>
      call('POST', '/deploy/llm', { model_name: \`acme/chat-\${++count}\`, gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
    try {
      return await create()
    } catch {
      const [lost] = ${isMended} ? await call('GET', '/deploy/list') : []
      return lost ?? (await create())
    }
  },
}
`
const LOST: Plan = [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } } }]
const FILE = { flow: './client.mjs', plan: LOST, invariants: ['onlyOne'] }
const WORDS = 'onlyOne does not hold: 2 deployments were created.'

let folder: string

beforeEach(() => {
  folder = temporaryFolder()
  writeFileSync(join(folder, 'client.mjs'), client(false))
  writeFileSync(join(folder, 'mended.mjs'), client(true))
})
async function run(name: string, text: string, options = {}): Promise<FileResult> {
  writeFileSync(join(folder, name), text)
  const [result] = await runFiles([name], { folder, ...options })
  return result!
}

/** Returns the error of a file, without its name. */
async function mistake(text: string): Promise<string> {
  writeFileSync(join(folder, 'it.yaml'), text)
  return loadScenarios(join(folder, 'it.yaml'), folder).then(
    () => 'none',
    error => (error as Error).message.replace('Failed to load it.yaml:', ''),
  )
}

describe('a written finding', () => {
  test('fails with the words of its invariant while the client is broken', { tags: 'slow' }, async () => {
    const result = await run('it.yaml', toYamlScenario(FILE))
    expect(result).toMatchObject({
      title:
        'onlyOne holds although the connection was reset after createLlmDeployment had been carried out (its 1st request)',
      passed: false,
      seed: '1',
      trace: [],
      failure: { message: WORDS },
    })
  })

  test('takes amounts of invariants, and refuses one that lacks its amount', async () => {
    const spender = `export default async ({ fetch, url, token, sleep }) => {
  const headers = { authorization: \`Bearer \${token}\`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  const { deploy_id } = await (await fetch(url + '/deploy/llm', { method: 'POST', headers, body })).json()
  await sleep(3_600_000)
  await fetch(\`\${url}/deploy/\${deploy_id}\`, { method: 'DELETE', headers })
}`
    writeFileSync(join(folder, 'spender.mjs'), spender)
    const file = (invariants: unknown) =>
      JSON.stringify({
        title: 't',
        explore: 1,
        flow: './spender.mjs',
        given: { fixtures: 'empty' },
        plan: [],
        invariants,
      })
    expect(await run('it.yaml', file({ spendsAtMost: 20 }))).toMatchObject({ passed: true })
    expect(await run('it.yaml', file({ spendsAtMost: 0.01 }))).toMatchObject({
      passed: false,
      failure: { message: expect.stringContaining('spendsAtMost does not hold') },
    })
    expect(await mistake(file({ noLek: true }))).toMatch(/unknown invariant 'noLek'. Did you mean 'noLeak'/)
    expect(await mistake(file({ noLeak: false }))).toMatch(/no invariant is on. Name one that should hold/)
    const missing = /spendsAtMost has no amount. Give it in US dollars, as in \{ spendsAtMost: 20 \}/
    expect(await mistake(file(['spendsAtMost']))).toMatch(missing)
  })

  test('passes when the client is mended, without a trace file', async () => {
    const result = await run('it.yaml', toYamlScenario({ ...FILE, flow: './mended.mjs' }))
    expect(result).toMatchObject({ passed: true, traceOutcome: 'not compared', failure: undefined })
    await run('it.yaml', toYamlScenario({ ...FILE, flow: './mended.mjs' }), { update: true })
    expect(existsSync(join(folder, 'it.trace'))).toBe(false)
  })

  test('is played the same way each time, with the seed of its world, and once for all seeds', {
    tags: 'slow',
  }, async () => {
    const text = toYamlScenario({ ...FILE, world: { seed: 7, fixtures: 'empty' } })
    const [one, other] = [await run('it.yaml', text), await run('it.yaml', text)]
    expect(one).toMatchObject({ seed: '7', digest: other.digest, elapsed: other.elapsed })
    expect((await run('it.yaml', text, { seed: 8 })).digest).not.toBe(one.digest)
    expect(await runFiles(['it.yaml'], { folder, seeds: ['1', '2', '3'] })).toHaveLength(1)
  })

  test('fits the published schema, and its comment is left out', { tags: 'slow' }, () => {
    const schema = z.fromJSONSchema(scenarioJsonSchema() as Parameters<typeof z.fromJSONSchema>[0])
    const items: Plan = [
      { command: { verb: 'hub.down' }, after: { kind: 'start', offset: '5s' }, for: '60s', undo: { verb: 'hub.up' } },
      { crash: 2 },
      ...LOST,
    ]
    const text = toYamlScenario({
      ...FILE,
      plan: items,
      world: { seed: 7, fixtures: 'empty' },
      comment: 'word '.repeat(30),
    })
    expect(
      text
        .split('\n')
        .slice(0, 3)
        .map(line => line.slice(0, 6)),
    ).toEqual(['# word', '# word', 'title:'])
    const document = parse(text)
    expect(document).toMatchObject({ explore: 1, given: { seed: 7, fixtures: 'empty' }, plan: items })
    expect(schema.safeParse(document).error).toBeUndefined()
    expect(schema.safeParse({ ...document, plan: [{ crash: 0 }] }).success).toBe(false)
    expect(schema.safeParse({ ...document, explore: 2 }).success).toBe(false)
  })

  test('in TypeScript is the same scenario', { tags: 'slow' }, async () => {
    const file = { ...FILE, title: "the client's first answer is lost", world: { seed: 7 } }
    const text = toTypeScriptScenario({ ...file, comment: 'The client sends its create twice.' })
    expect(text).toBe(`import { survives } from 'modelhost-sim/scenario'
import flow from './client.mjs'

// The client sends its create twice.
export default survives('the client\\'s first answer is lost', flow, {
  seed: 7,
  plan: [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } } }],
  invariants: ['onlyOne'],
})
`)
    const [script, data] = [await run('it.ts', text), await run('it.yaml', toYamlScenario(file))]
    const { title, seed, digest, failure } = data
    expect(failure!.message).toBe(WORDS)
    expect(script).toMatchObject({ title, seed, digest, failure })
  })
})

describe('survives', () => {
  const quiet: FlowFunction = ({ fetch, url, token }) =>
    fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${token}` } })

  test('plays a function in a world of its own', async () => {
    const settles = survives('it ends', quiet, { plan: LOST, invariants: ['settles'], fixtures: 'empty', seed: 3 })
    expect(settles.options).toEqual({ fixtures: 'empty', seed: 3, seeds: 'own' })
    expect(await runScenario(settles)).toMatchObject({ passed: true, seed: '3', failure: undefined })
  })

  test('rejects when its play is called directly, with the words of the invariant', { tags: 'slow' }, async () => {
    const flow = { name: 'quiet', options: { invariants: { never: () => 'This never holds.' } }, run: quiet }
    await expect(survives('it holds', flow, { plan: [] }).play({} as never)).rejects.toThrow(
      'never does not hold: This never holds.',
    )
    const listed = survives('it holds', flow, { plan: [], invariants: ['settles'] })
    expect(await runScenario(listed)).toMatchObject({ passed: true })
  })

  test.each<[unknown[], string]>([
    [['a', undefined, { plan: [] }], "Failed to declare the scenario 'a': the flow is not a function."],
    [['a', quiet, {}], "Failed to declare the scenario 'a': it has no plan."],
    [['a', quiet, { plan: [{ crsh: 1 }] }], "plan[0].crsh: unknown item 'crsh'. Did you mean 'crash'?"],
    [['a', quiet, { plan: [], sed: 1 }], "unknown option 'sed'. Did you mean 'seed'?"],
    [['a', quiet, { plan: [], invariants: ['noLeek'] }], "unknown invariant 'noLeek'. Did you mean 'noLeak'?"],
    [['', quiet, { plan: [] }], 'it has no title'],
  ])('%j is refused', (args, message) => {
    expect(() => (survives as (...args: unknown[]) => unknown)(...args)).toThrow(message)
  })

  test('an invalid plan is a failure that names the field', async () => {
    const plan: Plan = [{ fault: { on: 'createLlmDeploymnt', nth: 1, fault: { kind: 'reset' } } }]
    const { failure } = await runScenario(survives('a', quiet, { plan }))
    expect(failure!.message).toContain("Did you mean 'createLlmDeployment'?")
  })
})

const document = (lines: string) => `title: a story\nflow: ./client.mjs\nexplore: 1\n${lines}`

describe('a mistake in a file is reported with its line and the nearest word', () => {
  test.each([
    [
      document('plan: []\n').replace('client', 'clint'),
      "2:1: unknown flow file './clint.mjs'. Did you mean './client.mjs'?",
    ],
    [
      document('plan: []\n').replace('client.mjs', 'x'),
      "2:1: unknown flow file './x'. Give the file of the flow, relative to this file.",
    ],
    [document('plan: []\n').replace('flow:', 'flwo:'), "2:1: unknown key 'flwo'. Did you mean 'flow'?"],
    [document('plan: []\ninvariant: [noLeak]\n'), "5:1: unknown key 'invariant'. Did you mean 'invariants'?"],
    [document('plan: []\ninvariants: [noLeek]\n'), " unknown invariant 'noLeek'. Did you mean 'noLeak'?"],
    [document('given: { fixtures: empty }\n'), "1:1: 'plan' is missing. Add it."],
    [document('plan: []\n').replace('explore: 1\n', ''), "1:1: 'explore' is missing. Add it."],
    [document('plan: []\ngiven: { fixture: empty }\n'), "5:10: unknown key 'fixture'. Did you mean 'fixtures'?"],
    [
      document('plan: []\ngiven: { clock: idle }\n'),
      "5:10: unknown key 'clock'. Keys are fixtures, seed, profile, weather, with.",
    ],
    [document('plan: []\ngiven: { weather: gremlins }\n'), "5:10: unknown weather 'gremlins'."],
    [
      document('plan:\n  - crsh: 2\n').replace('1', '2'),
      '3:1: plan format 2 is unsupported. Run it with the version of modelhost-sim that wrote it, or explore again.',
    ],
    [document('plan:\n  - crsh: 2\n'), "5:5: unknown item 'crsh'. Did you mean 'crash'?"],
    [document('plan:\n  - crash: 0\n'), "5:5: 'crash': Too small: expected number to be >=1. Fix it."],
    [document('plan:\n  - wait\n'), '5:5: an item of a plan must be a map. Items are fault, command, crash.'],
    [
      document('plan:\n  - { crash: 2, fault: {} }\n'),
      "5:7: one item has both 'fault' and 'crash'. Split it into two items.",
    ],
    [
      document('plan:\n  - fault: { on: createLlmDeploymnt, fault: { kind: reset } }\n'),
      "5:14: unknown operation 'createLlmDeploymnt'. Did you mean 'createLlmDeployment'?",
    ],
    [
      document('plan:\n  - fault: { on: getDeployment, fault: { kind: rest } }\n'),
      "5:42: invalid value 'rest'. Did you mean 'reset'?",
    ],
    [
      document('plan:\n  - { command: { verb: hub.down }, after: { kind: strat } }\n'),
      "5:45: invalid value 'strat'. Did you mean 'start'?",
    ],
    [
      document('plan:\n  - { command: { verb: node.crash }, after: { kind: start } }\n'),
      "5:7: 'node.crash': target is missing. Give a node",
    ],
    [
      document('plan:\n  - { command: { verb: hub.down }, after: { kind: start }, for: 60s }\n'),
      "5:60: 'for' needs 'undo'. Add undo, or remove for.",
    ],
  ])('%s', async (text, expected) => {
    expect(await mistake(text)).toContain(expected)
  })

  test.each([
    [
      'export const run = async () => {}',
      "Failed to load the flow bad.mjs: it has no default export. Write 'export default' for 'run', if it is the flow.",
    ],
    [
      'export const x = 1',
      'Failed to load the flow bad.mjs: it has no default export. Write export default async ({ fetch, url, token, sleep }) => { … }.',
    ],
    ['export default 5', 'Failed to load the flow bad.mjs: its default export is not a flow.'],
    ['throw new Error("no")', 'Failed to load bad.mjs: '],
  ])('the flow %s', async (code, expected) => {
    writeFileSync(join(folder, 'bad.mjs'), code)
    expect(await mistake(document('plan: []\n').replace('client', 'bad'))).toContain(expected)
  })
})

describe('beside other scenarios', () => {
  beforeEach(() => {
    writeFileSync(join(folder, 'it.yaml'), toYamlScenario({ ...FILE, title: 'a lost answer' }))
  })

  test('a flow in a folder of scenarios is not a scenario itself', async () => {
    const results = await runFiles(['.'], { folder })
    expect(results.map(({ title, passed }) => [title, passed])).toEqual([['a lost answer', false]])
  })

  test('a names profile is a failure that says why', async () => {
    const [result] = await runFiles(['it.yaml'], { folder, names: './names.json' })
    expect(result!.failure!.message).toContain('Failed to play with a names profile: the scenario plays a flow')
  })

  test('a server refuses its timeline', async () => {
    await expect(new ScenarioLibrary([folder]).read('it')).rejects.toThrow(
      "it plays the flow ./client.mjs and has no timeline. Play it with 'modelhost-sim run'.",
    )
  })
})

test('a plan whose fault changes nothing is said to be untested, in each format', async () => {
  const plan: Plan = [{ fault: { on: 'stopDeployment', nth: 1, fault: { kind: 'status', status: 503 } } }]
  const result = await run('it.yaml', toYamlScenario({ ...FILE, plan }))
  expect(result).toMatchObject({ passed: true, idleFaults: 1 })
  const written = (['pretty', 'json', 'junit'] as const).map(name => {
    let text = ''
    const formatted = reporter(name, { write: part => (text += part) })
    formatted.result(result)
    formatted.end([result], 1, [])
    return text
  })
  const words = 'a fault of the plan did not happen, because the request or the moment never came.'
  expect(written[0]).toContain(
    `\n    Not tested: ${words} If the client has changed, explore it again for a new plan.\n`,
  )
  expect(JSON.parse(written[1]!)).toMatchObject({ scenarios: [{ passed: true, idle_faults: 1 }] })
  expect(written[2]).toContain(`<skipped message="${words}`)
  expect(await run('it.yaml', toYamlScenario({ ...FILE, flow: './mended.mjs' }))).toMatchObject({ idleFaults: 0 })
})

test('an invariant that the real waits of a command do not let judge is not held', { tags: 'slow' }, async () => {
  const limited = { on: 'listDeployments', nth: 1, fault: { kind: 'rateLimit', retryAfter: '60s' } } as const
  const title = 'honoursRetryAfter holds'
  const play = (request: string, invariants: readonly string[] = ['honoursRetryAfter']) => {
    const code = `const ask = () => fetch(process.env.MODELHOST_URL + '/deploy/list', { headers: { authorization: 'Bearer ' + process.env.MODELHOST_TOKEN } })
      const sleep = seconds => fetch(process.env.MODELHOST_SIM_CONTROL + '/clock/advance', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ by: seconds + 's' }) })
      ${request}`
    const flow = { name: 'list', command: [process.execPath, '--input-type=module', '-e', code], options: {} }
    return runScenario(survives(title, flow, { plan: [{ fault: limited }], invariants, fixtures: 'empty' }))
  }
  const { passed, failure } = await play('while (!(await ask()).ok);')
  expect([passed, failure?.message]).toEqual([
    false,
    'Not tested: honoursRetryAfter was not judged, because the client does not wait in simulated time. ' +
      'Run it as explore did, in simulated time: step 2 of docs/explore-command.md.',
  ])
  expect(await play('while (!(await ask()).ok);', ['noLeak'])).toMatchObject({ passed: true })
  const [brief, long] = [5, 61].map(seconds => `while (!(await ask()).ok) await sleep(${seconds})`)
  expect((await play(brief!)).failure?.message).toMatch(/^honoursRetryAfter does not hold: /)
  expect(await play(long!)).toMatchObject({ passed: true })
  // A client that gives up waits for nothing.
  const [gone, other] = [
    'await ask()',
    "await ask(); for (const i of [1, 2]) await fetch(process.env.MODELHOST_URL + '/x')",
  ]
  expect(await play(gone!)).toMatchObject({ passed: true })
  expect(await play(other!)).toMatchObject({ passed: true })
})

test.each([
  ["'..2000000000'", true],
  ["'1..'", true],
  ["'..1'", false],
  ["'3000000000..'", false],
])('a range of numbers, as in is: %s, is compared with its ends', async (range, passed) => {
  const steps = `
  - do: { createLlmDeployment: { model_name: acme/chat, gpu: H100-80GB, hub: { repo: acme/chat-8b } } }
    as: made
  - advance: 2h
  - expect: { get: { cost: '\${made.deploy_id}' }, is: ${range} }
`
  const result = await run('range.yaml', `title: t\ngiven: { fixtures: empty }\nseeds: own\nsteps:${steps}`, {
    update: true,
  })
  expect(result.passed).toBe(passed)
  if (!passed) expect(result.failure?.message).toContain(`expected a number in ${range.replaceAll("'", '')}, found`)
})

test('a range that ends below its start is found when the file is read', async () => {
  const text = "title: t\nsteps:\n  - expect: { get: { node: h100-0 }, is: { free: ['20..3'] } }\n"
  expect(await mistake(text)).toMatch(
    /^3:38: invalid value of .is.. Give a range that begins with its smaller number, as in 3..20/,
  )
})

test.each([
  ["  - expect: { get: { node: h100-0 }, is: { name: '/(/' } }", '3:38: invalid value of .is.'],
  [
    "  - until: { get: { getDeployment: { deploy_id: a } }, where: { status: '/[/i' } }",
    '3:56: invalid value of .where.',
  ],
  ["  - do: { listVoices: {} }\n    refused: { status: 400, message: '/+/' }", '4:29: invalid value .{5} of .message.'],
  [
    "  - countOf: { event: { kind: deployment.running, subject: '/(/' }, range: '1..' }",
    '3:51: invalid value .{5} of .subject.',
  ],
])('an invalid pattern, as in %s, is found when the file is read', async (steps, message) => {
  const found = await mistake(`title: t\nsteps:\n${steps}\n`)
  expect(found).toMatch(
    new RegExp(`^${message}. Give a valid pattern, or a text that does not begin with a slash: Inv`),
  )
})

test('a pattern with a reference is complete only when it is played', async () => {
  const steps = `  - do: { listVoices: {} }\n    as: made\n  - expect: { get: { value: made }, is: '/\${made.a}/u' }`
  expect(await mistake(`title: t\nsteps:\n${steps}\n`)).toBe('none')
})

test('a GPU type that does not exist is found when the file is read', async () => {
  const fault = '{ verb: pool.stockOut, target: H100 }'
  expect(await mistake(`title: t\nsteps:\n  - fault: ${fault}\n`)).toMatch(
    /the type is unknown. Did you mean 'H100-80GB'/,
  )
})
