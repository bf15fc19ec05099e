/** What a metric is: its declaration, with how it is read, and its values for one source. */

export type Labels = Readonly<Record<string, string>>

/** A metric of sources of one kind. A counter and an info are named without the suffix of their samples. */
export interface Metric<Source> {
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'histogram' | 'info'
  readonly help: string
  /**
   * Returns the value of a source, or one for each variant. A histogram has the counts up to each bound, the count of all,
   * and the sum. NaN: the source does not have the sample.
   */
  readonly read: (source: Source) => number | readonly number[]
  /** The unit, which is the end of the name. */
  readonly unit?: 'seconds' | 'bytes'
  /** The samples of a metric that has several: the labels of each. Default: one sample. */
  readonly variants?: readonly Labels[]
  /** Histograms: the upper bounds of the buckets. The bucket above them has no bound. */
  readonly bounds?: readonly number[]
  /** Whether a counter has no suffix, as DCGM names them. OpenMetrics has no such counter, so there its type is unknown. */
  readonly hasBareName?: boolean
  /** Returns labels of a source that this metric alone has. */
  readonly ownLabels?: (source: Source) => Labels
}

/** Returns a metric. */
function metricOf(type: Metric<never>['type']) {
  return <Source>(
    name: string,
    help: string,
    read: Metric<Source>['read'],
    more: Omit<Metric<Source>, 'name' | 'type' | 'help' | 'read'> = {},
  ): Metric<Source> => ({ name, type, help, read, ...more })
}

export const gauge = metricOf('gauge')
export const counter = metricOf('counter')
export const info = metricOf('info')

/** The values of one source at one time: an engine, a GPU, a deployment, a world. */
export interface MetricValues {
  readonly metrics: readonly Metric<never>[]
  readonly labels: Labels
  /** The numbers and the own labels of each metric. */
  readonly values: readonly { readonly numbers: readonly number[]; readonly ownLabels: Labels | undefined }[]
}

/** Reads the metrics of a source. */
export function readMetrics<Source>(metrics: readonly Metric<Source>[], source: Source, labels: Labels): MetricValues {
  const values = metrics.map(({ read, ownLabels }) => ({
    numbers: [read(source)].flat(),
    ownLabels: ownLabels?.(source),
  }))
  return { metrics, labels, values }
}
