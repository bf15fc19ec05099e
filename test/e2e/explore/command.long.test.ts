/** Commands as clients: each run is a process with a world of its own. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createCommandRunner } from '../../../src/workbench/explore/command/command-runner.ts'
import { commandFlow } from '../../../src/workbench/explore/declare-flow.ts'
import { exploreRuns } from '../../../src/workbench/explore/explore.ts'
import type { CommandFlow } from '../../../src/workbench/explore/flow.ts'
import type { FaultClassName } from '../../../src/workbench/explore/plan/classes.ts'
import type { PlanItem } from '../../../src/workbench/explore/plan/plan.ts'
import type { FlowRunner } from '../../../src/workbench/explore/run/runner.ts'
import { createShrinker } from '../../../src/workbench/explore/shrink/shrink.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { isAlive } from '../cli/process.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})
/** What every client of these tests begins with. */
const HEAD = `
import { appendFileSync } from 'node:fs'
const { MODELHOST_URL, MODELHOST_TOKEN, MODELHOST_SIM_CONTROL } = process.env
const call = async (method, path, body) => {
  const headers = { authorization: 'Bearer ' + MODELHOST_TOKEN, 'content-type': 'application/json' }
  const response = await fetch(MODELHOST_URL + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!response.ok) throw new Error(method + ' ' + path + ': ' + response.status)
  return response.json()
}
const create = () => call('POST', '/deploy/llm', { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
`

type Settings = Partial<Pick<CommandFlow, 'timeout' | 'processes' | 'cwd'>> &
  Pick<CommandFlow['options'], 'invariants'> & { readonly env?: NodeJS.ProcessEnv }

/** Creates the runner of a client in JavaScript. */
function runnerOf(script: string, settings: Settings = {}): FlowRunner {
  const file = join(folder, 'client.mjs')
  writeFileSync(file, HEAD + script)
  return runnerOfCommand([process.execPath, file], settings)
}

function runnerOfCommand(argv: readonly string[], { env, invariants, ...settings }: Settings = {}): FlowRunner {
  const options = { fixtures: 'empty', ...(invariants && { invariants }) }
  const flow = commandFlow(argv, { options, processes: 1, ...settings })
  const runner = createCommandRunner(flow, env && { env })
  onTestFinished(() => runner.dispose())
  return runner
}

const down = (nth: number): PlanItem => ({ fault: { on: '*', nth, fault: { kind: 'status', status: 503 } } })

const CAREFUL = `
const { deploy_id } = await create()
try {
  for (;;) {
    const { status } = await call('GET', '/deploy/' + deploy_id)
    if (status === 'running') break
  }
  console.log(deploy_id)
} catch (error) {
  await call('DELETE', '/deploy/' + deploy_id)
  throw error
}`

describe('a run', () => {
  test('has a folder for its files, and a note names those that runs share', async () => {
    const keep = (file: string) => `
import { readFileSync } from 'node:fs'
const file = ${file}
appendFileSync(file, 'x')
await call('GET', '/deploy/list')
process.exit(readFileSync(file, 'utf8') === 'xxx' ? 1 : 0)`
    const own = runnerOf(keep("process.env.TMPDIR + '/state.txt'"), { cwd: folder })
    for (const plan of [[], [], [{ crash: 1 }]]) expect((await own.run(plan)).end).toBe('returned')
    expect(own.notes).toEqual([])
    const shared = runnerOf(keep("'state.txt'"), { cwd: folder })
    for (const end of ['returned', 'returned', 'threw']) expect((await shared.run([])).end).toBe(end)
    expect(shared.notes).toEqual([expect.stringMatching(/^Meanwhile, state\.txt changed in the working directory/)])
  })

  test('is repeatable, and its faults reach the client alone', async () => {
    const runner = runnerOf(CAREFUL)
    const base = await runner.run([])
    expect(base).toMatchObject({ end: 'returned', broken: [] })
    expect(base.requests.map(({ operation, status }) => [operation, status])).toEqual([
      ['createLlmDeployment', 200],
      ...Array(3).fill(['getDeployment', 200]),
    ])
    const again = await runner.run([])
    expect([again.digest, again.requests]).toEqual([base.digest, base.requests])
    const faulty = await runner.run([down(2)])
    expect(faulty).toMatchObject({ end: 'threw', broken: [] })
    expect([...faulty.fired]).toEqual([0])
    expect(faulty.requests.at(-1)).toMatchObject({ operation: 'deleteDeployment', status: 200 })
    expect((await runner.run([])).digest).toBe(base.digest)
    expect(runner.runs).toBe(4)
  })

  test('ends at a request as a crash, and the command starts again in the same world', async () => {
    const runner = runnerOf(
      `
      appendFileSync('pids', process.pid + ' ')
      const [found] = await call('GET', '/deploy/list')
      console.log((found ?? (await create())).deploy_id)`,
      { cwd: folder },
    )
    const result = await runner.run([{ crash: 2 }])
    expect(result.requests.map(({ start, operation, outcome }) => [start, operation, outcome])).toEqual([
      [1, 'listDeployments', 'answered'],
      [1, 'createLlmDeployment', 'unanswered'],
      [2, 'listDeployments', 'answered'],
    ])
    expect(result).toMatchObject({ end: 'returned', broken: [] })
    expect([...result.fired]).toEqual([0])
    const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split(' ').map(Number)
    expect(pids).toHaveLength(2)
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('without a look at what is there finds a second deployment after a crash', async () => {
    const runner = runnerOf(`const { deploy_id } = await call('POST', '/deploy/llm', {
      model_name: 'acme/chat-' + process.pid, gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
      console.log(deploy_id)`)
    await runner.run([])
    const { broken } = await runner.run([{ crash: 1 }])
    expect(broken.map(({ signature }) => signature)).toContain('idempotentRestart@createLlmDeployment/crash')
  })

  test.each([
    ['its standard output names', `console.log('made', deploy_id)`, []],
    ['its error output names when it succeeds', `console.error('made', deploy_id)`, ['noLeak']],
    ['its error output names when it fails', `console.error('made', deploy_id); process.exitCode = 3`, []],
    ['its output names nowhere', '', ['noLeak']],
  ])('keeps the deployment that %s', async (_, end, broken) => {
    const runner = runnerOf(`const { deploy_id } = await create(); ${end}`)
    const result = await runner.run([])
    expect(result.broken.map(({ invariant }) => invariant).filter(name => name === 'noLeak')).toEqual(broken)
  })

  test('that crashes has its error with the place in its code, and what it left running and only printed', async () => {
    const runner = runnerOf(`
      const { deploy_id } = await create()
      console.log(deploy_id)
      const headers = { authorization: 'Bearer ' + MODELHOST_TOKEN }
      const models = await fetch(MODELHOST_URL + '/v1/models', { headers }).then(answer => answer.json())
      console.log(models.data.length)
      await call('DELETE', '/deploy/' + deploy_id)`)
    expect((await runner.run([])).telling).toMatchObject({ crash: undefined, printedOnly: [] })
    const { telling, broken } = await runner.run([down(2)])
    const crash = expect.stringMatching(/^TypeError: Cannot read .*, at client\.mjs:16$/)
    expect(telling).toMatchObject({ grade: 'crash', crash, printedOnly: ['deployment'] })
    expect(broken).toMatchObject([{ signature: 'recovers@listServedModels/crash' }])
    expect(broken[0]!.words).toMatch(/'exit code 1: TypeError: Cannot read .*', at client\.mjs:16\.$/)
  })

  test('that does not end in real time is killed with its group, and has not settled', async () => {
    const runner = runnerOf(
      `
      const { spawn } = await import('node:child_process')
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
      appendFileSync('pids', child.pid + ' ' + process.pid)
      await call('GET', '/deploy/list')
      setInterval(() => {}, 1000)`,
      { cwd: folder, timeout: '4s' },
    )
    const result = await runner.run([])
    expect(result.end).toBe('unsettled')
    expect(result.broken.map(({ invariant }) => invariant)).toContain('settles')
    const pids = readFileSync(join(folder, 'pids'), 'utf8').split(' ').map(Number)
    expect(pids).toHaveLength(2)
    await expect.poll(() => pids.filter(isAlive)).toEqual([])
  })

  test('whose request never gets an answer has one root cause, whatever the operation', async () => {
    const runner = runnerOf(`await call('GET', '/deploy/list'); await call('GET', '/v1/models')`, { timeout: '3s' })
    await runner.run([])
    for (const [index, on] of [
      [1, 'listDeployments'],
      [2, 'listServedModels'],
    ] as const) {
      const { broken } = await runner.run([{ fault: { on, nth: 1, fault: { kind: 'hang' } } }])
      const words = expect.stringContaining(
        `: it waits for an answer to request ${index} (${on}). Its last request was`,
      )
      expect(broken).toContainEqual(expect.objectContaining({ signature: 'settles@noTimeout', words }))
    }
  })

  test('that gets no more of a body is said to wait for it, perhaps with a limit of its own', async () => {
    const runner = runnerOf(`await call('GET', '/deploy/list')`, { timeout: '3s' })
    await runner.run([])
    const fault = { kind: 'truncated', bytes: 0, end: 'silence' } as const
    const { broken } = await runner.run([{ fault: { on: 'listDeployments', nth: 1, fault } }])
    const { words } = broken.find(({ invariant }) => invariant === 'settles')!
    expect(words).toContain(
      ': it waits for the rest of the answer to request 1 (listDeployments). Its last request was',
    )
    expect(words).toContain('If the client has a longer limit of its own, try a longer --command-timeout.')
  })

  test('that goes on after a request without an answer has timeouts', async () => {
    const runner = runnerOf(
      `
      const headers = { authorization: 'Bearer ' + MODELHOST_TOKEN }
      const read = () => fetch(MODELHOST_URL + '/deploy/list', { headers, signal: AbortSignal.timeout(900) })
      for (let i = 0; i < 9; i++) await read().catch(() => {})`,
      { timeout: '4s' },
    )
    const { broken } = await runner.run([{ fault: { on: '*', fault: { kind: 'hang' } } }])
    expect(broken.map(({ signature }) => signature)).toContain('settles@listDeployments/error')
  })

  test('that asks again and again is said to wait for a change, and not to need a longer bound', async () => {
    const asking = runnerOf(`for (;;) await call('GET', '/deploy/list')`, { timeout: '4s' })
    const { broken } = await asking.run([])
    const { words } = broken.find(({ invariant }) => invariant === 'settles')!
    expect(words).toMatch(/it waits for (?:a change, and has sent \d+ requests|an answer to request \d+ \()/)
    expect(words.includes('try a longer --command-timeout')).toBe(words.includes('an answer to'))
  })

  test('that waits for more time of the world than it may is ended at once', async () => {
    const runner = runnerOf(
      `
      const headers = { 'content-type': 'application/json' }
      const advance = { method: 'POST', headers, body: '{"by":"1h"}' }
      const move = () => fetch(MODELHOST_SIM_CONTROL + '/clock/advance', advance)
      for (;;) { await call('GET', '/deploy/list'); await move() }`,
      { invariants: { settles: '5h' } },
    )
    const result = await runner.run([])
    expect(result).toMatchObject({ end: 'unsettled', duration: 6 * 3600e6 })
    expect(result.requests).toHaveLength(7)
  })

  test('has commands at moments of its world, and can be healed at a request', async () => {
    const runner = runnerOf(CAREFUL)
    const outage: PlanItem = { fault: { on: 'getDeployment', fault: { kind: 'status', status: 500 } } }
    const { duration, boundaries } = await runner.run([])
    const { node } = boundaries.find(one => one.kind === 'instance.warming')!
    const crash = { command: { verb: 'node.crash', target: node! }, after: { kind: 'instance.warming', offset: '1s' } }
    const delayed = await runner.run([crash as PlanItem])
    expect(delayed).toMatchObject({ end: 'returned', fired: new Set([0]) })
    expect(delayed.duration).toBeGreaterThan(duration)
    expect(await runner.run([outage])).toMatchObject({ end: 'threw' })
    expect(await runner.run([outage], { healAt: { request: 2 } })).toMatchObject({ end: 'returned' })
  })

  test('can have another seed', async () => {
    const runner = runnerOf(CAREFUL)
    const base = await runner.run([])
    const other = await runner.run([], { world: { seed: 'other' } })
    expect(other.digest).not.toBe(base.digest)
    expect((await runner.run([], { world: { seed: 'other' } })).digest).toBe(other.digest)
  })
})

test('a run that waits for an answer that never comes leaves its room to another', async () => {
  const runner = runnerOf(`await call('GET', '/deploy/list')`, { timeout: '5s' })
  await runner.run([])
  const silent = runner.run([{ fault: { on: 'listDeployments', nth: 1, fault: { kind: 'hang' } } }])
  expect(runner.room?.isFree).toBe(false)
  await runner.room?.changed()
  expect(runner.room?.isFree).toBe(true)
  expect(await runner.run([])).toMatchObject({ end: 'returned' })
  expect(await silent).toMatchObject({ end: 'unsettled' })
})

test('runs at once give the same results as one after another', async () => {
  const plans = [1, 2, 3, 4].map(nth => [down(nth)])
  const alone = runnerOf(CAREFUL)
  const several = runnerOf(CAREFUL, { processes: 3 })
  for (const runner of [alone, several]) await runner.run([])
  const results = await Promise.all(plans.map(plan => several.run(plan)))
  // A run keeps functions that read it, and no two functions are equal.
  for (const [i, plan] of plans.entries()) {
    expect(JSON.stringify(results[i])).toBe(JSON.stringify(await alone.run(plan)))
  }
})

test('a runner that is disposed kills its processes, and starts no further ones', async () => {
  const runner = runnerOf(
    `
    await call('GET', '/deploy/list')
    appendFileSync('pids', process.pid + ' ')
    setInterval(() => {}, 1000)`,
    { cwd: folder },
  )
  const pids = () =>
    existsSync(join(folder, 'pids')) ? readFileSync(join(folder, 'pids'), 'utf8').trim().split(' ') : []
  const [first, second] = [runner.run([]), runner.run([down(9)])]
  const stopped = 'Failed to run the client: its runner was stopped. Create another one.'
  const refused = [first, second].map(run => expect(run).rejects.toThrow(stopped))
  await expect.poll(pids, { timeout: 10_000 }).toHaveLength(1)
  await runner.dispose()
  await Promise.all(refused)
  await expect(runner.run([])).rejects.toThrow(stopped)
  expect(pids().map(Number).filter(isAlive)).toEqual([])
})

describe('a command that cannot be explored is named with the reason', () => {
  const silent = 'Make it read the address of the service from MODELHOST_URL, and the token from MODELHOST_TOKEN.'
  test.each<[string, string[], string]>([
    ['no command', [], "the command is missing. Give one, as in 'explore -- python3 client.py'."],
    ['an unknown command', ['nodee', 'x.js'], "unknown command 'nodee'. Did you mean 'node'?"],
    ['an unknown file', ['./nothing'], "unknown file './nothing'. Give the path of a program."],
    ['a file without permission', ['./package.json'], "'./package.json' is not executable. Change that with chmod +x"],
    ['no request', ['node', '-e', ''], `'node -e ' sent no request to the simulator. ${silent}`],
    [
      'no request, with what sets its variables',
      ['node', '-e', 'process.exit(3)'],
      `as in: explore -- sh -c 'SERVICE_URL=$MODELHOST_URL SERVICE_TOKEN=$MODELHOST_TOKEN exec node -e '\\''process.exit(3)'\\'''.`,
    ],
    [
      'a failure before the first request',
      ['node', '-e', 'console.error("no such module"); process.exit(7)'],
      'ended with exit code 7 and sent no request to the simulator. Start it alone first. Make it read the address of the service from MODELHOST_URL',
    ],
    ['no end', ['node', '-e', 'setInterval(() => {}, 9)'], 'did not end within 3 s and sent no request'],
    [
      'another token',
      [
        'node',
        '-e',
        'fetch(process.env.MODELHOST_URL + "/deploy/list", { headers: { authorization: "Bearer mine" } })',
      ],
      'has the token of its world. Make it send the token of MODELHOST_TOKEN',
    ],
  ])('%s', async (_, argv, reason) => {
    const explored = async () => runnerOfCommand(argv, { timeout: '3s' }).run([])
    const { message } = await explored().then(
      () => expect.fail('it was explored'),
      (error: Error) => error,
    )
    expect(message).toContain(reason)
    expect(message).toMatch(/^Failed to explore: /)
  })

  test.each([
    [{ processes: 0 }, 'invalid number of processes 0. Give 1 to 256.'],
    [{ timeout: '0s' as const }, 'a timeout of 0 ends every run'],
    [{ timeout: 'soon' as never }, 'Failed to read the duration "soon"'],
  ])('the option %j', (settings, reason) => {
    expect(() => createCommandRunner(commandFlow(['true'], settings))).toThrow(reason)
  })

  test('a command whose requests differ', async () => {
    const runner = runnerOf(`await call('GET', '/deploy/list?page=' + process.pid)`)
    await expect(exploreRuns(runner, { name: 'client.mjs', faults: 'singles' })).rejects.toThrow(
      /the flow is not repeatable: request 1 was GET .* Make the command send the same requests each time/,
    )
  })
})

const hasPython = spawnSync('python3', ['--version']).status === 0
const skipped = hasPython ? '' : ' (skipped: there is no python3 on this machine)'

describe.skipIf(!hasPython)(`clients in Python${skipped}`, () => {
  async function explore(argv: readonly string[], classes: readonly FaultClassName[]) {
    const env = { ...process.env, POLL_SECONDS: '0.001', TIMEOUT_SECONDS: '4' }
    const runner = runnerOfCommand(['python3', ...argv], { env, processes: 2 })
    return exploreRuns(runner, { name: argv.join(' '), faults: 'singles', classes, shrinker: createShrinker() })
  }

  test('the leak of a client that gives up is found and shrunk', { timeout: 120_000 }, async () => {
    const { findings, stoppedBecause } = await explore(
      ['test/workbench/explore/clients/leaky.py'],
      ['status503', 'resetDone'],
    )
    expect(stoppedBecause).toBe('done')
    const bySignature = new Map(findings.map(finding => [finding.signature, finding]))
    expect([...bySignature.keys()]).toEqual(
      expect.arrayContaining(['noLeak@createLlmDeployment/error', 'cleansUpOnThrow@getDeployment/error']),
    )
    expect(bySignature.get('noLeak@createLlmDeployment/error')).toMatchObject({
      plan: [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { effect: 'done' } } }],
    })
  })

  test('the client of the examples survives', { timeout: 120_000 }, async () => {
    const argv = ['clients/python/example/deploy.py', 'acme/chat']
    const report = await explore(argv, ['status503', 'resetDone', 'truncated', 'hang'])
    expect(report.findings).toEqual([])
    expect(report.runsOf.singles).toBeGreaterThan(10)
  })
})
