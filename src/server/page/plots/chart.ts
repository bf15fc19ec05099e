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

/** An area between two values of a series: where its lower edge is, and its upper edge. */
export type Band = ReturnType<typeof stackSeries>[number]

/** Returns where the areas of a chart lie on each other. A missing value is 0. */
export function stackSeries(series: readonly ChartSeries[]) {
  let low: readonly number[] | undefined
  return series.map(({ values }) => {
    const below: readonly number[] = low ?? values.map(() => 0)
    const high = values.map((value, i) => below[i]! + (value ?? 0))
    low = high
    return { low: below, high }
  })
}

/**
 * How each series looks. Series that stand beside each other differ in more than their colour: the colour on a light
 * ground and on a dark one, the dashes of its line (empty: solid), the mark of its line around the origin, 8 units wide,
 * and the pattern of its area, lines in a square of 8 units (empty: plain).
 */
const ROWS = [
  ['#1f6fb4', '#5aa9e6', '', 'M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z', ''],
  ['#d97706', '#f5a742', '7 3', 'M-3.5 -3.5H3.5V3.5H-3.5Z', 'M-2 10L10 -2M-2 2L2 -2M6 10L10 6'],
  ['#0f8a6a', '#3fc79f', '2 3', 'M0 -4.5L4.2 3.2H-4.2Z', 'M0 4H8'],
  ['#b84a8f', '#e58bc2', '9 3 2 3', 'M0 -4.8L4.8 0L0 4.8L-4.8 0Z', 'M-2 -2L10 10M-2 6L2 10M6 -2L10 2'],
  ['#c2410c', '#ff8a5c', '12 4', 'M0 4.5L4.2 -3.2H-4.2Z', 'M4 0V8'],
  ['#5b5bd6', '#9d9bff', '4 2 1 2', 'M-4 -1.3H-1.3V-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4Z', 'M0 4H8M4 0V8'],
  ['#0e8fa8', '#4fcbe0', '1 4', 'M-4 -4L0 -1.4L4 -4L1.4 0L4 4L0 1.4L-4 4L-1.4 0Z', 'M2 2H3.6M6 6H7.6'],
  ['#6b7280', '#9aa3b2', '5 5', 'M-4.5 -1.2H4.5V1.2H-4.5Z', 'M-2 10L10 -2M-2 -2L10 10'],
] as const

/** The styles of the series of a chart, in their order. The colours are apart for people with colour blindness too. */
export const SERIES_STYLES = ROWS.map(([light, dark, dash, glyph, hatch]) => ({
  ...{ light, dark, dash, glyph, hatch },
}))

/** Returns the style of a series by its index. Styles repeat after the last. */
export function styleOf(index: number) {
  return SERIES_STYLES[index % SERIES_STYLES.length]!
}
