/** How a series looks. Series that stand beside each other differ in more than their colour. */
export interface SeriesStyle {
  /** Colour on a light ground, and on a dark one. */
  readonly light: string
  readonly dark: string
  /** Lengths of the dashes and gaps of a line, as in `stroke-dasharray`; empty for a solid line. */
  readonly dash: string
  /** Path of the mark of a line, around the origin, 8 units wide. */
  readonly glyph: string
  /** Path of the pattern of an area: lines in a square of 8 units; empty for a plain area. */
  readonly hatch: string
}

/** Light colour, dark colour, dash, mark and pattern of each series. */
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
export const SERIES_STYLES: readonly SeriesStyle[] = ROWS.map(([light, dark, dash, glyph, hatch]) => ({
  ...{ light, dark, dash, glyph, hatch },
}))

/** Returns the style of a series by its index. Styles repeat after the last. */
export function styleOf(index: number): SeriesStyle {
  return SERIES_STYLES[index % SERIES_STYLES.length]!
}
