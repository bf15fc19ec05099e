/** The histograms of an inference engine, with the bucket bounds of vLLM's V1 engine. */

const TOKEN_TIME_BOUNDS = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
] as const
const REQUEST_TIME_BOUNDS = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
] as const
/** The engine has these bounds up to the context of its model. */
const TOKEN_COUNT_BOUNDS = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000].flatMap(power => [
  power,
  2 * power,
  5 * power,
])

/** The upper bounds of the buckets of each histogram. The bucket above them has no bound. */
export const HISTOGRAM_BOUNDS = {
  timeToFirstToken: [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
  ],
  interTokenLatency: TOKEN_TIME_BOUNDS,
  timePerOutputToken: TOKEN_TIME_BOUNDS,
  endToEndTime: REQUEST_TIME_BOUNDS,
  queueTime: REQUEST_TIME_BOUNDS,
  inferenceTime: REQUEST_TIME_BOUNDS,
  prefillTime: REQUEST_TIME_BOUNDS,
  decodeTime: REQUEST_TIME_BOUNDS,
  promptTokens: TOKEN_COUNT_BOUNDS,
  generationTokens: TOKEN_COUNT_BOUNDS,
} as const satisfies Record<string, readonly number[]>
export type HistogramName = keyof typeof HISTOGRAM_BOUNDS
export const HISTOGRAM_NAMES = Object.keys(HISTOGRAM_BOUNDS) as HistogramName[]

/** Where a histogram is in `HistogramCounts`: its first bucket, and its sum behind the last bucket. */
export interface HistogramPlace {
  readonly bounds: readonly number[]
  readonly first: number
  readonly sum: number
}

export const HISTOGRAM_PLACES = Object.fromEntries(
  HISTOGRAM_NAMES.map((name, index) => {
    const widthBefore = HISTOGRAM_NAMES.slice(0, index).reduce((sum, other) => sum + widthOf(other), 0)
    const bounds: readonly number[] = HISTOGRAM_BOUNDS[name]
    return [name, { bounds, first: widthBefore, sum: widthBefore + bounds.length + 1 }]
  }),
) as unknown as Readonly<Record<HistogramName, HistogramPlace>>
/** The numbers of all histograms together. */
const HISTOGRAM_WIDTH = HISTOGRAM_NAMES.reduce((sum, name) => sum + widthOf(name), 0)

/** Returns the numbers of a histogram: a bucket for each bound, the bucket above, and the sum. */
function widthOf(name: HistogramName): number {
  return HISTOGRAM_BOUNDS[name].length + 2
}

/**
 * The observations of all histograms: for each the count of each bucket alone, then the sum of the values. An array,
 * because a copy of a typed one takes ten times as long.
 */
export type HistogramCounts = number[]

/** Returns histograms without observations. */
export function createHistograms(): HistogramCounts {
  return new Array<number>(HISTOGRAM_WIDTH).fill(0)
}

/** Returns the index of the bucket of a value, from 0. */
export function bucketOf(bounds: readonly number[], value: number): number {
  let low = 0
  let high = bounds.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (value <= bounds[middle]!) high = middle
    else low = middle + 1
  }
  return low
}

/** Adds observations of one value to a histogram. */
export function observe(counts: HistogramCounts, name: HistogramName, value: number, times = 1): void {
  const { bounds, first, sum } = HISTOGRAM_PLACES[name]
  const index = first + bucketOf(bounds, value)
  counts[index] = counts[index]! + times
  counts[sum] = counts[sum]! + value * times
}
