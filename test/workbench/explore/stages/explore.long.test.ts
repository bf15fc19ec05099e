import { describe, expect, test } from 'vitest'
import {
  type ExploreOptions,
  type ExploreReport,
  exploreRuns,
  prepare,
} from '../../../../src/workbench/explore/explore.ts'
import { canonicalText } from '../../../../src/workbench/explore/plan/plan.ts'
import type { FlowRunner } from '../../../../src/workbench/explore/run/runner.ts'
import type { Shrinker } from '../../../../src/workbench/explore/stages/shrinker.ts'
import { runSeed } from '../../../../src/workbench/explore/stages/swarm.ts'
import { FakeRunner, type FakeWorld } from './fake-runner.ts'

const explore = (runner: FakeRunner, options: Partial<ExploreOptions> = {}) =>
  exploreRuns(runner, { name: 'deploys', ...options })
const signatures = ({ findings }: ExploreReport) => findings.map(({ signature }) => signature)

/** Creates, then polls twice. It never looks at how its requests end. */
function carelessClient(world: FakeWorld): void {
  const created = world.send('createLlmDeployment', 'POST', '/deploy/llm')
  if (created === 'lost') world.break('noLeak@createLlmDeployment/transient')
  for (const status of ['initializing', 'running']) world.send('getDeployment', 'GET', '/deploy/d1', { status })
}

/** A hardened client that leaks if its create was lost and the next list fails, which no single fault does. */
function pairClient(world: FakeWorld): void {
  const created = world.send('createLlmDeployment', 'POST', '/deploy/llm')
  if (created !== 'ok') {
    world.sleep(10)
    const listed = world.send('listDeployments', 'GET', '/deploy/list')
    if (created === 'lost' && listed !== 'ok') world.break('noLeak@listDeployments/transient')
  }
  for (let poll = 0; poll < 4; poll++) {
    while (
      world.send('getDeployment', 'GET', '/deploy/d1', { status: poll < 3 ? 'initializing' : 'running' }) !== 'ok'
    ) {
      world.sleep(5)
    }
    world.sleep(5)
  }
}

describe('singles', () => {
  test('run every class that applies at every request, outages and crash points', async () => {
    const runner = new FakeRunner(carelessClient)
    const report = await explore(runner, { faults: 'singles' })
    expect(report.runs).toBe(report.points + 2)
    expect(new Set(runner.texts).size).toBe(report.points + 1)
    const cellsOf = (operation: string) => report.matrix.filter(cell => cell.operation === operation)
    expect(cellsOf('createLlmDeployment').map(cell => cell.class)).toEqual([
      ...['status503', 'rateLimit', 'reset', 'refused', 'html', 'status503Done', 'resetDone', 'empty', 'truncated'],
      ...['garbled', 'hang', 'hangDone', 'latency', 'forbidden', 'slowBody', 'silentBody'],
      ...['duplicate', 'drift'],
      ...['status503', 'rateLimit', 'reset', 'refused', 'html', 'hang'].map(name => `${name} for 60s`),
      'crash',
    ])
    expect(cellsOf('getDeployment').map(cell => cell.class)).not.toContain('resetDone')
    expect(cellsOf('getDeployment').find(cell => cell.class === 'stale')).toMatchObject({ survived: 2, notReached: 0 })
  })

  test('report each broken invariant once, with the simplest class that breaks it', async () => {
    const report = await explore(new FakeRunner(carelessClient), { faults: 'singles' })
    expect(signatures(report)).toEqual(['noLeak@createLlmDeployment/transient'])
    expect(report.findings[0]).toMatchObject({ stage: 'singles', shrunk: undefined })
    expect(canonicalText(report.findings[0]!.plan)).toContain('"status":503')
    const cell = report.matrix.find(one => one.operation === 'createLlmDeployment' && one.class === 'resetDone')
    expect(cell).toEqual({
      operation: 'createLlmDeployment',
      class: 'resetDone',
      found: 1,
      surfaced: 0,
      survived: 0,
      notReached: 0,
    })
    expect(report.stoppedBecause).toBe('done')
  })

  test('run a command at each boundary that the client can see', async () => {
    const runner = new FakeRunner(world => {
      world.send('createLlmDeployment', 'POST', '/deploy/llm')
      world.boundary({ kind: 'deployment.created', subject: 'd1', gpu: 'H100-80GB' })
      world.boundary({ kind: 'instance.placed', subject: 'd1-0', node: 'h100-0', gpu: 'H100-80GB' })
      const crash = world.boundary({ kind: 'instance.ready', subject: 'd1-0', node: 'h100-0', gpu: 'H100-80GB' })
      world.boundary({ kind: 'deployment.running', subject: 'd1', gpu: 'H100-80GB' })
      if (crash?.command.verb === 'node.crash') world.break('settles@getDeployment/ok')
    })
    const report = await explore(runner, { faults: 'singles' })
    const commands = runner.plans.flat().filter(item => 'command' in item)
    expect(commands.map(({ command, after, undo }) => [command.verb, command.target, after.kind, undo?.verb])).toEqual([
      ['node.crash', 'h100-0', 'instance.placed', 'node.repair'],
      ['node.crash', 'h100-0', 'instance.ready', 'node.repair'],
      ['pool.stockOut', 'H100-80GB', 'start', 'pool.restock'],
      ['funds.set', undefined, 'deployment.running', undefined],
      ['deployment.stop', 'd1', 'deployment.running', undefined],
      ['deployment.delete', 'd1', 'deployment.running', undefined],
      ['limit.set', 'H100-80GB', 'start', undefined],
      ['hub.down', undefined, 'instance.placed', 'hub.up'],
    ])
    expect(commands[0]!.undo).toEqual({ verb: 'node.repair', target: 'h100-0' })
    expect(report.matrix).toContainEqual({
      ...{ operation: 'instance.ready', class: 'node.crash' },
      ...{ found: 1, surfaced: 0, survived: 0, notReached: 0 },
    })
    // The fake service has no moment at which the stock-out could act.
    expect(report.unreached).toContainEqual({
      ...{ operation: 'start', class: 'pool.stockOut', place: 'start, H100-80GB', reason: 'notFired' },
    })
  })

  test('report apart what no client can survive', async () => {
    const runner = new FakeRunner(world => {
      world.send('createBatch', 'POST', '/v1/batches')
      const isDuplicate = runner.plans.at(-1)!.some(item => 'fault' in item && item.fault.fault.kind === 'duplicate')
      if (isDuplicate) world.break('noDouble@createBatch/ok')
    })
    const report = await explore(runner, { faults: 'singles' })
    expect(report.findings).toEqual([])
    expect(report.surfaced).toMatchObject([
      { signature: 'noDouble@createBatch/ok', reason: expect.stringContaining('no idempotency key') },
    ])
    expect(report.matrix.find(cell => cell.class === 'duplicate')).toMatchObject({ surfaced: 1, found: 0 })
  })

  test('report what a client loses or hides after its token was revoked, and apart what it cannot clean up', async () => {
    const runner = new FakeRunner(world => {
      world.send('createBatch', 'POST', '/v1/batches')
      world.send('getBatch', 'GET', '/v1/batches/batch_1')
      if (!canonicalText(runner.plans.at(-1)!).includes('"status":401')) return
      world.break('noLeak@createBatch/error')
      world.break('noSilentLoss@getBatch/ok')
    })
    const report = await explore(runner, { faults: 'singles' })
    expect(signatures(report)).toEqual(['noSilentLoss@getBatch/ok'])
    const reason = expect.stringContaining('cannot clean up')
    expect(report.surfaced).toMatchObject([{ signature: 'noLeak@createBatch/error', reason }])
    expect(report.matrix.find(cell => cell.class === 'tokenRevoked')).toMatchObject({ surfaced: 0, found: 1 })
  })

  test('are limited to the classes of the option', async () => {
    const runner = new FakeRunner(carelessClient)
    const report = await explore(runner, { faults: 'singles', classes: ['hang', 'reset'] })
    expect([...new Set(report.matrix.map(cell => cell.class))].sort()).toEqual(
      ['crash', 'hang', 'hang for 60s', 'reset', 'reset for 60s', 'tokenRevoked'].sort(),
    )
    await expect(explore(runner, { classes: ['rest' as 'reset'] })).rejects.toThrow(
      "Failed to explore deploys: unknown class 'rest'. Did you mean 'reset'?",
    )
  })
})

describe('pairs', () => {
  test('find what takes two faults, of which the second strikes a request that only the first leads to', async () => {
    const runner = new FakeRunner(pairClient)
    const singles = await explore(new FakeRunner(pairClient), { faults: 'singles' })
    expect(singles.findings).toEqual([])
    const report = await explore(runner, { faults: 'pairs' })
    expect(signatures(report)).toEqual(['noLeak@listDeployments/transient'])
    const [finding] = report.findings
    expect(finding).toMatchObject({ stage: 'pairs' })
    expect(finding!.plan).toHaveLength(2)
    expect(canonicalText(finding!.plan)).toContain('"on":"listDeployments"')
  })

  test('are few: second faults behind the first, once for each status and class, and equal behaviours once', async () => {
    const report = await explore(new FakeRunner(pairClient), { faults: 'pairs' })
    const exhaustive = await explore(new FakeRunner(pairClient), { faults: 'pairs', exhaustive: true })
    expect(signatures(exhaustive)).toEqual(signatures(report))
    expect(report.runsOf.pairs).toBeGreaterThan(10)
    expect(report.runsOf.pairs).toBeLessThan(exhaustive.runsOf.pairs / 4)
  })

  test('near the first fault come first, and the swarm keeps a fifth of the budget', async () => {
    const { points } = await explore(new FakeRunner(pairClient), { faults: 'singles' })
    const budget = 5 * Math.ceil((points + 10) / 4)
    const runner = new FakeRunner(pairClient)
    const { runsOf, unreachedPairs } = await explore(runner, { budget })
    expect(unreachedPairs).toBeGreaterThan(0)
    expect(runsOf).toMatchObject({ singles: points, swarm: budget / 5 })
    const [first] = runner.plans.filter(plan => plan.length === 2)
    expect(first).toMatchObject([{ fault: { on: 'createLlmDeployment' } }, { fault: { on: 'listDeployments' } }])
  })

  test('leave out first faults that change nothing for the client', async () => {
    const report = await explore(new FakeRunner(carelessClient), { faults: 'pairs' })
    expect(report.runsOf.pairs).toBe(0)
  })
})

describe('the swarm', () => {
  test('finds what takes three faults', async () => {
    const operations = ['listDeployments', 'listBatches', 'listFiles', 'listModels']
    const runner = new FakeRunner(world => {
      const outcomes = operations.map(operation => world.send(operation, 'GET', `/${operation}`))
      if (outcomes.filter(outcome => outcome !== 'ok').length >= 3) world.break('settles@getDeployment/transient')
    })
    const report = await explore(runner, { classes: ['reset'] })
    expect(report.findings).toMatchObject([{ signature: 'settles@getDeployment/transient', stage: 'swarm' }])
    expect(report.findings[0]!.seed).toBeGreaterThanOrEqual(1)
  })

  test('gives equal plans for equal seeds, which a single seed repeats', async () => {
    const { findings } = await explore(new FakeRunner(pairClient), { budget: 1000 })
    expect(findings.length).toBeGreaterThan(0)
    const plans = async () => {
      const runner = new FakeRunner(pairClient)
      const prepared = await prepare(runner, { name: 'deploys' })
      for (const seed of [1, 2, 3]) await runSeed(runner, prepared, seed)
      return runner.texts.slice(2)
    }
    expect(await plans()).toEqual(await plans())
    const explored = new FakeRunner(pairClient)
    const { runsOf } = await explore(explored)
    expect(explored.texts.slice(-runsOf.swarm).slice(0, 3)).toEqual(await plans())
  })

  test('has no fault that may surface, and leaves classes out of plans', async () => {
    const runner = new FakeRunner(pairClient)
    const { runsOf } = await explore(runner)
    const swarm = runner.plans.slice(-runsOf.swarm)
    const kindsOf = swarm.map(plan =>
      plan.map(item => ('fault' in item ? item.fault.fault.kind : Object.keys(item)[0])),
    )
    expect(kindsOf.flat()).not.toContain('duplicate')
    expect(kindsOf.flat()).not.toContain('drift')
    const withoutReset = kindsOf.filter(kinds => !kinds.includes('reset')).length
    expect(withoutReset).toBeGreaterThan(swarm.length / 4)
    expect(swarm.every(plan => plan.filter(item => 'crash' in item).length <= 2)).toBe(true)
  })

  test('ends when little is new', async () => {
    const report = await explore(new FakeRunner(pairClient))
    expect(report.stoppedBecause).toBe('saturated')
    expect(report.chanceOfNew).toBeLessThan(0.01)
    expect(report.runsOf.swarm).toBeGreaterThanOrEqual(100)
  })
})

describe('an exploration', () => {
  test('gives the same report twice', async () => {
    const reports = [await explore(new FakeRunner(pairClient)), await explore(new FakeRunner(pairClient))]
    expect(reports[0]).toEqual(reports[1])
    expect(reports[0]!.isReproducible).toBe(true)
  })

  test('gives the same report with several runs at once, and never has more', async () => {
    const parallel = new FakeRunner(pairClient)
    const run = parallel.run.bind(parallel)
    let [active, most] = [0, 0]
    const watchers: (() => void)[] = []
    // Runs that begin later often end earlier.
    const atOnce: FlowRunner = {
      operations: parallel.operations,
      room: {
        get isFree() {
          return active < 4
        },
        changed: () => new Promise(resolve => watchers.push(resolve)),
      },
      runs: 0,
      dispose: () => parallel.dispose(),
      run: async plan => {
        most = Math.max(most, ++active)
        const result = await run(plan)
        for (let turn = parallel.runs % 5; turn < 5; turn++) await Promise.resolve()
        active--
        for (const resolve of watchers.splice(0)) resolve()
        return result
      },
    }
    expect(await exploreRuns(atOnce, { name: 'deploys' })).toEqual(await explore(new FakeRunner(pairClient)))
    expect(most).toBe(4)
    // As while findings are shrunk in all the room.
    const room = { isFree: false, changed: () => new Promise<void>(() => {}) }
    expect(await exploreRuns({ ...atOnce, room }, { name: 'deploys' })).toEqual(
      await explore(new FakeRunner(pairClient)),
    )
    const budget = { name: 'deploys', budget: 30 }
    expect(await exploreRuns(atOnce, budget)).toEqual(await exploreRuns(new FakeRunner(pairClient), budget))
  })

  test('reports what the base run breaks with an empty plan, and not again', async () => {
    const runner = new FakeRunner(world => {
      world.send('createLlmDeployment', 'POST', '/deploy/llm')
      world.break('readsEnd@createLlmDeployment/ok')
    })
    const report = await explore(runner, { faults: 'pairs' })
    expect(report.findings).toMatchObject([{ invariant: 'readsEnd', plan: [], stage: 'base' }])
    expect(report.matrix.every(cell => cell.found === 0)).toBe(true)
  })

  test('gives each finding to the shrinker once, and takes its words from the shrunk plan', async () => {
    const shrunk: string[] = []
    const shrinker: Shrinker = {
      async shrink({ plan, signature, runner }) {
        shrunk.push(signature)
        const small = plan.slice(0, 1)
        const result = await runner.run(small)
        const broken = result.broken.map(one => ({ ...one, words: 'small' }))
        const setting = { world: {}, leftOut: [], inputs: undefined }
        return { plan: small, ...setting, result: { ...result, broken }, isMinimal: true, isRepeatable: true, runs: 1 }
      },
    }
    const runner = new FakeRunner(carelessClient)
    const report = await explore(runner, { shrinker })
    expect(shrunk).toEqual(['noLeak@createLlmDeployment/transient'])
    expect(report.findings).toMatchObject([{ words: 'small', shrunk: { isMinimal: true, runs: 1 } }])
    expect(report.runsOf.shrinking).toBe(1)
    expect(report.runs).toBe(runner.runs)
  })

  test('ends with the budget, and names the points that it did not reach', async () => {
    const report = await explore(new FakeRunner(pairClient), { budget: 10 })
    expect(report).toMatchObject({ runs: 10, stoppedBecause: 'budget', isReproducible: true })
    expect(report.unreached).toHaveLength(report.points - 8)
    expect(report.unreached[0]).toMatchObject({ reason: 'notRun' })
    expect(report.matrix.reduce((sum, cell) => sum + cell.notReached, 0)).toBe(report.points - 8)
  })

  test('ends with a budget in real time, and says that it cannot be repeated', async () => {
    let now = 0
    const report = await explore(new FakeRunner(pairClient), { budget: '1s', realTime: () => (now += 100) })
    expect(report).toMatchObject({ stoppedBecause: 'budget', isReproducible: false })
    expect(report.runs).toBeLessThan(12)
  })

  test.each([0, -1, 1.5, Number.NaN, 'soon', '5', '0s'])('refuses the budget %o', async budget => {
    await expect(explore(new FakeRunner(carelessClient), { budget })).rejects.toThrow(
      /^Failed to explore deploys: the budget .* is invalid\. Give a number of runs, or real time as in '60s'\.$/,
    )
  })

  test('refuses an unknown depth', async () => {
    await expect(explore(new FakeRunner(carelessClient), { faults: 'single' as 'singles' })).rejects.toThrow(
      "Failed to explore deploys: unknown faults 'single'. Did you mean 'singles'?",
    )
  })

  test('gives what it found when it is aborted', async () => {
    const stop = new AbortController()
    const seen: number[] = []
    const report = await explore(new FakeRunner(carelessClient), {
      signal: stop.signal,
      onProgress: ({ runs, findings }) => {
        seen.push(runs)
        if (findings > 0) stop.abort()
      },
    })
    expect(report).toMatchObject({ stoppedBecause: 'aborted', isReproducible: false })
    expect(signatures(report)).toEqual(['noLeak@createLlmDeployment/transient'])
    expect(report.unreached.length).toBeGreaterThan(0)
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, at) => at + 1))
  })

  test('stops after the base run of a flow that never ends', async () => {
    const runner = new FakeRunner(world => world.break('settles@/silence'))
    const run = runner.run.bind(runner)
    runner.run = async plan => ({ ...(await run(plan)), end: 'unsettled' })
    const report = await explore(runner)
    expect(report).toMatchObject({
      runs: 2,
      stoppedBecause: 'unsettled',
      findings: [{ invariant: 'settles', plan: [] }],
    })
  })

  test('names the plan of a run that fails', async () => {
    const runner = new FakeRunner(carelessClient)
    const run = runner.run.bind(runner)
    runner.run = plan => (plan.length === 0 ? run(plan) : Promise.reject(new Error('no such node.')))
    await expect(explore(runner)).rejects.toThrow(
      /^Failed to explore deploys: the plan \[\{"fault":.* cannot be run: no such node\.$/,
    )
  })
})

describe('a flow that is not repeatable', () => {
  const differing = (client: (world: FakeWorld, run: number) => unknown) => {
    const runner: FakeRunner = new FakeRunner(world => client(world, runner.runs))
    return explore(runner)
  }
  const ADVICE = 'Use now(), sleep() and the seed instead of the wall clock and Math.random().'

  test.each<[string, (world: FakeWorld, run: number) => unknown, string]>([
    [
      'another path',
      (world, run) => {
        world.send('listDeployments', 'GET', '/deploy/list')
        world.send('getDeployment', 'GET', `/deploy/${run}`)
      },
      'request 2 was GET /deploy/1 in the first run and GET /deploy/2 in the second',
    ],
    [
      'a missing request',
      (world, run) => {
        if (run === 1) world.send('getDeployment', 'GET', '/deploy/a')
      },
      'request 1 was GET /deploy/a in the first run and missing in the second',
    ],
    [
      'another time',
      (world, run) => {
        world.sleep(run)
        world.send('getDeployment', 'GET', '/deploy/a')
      },
      'request 1 was GET /deploy/a after 1 s in the first run and GET /deploy/a after 2 s in the second',
    ],
    [
      'another end',
      (_, run) => {
        if (run === 2) throw new Error('odd')
      },
      'the flow returned in the first run and threw in the second',
    ],
    ['another world', (world, run) => world.sleep(run), 'its requests were equal, but the digest of the world was'],
  ])('is refused with the first difference: %s', async (_, client, reason) => {
    await expect(differing(client)).rejects.toThrow(`Failed to explore deploys: the flow is not repeatable: ${reason}`)
    await expect(differing(client)).rejects.toThrow(ADVICE)
  })

  test('is not the same as one that throws without a fault', async () => {
    const thrower = () => {
      throw new TypeError('x is undefined')
    }
    await expect(differing(thrower)).rejects.toThrow(
      'Failed to explore deploys: it throws in a run without faults: TypeError: x is undefined. Correct the flow, its fixtures or its seed.',
    )
    const leaker = (world: FakeWorld) => {
      world.break('cleansUpOnThrow@/ok')
      throw new TypeError('x is undefined')
    }
    expect((await differing(leaker)).findings).toMatchObject([{ invariant: 'cleansUpOnThrow', plan: [] }])
  })
})
