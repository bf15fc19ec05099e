import { type Micros, SECOND } from '../../../kernel/duration.ts'
import type { Steps } from '../../../lib/slices.ts'
import { slowdownAt } from '../../../simulation/fleet/node-row.ts'
import {
  bucketOf,
  createHistograms,
  HISTOGRAM_PLACES,
  type HistogramCounts,
  observe,
} from '../../../simulation/load/engine-histograms.ts'
import { requestsIn, type ServedStretch, servedStretches } from '../../../simulation/load/served-flow.ts'
import type { ServingSegment } from '../../../simulation/recording/history-records.ts'
import type { World } from '../../../simulation/world.ts'

/**
 * Returns the histograms of the offered load that each of these instances of a deployment has taken on since its engine
 * started. Counts are real numbers. Engines that always had full speed share a reader, since each of them gets the same.
 */
export function* readEngineLoads(
  world: World,
  deployment: number,
  instances: readonly number[],
): Steps<HistogramCounts[]> {
  const rows = instances.map(instance => world.instances.read(instance))
  // A reader only goes forward, so starts and ends of all engines are read in their order.
  const reads = rows
    .flatMap(({ timeline: { ready, draining } }, index) => [
      { index, at: ready },
      { index, at: draining >= 0 ? draining : world.clock.now },
    ])
    .sort((a, b) => a.at - b.at)
  const own = rows.map(({ node, timeline }) => {
    const { slowdown, pastSlowdowns } = world.nodes.read(node)
    if (slowdown === 1 && pastSlowdowns.length === 0) return undefined
    return new LoadReader(world, deployment, timeline.ready, at => slowdownAt(world.nodes.read(node), at))
  })
  const from = reads.find(({ index }) => own[index] === undefined)?.at ?? 0
  const shared = new LoadReader(world, deployment, from)
  const starts: HistogramCounts[] = []
  const totals: HistogramCounts[] = []
  for (const { index, at } of reads) {
    const start = starts[index]
    const reading = yield* (own[index] ?? shared).readAt(at)
    if (start === undefined) starts[index] = reading
    else totals[index] = reading.map((count, i) => count - start[i]!)
  }
  return totals
}

/** A queue shorter than this is a rounding error: it has no request. */
const NEGLIGIBLE_BACKLOG = 1e-6

/** A segment that is read, and the stretch that is not complete. */
interface OpenSegment {
  readonly segment: ServingSegment
  /** Seconds that the first request of the queue had waited at its start. */
  readonly headWait: number
  readonly stretches: Iterator<ServedStretch>
  stretch: ServedStretch | undefined
}

/**
 * The offered load of a deployment as one ready engine gets it, read from the usage history at ever later times.
 *
 * Each ready engine takes its part of the flow of its deployment, by its speed. What an engine took on between two times
 * is the difference of two readings. A reading is the same, whichever times were read before it.
 */
class LoadReader {
  readonly #queueLimit: number
  readonly #slowdownAt: (at: Micros) => number
  /** Of complete stretches. */
  readonly #histograms = createHistograms()
  #open: OpenSegment | undefined
  /** Segments that begin after the last reading, newest first. */
  readonly #next: ServingSegment[] = []
  #newest: { readonly at: Micros; readonly counts: HistogramCounts } | undefined

  /**
   * @param from the first time that is read
   * @param slowdownAt how many times slower than a sound one the engine is. Default: 1
   */
  constructor(world: World, deployment: number, from: Micros, slowdownAt: (at: Micros) => number = () => 1) {
    this.#queueLimit = world.profile.limits.queuePerDeployment
    this.#slowdownAt = slowdownAt
    for (const segment of world.history.servingSegments(world.deployments.read(deployment))) {
      this.#next.push(segment)
      // What came before an empty queue has no effect.
      if (segment.at <= from && segment.served.backlog <= NEGLIGIBLE_BACKLOG) break
    }
  }

  /** Returns the histograms at a time that is neither before the last one nor in the future. */
  *readAt(at: Micros): Steps<HistogramCounts> {
    if (this.#newest?.at === at) return this.#newest.counts
    for (let next = this.#next.at(-1); next !== undefined && next.at <= at; next = this.#next.at(-1)) {
      this.#next.pop()
      this.#enter(next)
      yield
    }
    this.#completeUntil(at)
    const counts = this.#histograms.slice()
    const { stretch, segment } = this.#open ?? {}
    if (stretch && segment) this.#addTo(counts, segment, stretch, Math.min(stretch.to, at))
    this.#newest = { at, counts }
    return counts
  }

  #enter(segment: ServingSegment): void {
    const headWait = this.#close(segment.at)
    const { load, effectiveInstances, at, served } = segment
    const start = { at, effectiveInstances, queueLimit: this.#queueLimit, backlog: served.backlog, headWait }
    const stretches = load ? servedStretches({ ...start, load }) : NO_STRETCHES
    this.#open = { segment, headWait, stretches, stretch: stretches.next().value ?? undefined }
  }

  /** Ends the open segment. Returns the seconds that the first request of the queue has waited then. */
  #close(at: Micros): number {
    if (this.#open === undefined) return 0
    this.#completeUntil(at)
    const { segment, headWait, stretch } = this.#open
    if (stretch) {
      this.#addTo(this.#histograms, segment, stretch, at)
      return stretch.wait + stretch.waitSlope * (at - stretch.from)
    }
    const { load, served } = segment
    if (served.backlog > NEGLIGIBLE_BACKLOG) return headWait + (at - segment.at) / SECOND
    // Without an instance, the queue begins with the first arrival.
    const first = load && (load.curve.rateAt(segment.at) > 0 ? segment.at : load.curve.firstAbove(0, segment.at, at))
    return first !== undefined && first < at ? (at - first) / SECOND : 0
  }

  /** Adds the stretches of the open segment that are complete at a time. */
  #completeUntil(at: Micros): void {
    const open = this.#open
    while (open?.stretch && open.stretch.to <= at) {
      this.#addTo(this.#histograms, open.segment, open.stretch, open.stretch.to)
      open.stretch = open.stretches.next().value ?? undefined
    }
  }

  /** Adds the requests of a stretch up to a time to histograms. */
  #addTo(counts: HistogramCounts, segment: ServingSegment, stretch: ServedStretch, to: number): void {
    const slowdown = this.#slowdownAt(segment.at)
    const { promptTokens, outputTokens } = segment.load!.speed
    const weight = 1 / slowdown / segment.effectiveInstances
    const requests = weight * requestsIn(stretch, stretch.from, to)
    if (!(requests > 0)) return
    const { wait, waitSlope } = stretch
    const [perToken, perTokenSlope] = [stretch.tokenTime * slowdown, stretch.tokenSlope * slowdown]
    const furtherTokens = Math.max(0, outputTokens - 1)
    const [decode, decodeSlope] = [furtherTokens * perToken, furtherTokens * perTokenSlope]
    const [prefill, prefillSlope] = [stretch.firstTokenTime * slowdown, stretch.firstTokenSlope * slowdown]
    const add = (name: keyof typeof HISTOGRAM_PLACES, value: number, slope: number, times = 1) => {
      if (slope === 0) observe(counts, name, value, requests * times)
      else addSlope(counts, HISTOGRAM_PLACES[name], stretch, to, weight * times, value, slope)
    }
    add('timeToFirstToken', wait + prefill, waitSlope + prefillSlope)
    add('endToEndTime', wait + prefill + decode, waitSlope + prefillSlope + decodeSlope)
    add('queueTime', wait, waitSlope)
    add('inferenceTime', prefill + decode, prefillSlope + decodeSlope)
    add('prefillTime', prefill, prefillSlope)
    add('decodeTime', decode, decodeSlope)
    if (outputTokens > 1) {
      add('interTokenLatency', perToken, perTokenSlope, furtherTokens)
      add('timePerOutputToken', perToken, perTokenSlope)
    }
    observe(counts, 'promptTokens', promptTokens, requests)
    observe(counts, 'generationTokens', outputTokens, requests)
  }
}

const NO_STRETCHES: Iterator<ServedStretch> = { next: () => ({ done: true, value: undefined }) }

/**
 * Adds a value that changes linearly during a stretch: each bucket gets the requests between its bounds, exactly.
 *
 * @param value at the start of the stretch
 * @param slope change of the value per microsecond, not 0
 */
function addSlope(
  counts: HistogramCounts,
  { bounds, first, sum }: (typeof HISTOGRAM_PLACES)[keyof typeof HISTOGRAM_PLACES],
  stretch: ServedStretch,
  end: number,
  weight: number,
  value: number,
  slope: number,
): void {
  const start = stretch.from
  const step = slope < 0 ? -1 : 1
  const lastBucket = bucketOf(bounds, value + slope * (end - start))
  let from = start
  for (let bucket = bucketOf(bounds, value); ; bucket += step) {
    const isLast = step > 0 ? bucket >= lastBucket : bucket <= lastBucket
    const bound = bounds[step > 0 ? bucket : bucket - 1]
    const crossing = isLast || bound === undefined ? end : start + (bound - value) / slope
    const to = Math.max(from, Math.min(end, crossing))
    counts[first + bucket] = counts[first + bucket]! + weight * requestsIn(stretch, from, to)
    if (isLast) break
    from = to
  }
  // The integral of flow × value, both of which are straight lines.
  const duration = end - start
  const integral =
    stretch.flow * value * duration +
    ((stretch.flow * slope + stretch.flowSlope * value) * duration * duration) / 2 +
    (stretch.flowSlope * slope * duration * duration * duration) / 3
  counts[sum] = counts[sum]! + (weight * Math.max(0, integral)) / SECOND
}
