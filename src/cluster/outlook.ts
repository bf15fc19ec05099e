/** What requests wait for that no instance works on yet, and when it comes if nobody does anything until then. */
import { DAY, type Micros } from '../kernel/duration.ts'
import type { DeploymentRow } from './deployment-row.ts'
import type { InferenceCall } from './inference-row.ts'
import type { World } from './world.ts'

/** How far ahead is looked: by then a stall of a download is over, and so is every batch. */
export const HORIZON: Micros = 2 * DAY
/** Events looked at: a tenth of a second's work. */
const LOOKED_AT = 100_000

export interface Outlook {
  /** As in `an instance of acme/chat: none is ready, 1 is pulling`. */
  readonly for: string
  /** When that comes; undefined where nothing that is planned brings it. */
  readonly until: Micros | undefined
}

/**
 * What these requests, which wait, wait for. When it comes is found by living through the time in a copy of the world,
 * which is exact as long as nobody asks, leaves, or breaks anything.
 */
export function outlooksOf(world: World, calls: readonly InferenceCall[]): Outlook[] {
  const starts = startsOf(world, calls)
  return calls.map(call => ({ for: waitsFor(world, call), until: starts.get(call) }))
}

function startsOf(world: World, calls: readonly InferenceCall[]): ReadonlyMap<InferenceCall, Micros> {
  const starts = new Map<InferenceCall, Micros>()
  const open = new Set(calls)
  // Without a tokenizer a batch that is under way can not go on.
  if (open.size === 0 || world.needsTokenizer) return starts
  const future = world.fork()
  const limit = world.clock.now + HORIZON
  let waiting = future.inference.waiting
  for (let events = 0; events < LOOKED_AT && open.size > 0 && future.next(limit); events++) {
    if (future.inference.waiting === waiting) continue
    waiting = future.inference.waiting
    for (const call of open) {
      const start = future.inference.startOf(call)
      if (start === -1) continue
      open.delete(call)
      if (start !== undefined) starts.set(call, start)
    }
  }
  return starts
}

function waitsFor(world: World, call: InferenceCall): string {
  const { deployments, inference, instances } = world
  const { plan } = call
  if (plan.deployment < 0) return `an instance of ${plan.model}`
  const row = deployments.read(plan.deployment)
  const name = row.plan.modelName
  if (row.ready === 0) return `an instance of ${name}: ${onTheWay(world, row)}`
  const isLoaded = (one: number) =>
    instances.read(one).adapters.some(({ adapter, loading }) => adapter === plan.adapter && loading === 0)
  if (plan.adapter >= 0 && !row.instances.some(isLoaded)) return `${plan.model} to be loaded on an instance of ${name}`
  const places = row.ready * inference.placesOf(row)
  const before = inference.placeOf(call)
  return `a place on ${name}: it has ${places}, and ${before} ${before === 1 ? 'waits' : 'wait'} before it`
}

/** As in `none is ready, 1 is pulling`. */
function onTheWay({ instances }: World, row: Readonly<DeploymentRow>): string {
  const counts = new Map<string, number>()
  for (const one of row.instances) {
    const { state } = instances.read(one)
    counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  const states = Array.from(counts, ([state, count]) => `${count} ${count === 1 ? 'is' : 'are'} ${state}`)
  return `none is ready, ${states.length === 0 ? 'and none is on its way' : states.join(', ')}`
}
