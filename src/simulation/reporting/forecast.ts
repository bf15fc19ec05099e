/** The cause for which queued requests wait, and the time of its end if the user does nothing until then. */
import { DAY, type Micros } from '../../kernel/duration.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import type { InferenceHandle } from '../inference/request-row.ts'
import type { World } from '../world.ts'

/** How far ahead is looked: by then a stall of a download is over, and so is every batch. */
export const FORECAST_HORIZON: Micros = 2 * DAY
/** Events looked at: a tenth of a second's work. */
const MAX_FORECAST_EVENTS = 100_000

export interface Forecast {
  /** As in `an instance of acme/chat: none is ready, 1 is pulling`. */
  readonly for: string
  /** When that comes; undefined where nothing that is planned brings it. */
  readonly until: Micros | undefined
}

/**
 * What these requests, which wait, wait for. When it comes is found by living through the time in a copy of the world,
 * which is exact as long as no client asks or leaves, and nothing fails.
 */
export function forecastRequests(world: World, calls: readonly InferenceHandle[]): Forecast[] {
  const startTimes = findStartTimes(world, calls)
  return calls.map(call => ({ for: describeWait(world, call), until: startTimes.get(call) }))
}

function findStartTimes(world: World, calls: readonly InferenceHandle[]): ReadonlyMap<InferenceHandle, Micros> {
  const startTimes = new Map<InferenceHandle, Micros>()
  const unstarted = new Set(calls)
  // Without a tokenizer a batch that is under way cannot go on.
  if (unstarted.size === 0 || world.needsTokenizer) return startTimes
  const future = world.fork()
  const limit = world.clock.now + FORECAST_HORIZON
  let waitingCount = future.inferenceRequests.waiting
  for (let events = 0; events < MAX_FORECAST_EVENTS && unstarted.size > 0 && future.next(limit); events++) {
    if (future.inferenceRequests.waiting === waitingCount) continue
    waitingCount = future.inferenceRequests.waiting
    for (const call of unstarted) {
      const start = future.inferenceRequests.startTimeOf(call)
      if (start === -1) continue
      unstarted.delete(call)
      if (start !== undefined) startTimes.set(call, start)
    }
  }
  return startTimes
}

function describeWait(world: World, call: InferenceHandle): string {
  const { deployments, inferenceRequests, instances } = world
  const { plan } = call
  if (plan.deployment < 0) return `an instance of ${plan.model}`
  const row = deployments.read(plan.deployment)
  const name = row.plan.modelName
  if (row.ready === 0) return `an instance of ${name}: ${describeInstances(world, row)}`
  const isLoaded = (one: number) =>
    instances.read(one).adapters.some(({ adapter, loadEvent: loading }) => adapter === plan.adapter && loading === 0)
  if (plan.adapter >= 0 && !row.instances.some(isLoaded)) return `${plan.model} to be loaded on an instance of ${name}`
  const slots = row.ready * inferenceRequests.maxConcurrencyOf(row)
  const requestsAhead = inferenceRequests.queuePosition(call)
  return `a place on ${name}: it has ${slots}, and ${requestsAhead} ${requestsAhead === 1 ? 'waits' : 'wait'} before it`
}

/** As in `none is ready, 1 is pulling`. */
function describeInstances({ instances }: World, row: Readonly<DeploymentRow>): string {
  const counts = new Map<string, number>()
  for (const ordinal of row.instances) {
    const { state } = instances.read(ordinal)
    counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  const states = Array.from(counts, ([state, count]) => `${count} ${count === 1 ? 'is' : 'are'} ${state}`)
  return `none is ready, ${states.length === 0 ? 'and none is on its way' : states.join(', ')}`
}
