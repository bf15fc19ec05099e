/** Plans with planted causes, shrunk to what is necessary. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SECOND } from '../../../../src/kernel/duration.ts'
import { hash32 } from '../../../../src/kernel/random.ts'
import type { Fault } from '../../../../src/simulator/faults/rules.ts'
import type { ObservedRequest } from '../../../../src/simulator/judge/observation.ts'
import type { FlowWorld, WorldChange } from '../../../../src/workbench/explore/flow-world.ts'
import type { Plan, PlanItem } from '../../../../src/workbench/explore/plan/plan.ts'
import { RunStopped } from '../../../../src/workbench/explore/run/runner.ts'
import { groupItems } from '../../../../src/workbench/explore/shrink/cut.ts'
import { shrink } from '../../../../src/workbench/explore/shrink/shrink.ts'
import { translatePlan } from '../../../../src/workbench/explore/shrink/trials.ts'
import type { ShrunkFinding } from '../../../../src/workbench/explore/stages/shrinker.ts'
import { forAllAsync } from '../../../setup/for-all.ts'
import {
  type Cause,
  failingSchedules,
  isBroken,
  type PlantedFlow,
  PlantedRunner,
  type Schedule,
  SIGNATURE,
  schedules,
  unnecessaryItems,
} from './planted-flow.ts'

const signature = SIGNATURE

test('every result has the violation, and needs each of its items', async () => {
  const sizes = fc.integer({ min: 3, max: 25 }).chain(size => schedules(size))
  await forAllAsync([sizes, fc.nat({ max: 1000 })], { numRuns: 100, seed: 5 }, async (schedule, order) => {
    fc.pre(await isBroken(schedule))
    const { flow, plan } = schedule
    const shrunk = (await shrink({ runner: new PlantedRunner(flow), plan, signature, maxRuns: 5000 }))!
    expect(shrunk.isMinimal).toBe(true)
    expect(shrunk.plan.length).toBeLessThanOrEqual(plan.length)
    expect(await isBroken({ flow, plan: shrunk.plan })).toBe(true)
    expect(await unnecessaryItems({ flow, plan: shrunk.plan })).toEqual([])
    // The order of items has no meaning.
    const at = order % plan.length
    const turned = [...plan.slice(at), ...plan.slice(0, at)]
    const other = (await shrink({ runner: new PlantedRunner(flow), plan: turned, signature, maxRuns: 5000 }))!
    expect(other.plan).toEqual(shrunk.plan)
  })
})

test('where one item hides the effect of another, each item of the result is still necessary', async () => {
  await forAllAsync([fc.nat(), fc.integer({ min: 2, max: 14 })], { numRuns: 200, seed: 3 }, async (salt, size) => {
    const plan = Array.from({ length: size }, (_, i) => ({ crash: i + 1 }))
    // Each set of items fails or passes for itself.
    const fails = (some: Plan) => some.length === size || hash32(JSON.stringify(some), salt) < 0.3 * 2 ** 32
    const runner = new PlantedRunner({ causes: [], lineage: 'none', failsWith: fails })
    const shrunk = (await shrink({ runner, plan, signature, maxRuns: 5000 }))!
    expect(fails(shrunk.plan)).toBe(true)
    expect(shrunk.plan.filter(item => fails(shrunk.plan.filter(other => other !== item)))).toEqual([])
  })
})

const on = 'getDeployment'
const unavailable: Fault = { kind: 'status', status: 503 }

/** Shrinks a plan that needs all its items. */
async function shrinkCause(
  cause: Cause,
  plan: Plan,
  more: Partial<PlantedFlow> & { readonly world?: FlowWorld } = {},
): Promise<ShrunkFinding> {
  const { world, ...flow } = more
  const runner = new PlantedRunner({ causes: [cause], lineage: 'none', ...flow })
  return (await shrink({ runner, plan, signature, world }))!
}

describe('an item becomes simpler', () => {
  test.each<[string, Cause, PlanItem, object]>([
    [
      'a chance becomes the request that counts',
      { operation: on, nth: 4 },
      { fault: { on, chance: 0.9, fault: unavailable } },
      { fault: { on, nth: 4, fault: unavailable } },
    ],
    [
      'a rule for all requests becomes the smallest count',
      { operation: on, atLeast: 6 },
      { fault: { on, fault: unavailable, times: 20 } },
      { fault: { on, times: 6, fault: unavailable } },
    ],
    [
      'a count above 8 is found too',
      { operation: on, atLeast: 13 },
      { fault: { on, fault: unavailable, times: 20 } },
      { fault: { on, times: 13, fault: unavailable } },
    ],
    [
      'an outage becomes a single request',
      { operation: on, nth: 3 },
      { fault: { on, nth: 3, for: '5m', fault: unavailable } as never },
      { fault: { on, nth: 3, fault: unavailable } },
    ],
    [
      'an outage becomes the shortest round time',
      { operation: on, atLeast: 3 },
      { fault: { on, nth: 2, for: '5m', fault: unavailable } as never },
      { fault: { on, nth: 2, for: '1m', fault: unavailable } },
    ],
    [
      'a kind becomes 503',
      { operation: on, nth: 3 },
      { fault: { on, nth: 3, fault: { kind: 'hang' } } },
      { fault: { on, nth: 3, fault: unavailable } },
    ],
    [
      'a fault after the effect stays one',
      { operation: 'createLlmDeployment', nth: 2, afterEffect: true },
      { fault: { on: 'createLlmDeployment', nth: 2, fault: { kind: 'garbled' } } },
      { fault: { on: 'createLlmDeployment', nth: 2, fault: { ...unavailable, effect: 'done' } } },
    ],
    [
      'a command moves to its anchor',
      { verb: 'hub.down', minOffset: 0 },
      { command: { verb: 'hub.down' }, after: { kind: 'start', offset: '17s' }, for: '5m' },
      { command: { verb: 'hub.down' }, after: { kind: 'start' }, for: '1s' },
    ],
    [
      'a command moves to the nearest round time',
      { verb: 'hub.down', minOffset: 3 * SECOND },
      { command: { verb: 'hub.down' }, after: { kind: 'start', offset: '17s' } },
      { command: { verb: 'hub.down' }, after: { kind: 'start', offset: '10s' } },
    ],
  ])('%s', async (_, cause, item, expected) => {
    const { plan, isMinimal } = await shrinkCause(cause, [item])
    expect(plan).toEqual([expected])
    expect(isMinimal).toBe(true)
  })

  test('a chance that needs two of its requests becomes these two', async () => {
    const flow = { causes: [{ operation: on, nth: 2 } as const, { operation: on, nth: 5 } as const] }
    const item = { fault: { on, chance: 1, fault: unavailable } }
    const { plan } = await shrinkCause(flow.causes[0]!, [item], flow)
    expect(plan).toEqual([{ fault: { on, nth: 2, fault: unavailable } }, { fault: { on, nth: 5, fault: unavailable } }])
  })

  test('a name of a rule goes with its old content', async () => {
    const item = { fault: { name: 'reset-3', on, nth: 3, fault: { kind: 'reset' } as const } }
    expect((await shrinkCause({ operation: on, nth: 3 }, [item])).plan).toEqual([
      { fault: { on, nth: 3, fault: unavailable } },
    ])
  })
})

describe('a world becomes simpler', () => {
  const plan = [{ fault: { on, nth: 3, fault: unavailable } }]
  const cause = { operation: on, nth: 3 } as const
  const world: FlowWorld = { seed: 7, fixtures: 'default' }
  type Failing = (world: WorldChange) => boolean
  test.each<[string, Failing, FlowWorld]>([
    ['both', () => true, { seed: 1, fixtures: 'two-nodes' }],
    ['a larger fixture', ({ fixtures }) => fixtures !== 'two-nodes', { seed: 1, fixtures: 'empty' }],
    ['the fixture alone', ({ seed }) => seed === undefined, { fixtures: 'two-nodes' }],
    ['the seed alone', ({ fixtures }) => fixtures === undefined, { seed: 1 }],
    ['neither', ({ seed, fixtures }) => seed === undefined && fixtures === undefined, {}],
  ])('%s', async (_, failsIn, expected) => {
    const shrunk = await shrinkCause(cause, plan, { world, failsIn })
    expect(shrunk).toMatchObject({ isMinimal: true, isRepeatable: true })
    expect(shrunk.world).toEqual(expected)
    expect(shrunk.leftOut).toHaveLength(Object.keys(expected).length)
  })

  test('a world in which the flow ends differently without faults is rejected', async () => {
    const worksIn: Failing = ({ fixtures }) => fixtures === undefined
    const shrunk = await shrinkCause(cause, plan, { world, worksIn })
    expect(shrunk.world).toEqual({ seed: 1 })
    expect(shrunk.leftOut).toEqual(['the seed 7 (1 is enough)'])
  })

  test('weather, profile and added records are left out, each as far as it is not needed', async () => {
    const files = ['a', 'b', 'c', 'd'].map(id => ({ id })) as never
    const large = { ...{ fixtures: 'empty', weather: 'bad-week', profile: 'rough' }, with: { files, voices: [] } }
    const failsIn: Failing = ({ weather, with: added = large.with }) =>
      weather === undefined && JSON.stringify(added).includes('"c"')
    const shrunk = await shrinkCause(cause, plan, { world: large, failsIn })
    expect(shrunk.world).toEqual({ profile: 'realistic', with: { files: [{ id: 'c' }] } })
    expect(shrunk.leftOut).toEqual(['the profile rough (realistic is enough)', '4 parts of the added records'])
  })

  test.each<[string, FlowWorld, readonly string[]]>([
    ['rough', { weather: 'none' }, ['the weather rough']],
    // It has none.
    ['quick', {}, []],
  ])('a profile that is necessary loses its weather: %s', async (profile, expected, leftOut) => {
    const failsIn: Failing = ({ profile: other }) => other === undefined
    const shrunk = await shrinkCause(cause, plan, { world: { fixtures: 'empty', profile }, failsIn })
    expect([shrunk.world, shrunk.leftOut]).toEqual([expected, leftOut])
  })

  test('a fixture of the flow keeps the nodes that it needs', async () => {
    const group = { prefix: 'h100', gpu: 'H100-80GB', gpus_per_node: 8, count: 40 }
    const fixtures = { account: {}, nodes: { pools: [{ name: 'a', zone: 'east', nodes: [group, group] }] } } as never
    const failsIn: Failing = ({ fixtures: now = fixtures }) => /"gpu":.*"count"/.test(JSON.stringify(now))
    const { world: small } = await shrinkCause(cause, plan, { world: { fixtures }, failsIn })
    expect(small).toEqual({ fixtures: { nodes: { pools: [{ nodes: [{ gpu: 'H100-80GB', count: 1 }] }] } } })
  })

  test('a slow client is tried in few worlds', async () => {
    const runner = new PlantedRunner({ causes: [cause], lineage: 'exact', failsIn: ({ seed }) => seed === undefined })
    const slow = Object.assign(runner, { isSlow: true })
    const { world: same, leftOut } = (await shrink({ runner: slow, plan, signature, world }))!
    expect({ same, leftOut }).toEqual({ same: {}, leftOut: [] })
    expect(runner.runs).toBeLessThan(15)
  })

  test('ids in a plan are those of the other world', () => {
    const requests = (id: string) =>
      [`/deploy/${id}`, `/deploy/${id}`, '/deploy/list'].map(path => ({ operation: on, path })) as ObservedRequest[]
    const item = (id: string) => ({ fault: { on, path: `/deploy/${id}`, nth: 2, fault: unavailable } })
    const crash = (id: string) => ({ command: { verb: 'node.crash', target: id }, after: { kind: 'start' } })
    const [one, other] = ['deploy_AAAAAAAA', 'deploy_BBBBBBBB']
    const moved = translatePlan([item(one!), crash(one!), item('deploy_C')], requests(one!), requests(other!))
    expect(moved).toEqual([item(other!), crash(other!), item('deploy_C')])
  })

  test('without a world it stays that of the flow', async () => {
    expect((await shrinkCause({ operation: on, nth: 3 }, plan)).world).toEqual({})
  })
})

test('a command and the command that ends its failure are one group', () => {
  const down = { command: { verb: 'hub.down' }, after: { kind: 'start' } }
  const up = { command: { verb: 'hub.up' }, after: { kind: 'start', offset: '1m' } }
  const crash = { command: { verb: 'node.crash', target: 'h100-0' }, after: { kind: 'start' } }
  const repair = { command: { verb: 'node.repair', target: 'h100-1' }, after: { kind: 'start' } }
  expect(groupItems([down, crash, up, repair])).toEqual([[down, up], [crash], [repair]])
})

test('a plan that has the violation only in its own order is shrunk in this order', async () => {
  const create = 'createLlmDeployment'
  const plan: Plan = [
    { fault: { on: create, nth: 2, fault: { kind: 'truncated' } } },
    { fault: { on: create, nth: 2, fault: unavailable } },
  ]
  const shrunk = await shrinkCause({ operation: create, nth: 2, afterEffect: true }, plan)
  expect(shrunk).toMatchObject({ isMinimal: true, isRepeatable: true })
  expect(shrunk.plan).toEqual([{ fault: { on: create, nth: 2, fault: { ...unavailable, effect: 'done' } } }])
})

test('items that never acted go together, in one run', async () => {
  const item = (nth: number) => ({ fault: { on, nth, fault: unavailable } })
  const unfired = Array.from({ length: 20 }, (_, i) => item(500 + i))
  const { plan, runs } = await shrinkCause({ operation: on, nth: 3 }, [...unfired, item(3)])
  expect(plan).toEqual([item(3)])
  // The plan, the item that acted, the empty plan, and two runs that confirm it.
  expect(runs).toBe(5)
})

test('an item that only a complicated fault needs goes after that fault has become simpler', async () => {
  const simple = { fault: { on, nth: 3, fault: unavailable } }
  const plan: Plan = [{ fault: { on, nth: 3, fault: { kind: 'reset' } } }, { crash: 5 }]
  const failsWith = (some: Plan) =>
    some.some(item => 'crash' in item) || JSON.stringify(some).includes(JSON.stringify(unavailable))
  const shrunk = await shrinkCause({ operation: on, nth: 3 }, plan, { failsWith })
  expect(shrunk).toMatchObject({ plan: [simple], isMinimal: true, isRepeatable: true })
})

test('a plan without the violation is refused', async () => {
  const runner = new PlantedRunner({ causes: [{ operation: on, nth: 3 }], lineage: 'exact' })
  expect(await shrink({ runner, plan: [{ crash: 3 }], signature })).toBeUndefined()
  expect(runner.runs).toBe(1)
})

test('after the last run the best plan so far is the result, which may have unnecessary items', async () => {
  const [{ flow, plan }] = (await failingSchedules(1, 60, ['none'])) as [Schedule]
  const runner = new PlantedRunner(flow)
  const shrunk = (await shrink({ runner, plan, signature, maxRuns: 12 }))!
  expect(runner.runs).toBe(12)
  expect(shrunk).toMatchObject({ runs: 12, isMinimal: false, isRepeatable: true })
  expect(shrunk.plan.length).toBeLessThan(plan.length)
  expect(await isBroken({ flow, plan: shrunk.plan })).toBe(true)
})

test('after a run that was stopped the best plan so far is the result', async () => {
  const [{ flow, plan }] = (await failingSchedules(1, 60, ['none'])) as [Schedule]
  const runner = new PlantedRunner(flow)
  const run = runner.run.bind(runner)
  runner.run = async (...args) => {
    if (runner.runs === 10) throw new RunStopped()
    return run(...args)
  }
  const shrunk = (await shrink({ runner, plan, signature }))!
  expect(shrunk).toMatchObject({ isMinimal: false, isRepeatable: false })
  expect(shrunk.plan.length).toBeLessThan(plan.length)
  expect(await isBroken({ flow, plan: shrunk.plan })).toBe(true)
})

test('a result whose two last runs differ is not repeatable', async () => {
  const runner = new PlantedRunner({ causes: [{ operation: on, nth: 3 }], lineage: 'exact' })
  const unstable = {
    operations: runner.operations,
    get runs() {
      return runner.runs
    },
    run: async (...args: Parameters<typeof runner.run>) => ({
      ...(await runner.run(...args)),
      digest: `${runner.runs}`,
    }),
    dispose: runner.dispose,
  }
  const plan = [{ fault: { on, nth: 3, fault: unavailable } }]
  expect(await shrink({ runner: unstable, plan, signature })).toMatchObject({ isRepeatable: false, isMinimal: true })
})
