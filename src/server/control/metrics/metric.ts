/** What a metric is: its declaration, and its values for one source. */

export type Labels = Readonly<Record<string, string>>

export type MetricType = 'gauge' | 'counter' | 'histogram' | 'info'

/** A metric. A counter and an info are named without the suffix of their samples, `_total` and `_info`. */
export interface Metric {
  readonly name: string
  readonly type: MetricType
  readonly help: string
  /** The unit, which is the end of the name. */
  readonly unit?: 'seconds' | 'bytes'
  /** The samples of a metric that has several: the labels of each. Default: one sample. */
  readonly variants?: readonly Labels[]
  /** Histograms: the upper bounds of the buckets. The bucket above them has no bound. */
  readonly bounds?: readonly number[]
  /** Whether a counter has no suffix, as DCGM names them. OpenMetrics has no such counter, so there its type is unknown. */
  readonly hasBareName?: boolean
  /** Whether each source adds labels to it that can change. */
  readonly hasOwnLabels?: boolean
}

/** Returns a metric. */
function metricOf(type: MetricType) {
  return (name: string, help: string, more: Omit<Metric, 'name' | 'type' | 'help'> = {}): Metric => ({
    name,
    type,
    help,
    ...more,
  })
}

export const gauge = metricOf('gauge')
export const counter = metricOf('counter')
export const info = metricOf('info')

/** Returns the numbers that a metric takes among the values of a source. A histogram has its buckets and its sum. */
export function widthOf({ variants, bounds }: Metric): number {
  return bounds === undefined ? (variants?.length ?? 1) : bounds.length + 2
}

/** The metrics of one kind of source, and where the values of each begin. */
export class MetricTable {
  readonly metrics: readonly Metric[]
  readonly width: number
  readonly #offsets: ReadonlyMap<string, number>

  constructor(metrics: readonly Metric[]) {
    const offsets = new Map<string, number>()
    let width = 0
    for (const metric of metrics) {
      offsets.set(metric.name, width)
      width += widthOf(metric)
    }
    this.metrics = metrics
    this.width = width
    this.#offsets = offsets
  }

  offsetOf(name: string): number {
    const offset = this.#offsets.get(name)
    if (offset === undefined) throw new Error(`Failed to find the metric '${name}': its table does not have it.`)
    return offset
  }
}

/** The values of one source at one time: an engine, a GPU, a deployment, a world. */
export interface MetricValues {
  readonly table: MetricTable
  readonly labels: Labels
  /** NaN: the source does not have the sample. */
  readonly values: Float64Array
  /** Labels that one metric of the source has beside these. */
  readonly ownLabels?: Readonly<Record<string, Labels>>
  /** The highest bound that its histograms of tokens have. Default: all. */
  readonly maxTokenBound?: number
}
