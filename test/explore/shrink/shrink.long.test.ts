/** Plans with planted causes, shrunk to what is necessary. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Plan, PlanItem } from '../../../src/explore/plan/plan.ts'
import { groupItems } from '../../../src/explore/shrink/cut.ts'
import { shrink } from '../../../src/explore/shrink/shrink.ts'
import type { ShrunkFinding } from '../../../src/explore/stages/shrinker.ts'
import type { Fault } from '../../../src/faults/rules.ts'
import { SECOND } from '../../../src/kernel/duration.ts'
import { hash32 } from '../../../src/kernel/random.ts'
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
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat({ max: 1000 }), async (schedule, order) => {
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
    }),
    { numRuns: 100, seed: 5 },
  )
})

test('where one item hides the effect of another, each item of the result is still necessary', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 2, max: 14 }), async (salt, size) => {
      const plan = Array.from({ length: size }, (_, i) => ({ crash: i + 1 }))
      // Each set of items fails or passes for itself.
      const fails = (some: Plan) => some.length === size || hash32(JSON.stringify(some), salt) < 0.3 * 2 ** 32
      const runner = new PlantedRunner({ causes: [], lineage: 'none', failsWith: fails })
      const shrunk = (await shrink({ runner, plan, signature, maxRuns: 5000 }))!
      expect(fails(shrunk.plan)).toBe(true)
      expect(shrunk.plan.filter(item => fails(shrunk.plan.filter(other => other !== item)))).toEqual([])
    }),
    { numRuns: 200, seed: 3 },
  )
})

const on = 'getDeployment'
const unavailable: Fault = { kind: 'status', status: 503 }

/** Shrinks a plan that needs all its items. */
async function shrinkCause(
  cause: Cause,
  plan: Plan,
  more: Partial<PlantedFlow> & { readonly world?: object } = {},
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
  const world = { seed: 7, fixtures: 'default' }
  test.each([
    ['both', () => true, { seed: 1, fixtures: 'empty' }],
    ['the fixture alone', ({ seed }: { seed?: unknown }) => seed === 7, { seed: 7, fixtures: 'empty' }],
    [
      'the seed alone',
      ({ fixtures }: { fixtures?: unknown }) => fixtures === 'default',
      { seed: 1, fixtures: 'default' },
    ],
    [
      'neither',
      ({ seed, fixtures }: { seed?: unknown; fixtures?: unknown }) => seed === 7 && fixtures === 'default',
      world,
    ],
  ])('%s', async (_, failsIn, expected) => {
    const cause = { operation: on, nth: 3 } as const
    expect((await shrinkCause(cause, plan, { world, failsIn })).world).toEqual(expected)
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

test('a result whose two last runs differ is not repeatable', async () => {
  const runner = new PlantedRunner({ causes: [{ operation: on, nth: 3 }], lineage: 'exact' })
  const unstable = {
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
