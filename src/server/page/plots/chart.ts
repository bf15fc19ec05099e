/** A picture of figures over virtual time, without a drawing: what the command line and the page both draw. */
export interface Chart {
  /** Unique among the charts of a report; also the name of its file. */
  readonly name: string
  readonly title: string
  /** What the picture shows, in one sentence or two. */
  readonly description: string
  /** The unit of the values, as in `$ per hour`. */
  readonly unit: string
  /**
   * `areas` are stacked, the first series at the bottom. A value holds from the time before up to its own. In `lines`, a
   * value is of its own time.
   */
  readonly kind: 'areas' | 'lines'
  readonly scale: 'linear' | 'log'
  /** The start of the window: Unix seconds of virtual time. */
  readonly from: number
  /** The end of the window, if it is after the last of `times`, as in a chart without any. */
  readonly to?: number
  /** Unix seconds of virtual time, ascending. Each series has one value for each. */
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  /** Moments at which a command changed the world. The drawing numbers them from 1. */
  readonly marks: readonly ChartMark[]
  /** What the figure of each series is, as in `total, $`. */
  readonly figureLabel: string
  /** Says why there is nothing to draw, if there is no series. */
  readonly emptyText: string
}

/** One line or area of a chart. */
export interface ChartSeries {
  readonly name: string
  /** Null where there is no value. The drawing has a gap there. */
  readonly values: readonly (number | null)[]
  /** One figure that sums the series up, as text without its unit. */
  readonly figure: string
}

/** A moment that charts show as a line from above to below. */
export interface ChartMark {
  /** Unix seconds of virtual time, within the window. */
  readonly time: number
  readonly text: string
}

/** A line or area between two values of a series: where its lower edge is, and its upper edge. */
export interface Band {
  readonly low: readonly number[]
  readonly high: readonly number[]
}

/** Returns where the areas of a chart lie on each other. A missing value is 0. */
export function stackSeries(series: readonly ChartSeries[]): Band[] {
  let low: readonly number[] | undefined
  return series.map(({ values }) => {
    const below: readonly number[] = low ?? values.map(() => 0)
    const high = values.map((value, i) => below[i]! + (value ?? 0))
    low = high
    return { low: below, high }
  })
}
