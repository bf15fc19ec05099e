import { escapeXml, xmlAttribute } from '../../../lib/quote.ts'
import { type Band, type Chart, type ChartSeries, stackSeries, styleOf } from './chart.ts'
import { linearTicks, logTicks, type Tick, timeTicks } from './ticks.ts'

/** Lengths in units of the picture. */
export const CHART_WIDTH = 780
export const CHART_HEIGHT = 244
const PLOT: Plot = { left: 62, top: 40, right: 534, bottom: 206, mostTicks: 8 }
const LEGEND = { left: PLOT.right + 22, right: CHART_WIDTH - 16, top: PLOT.top + 4, row: 19.5 }
/** Marks of a line, so that lines differ in more than their colours. */
const GLYPHS_PER_LINE = 7
/** Marks that have a number, and words in the head of the picture. */
export const LISTED_MARKS = 5
/** Mean width of a character of the legend. */
const CHARACTER_WIDTH = 6.7

/** The place of the shapes in the picture. */
interface Plot {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
  /** The most ticks of the time. */
  readonly mostTicks: number
}

/** Where times and values lie in the picture. */
type Axes = ReturnType<typeof axesOf>
type ToLength = (value: number) => number

/** Returns the elements of a chart as SVG text, within a group whose origin is its upper left corner. */
export function drawChart(chart: Chart): string {
  const { left, top, right, bottom } = PLOT
  return [
    `<text class="head" x="${left - 46}" y="22"><tspan class="title">${escapeXml(chart.title)}</tspan>` +
      `<tspan class="soft" dx="10">${escapeXml(chart.unit)}</tspan></text>`,
    drawPlot(chart, axesOf(chart, PLOT)),
    chart.series.length === 0
      ? `<text class="soft" x="${n((left + right) / 2)}" y="${n((top + bottom) / 2)}" text-anchor="middle">${escapeXml(chart.emptyText)}</text>`
      : drawLegend(chart),
  ].join('\n')
}

/** Returns the grid, the shapes and the marks of a chart as SVG text. */
export function drawPlot(chart: Chart, axes: Axes): string {
  const { left, right, bottom } = axes.plot
  return [
    drawGrid(axes),
    chart.kind === 'areas' ? drawAreas(chart, axes) : drawLines(chart, axes),
    drawMarks(chart, axes),
    `<path class="axis" d="M${left} ${bottom}H${right}"/>`,
  ].join('\n')
}

/**
 * Returns the patterns that the areas of a chart use, as the content of `<defs>`.
 *
 * @param paint returns the attribute with the colour of a series. Default: its class
 */
export function patternsOf(chart: Chart, paint = (index: number) => `class="f${index}"`): string {
  if (chart.kind === 'lines') return ''
  return chart.series
    .map((_, i) => {
      const { hatch } = styleOf(i)
      return (
        `<pattern id="${patternId(chart, i)}" width="8" height="8" patternUnits="userSpaceOnUse">` +
        `<rect ${paint(i)} width="8" height="8"/>${hatch === '' ? '' : `<path class="hatch" d="${hatch}"/>`}</pattern>`
      )
    })
    .join('')
}

/** Returns the figures of a chart in one sentence, for those who cannot see it. */
export function describeChart({ title, unit, description, series, figureLabel, emptyText }: Chart): string {
  const figures = series.map(({ name, figure }) => `${name} ${figure}`).join('; ')
  return `${title}, ${unit}. ${description} ${figures === '' ? emptyText : `By series (${figureLabel}): ${figures}.`}`
}

/**
 * Returns where the times and values of a chart lie.
 *
 * @param least a value that a linear axis reaches at least. Default: 0
 */
export function axesOf(chart: Chart, plot: Plot, least = 0) {
  const to = Math.max(chart.to ?? chart.from, chart.times.at(-1) ?? chart.from)
  const length = to > chart.from ? to - chart.from : 1
  const x = (time: number) => plot.left + ((time - chart.from) / length) * (plot.right - plot.left)
  const ticks = timeTicks(chart.from, to, plot.mostTicks)
  const [ticksOfValues, y] = chart.scale === 'log' ? logAxis(chart, plot) : linearAxis(chart, plot, least)
  return { plot, x, y, timeTicks: ticks, valueTicks: chart.series.length === 0 ? [] : ticksOfValues }
}

function linearAxis(chart: Chart, { top, bottom }: Plot, least: number): [Tick[], ToLength] {
  const tops = chart.kind === 'areas' ? (stackSeries(chart.series).at(-1)?.high ?? []) : valuesOf(chart)
  const ticks = linearTicks(Math.max(least, ...tops), 4)
  return [ticks, value => bottom - (value / ticks.at(-1)!.at) * (bottom - top)]
}

/** Values that are not above 0 lie on the lower edge. */
function logAxis(chart: Chart, { top, bottom }: Plot): [Tick[], ToLength] {
  const positive = valuesOf(chart).filter(value => value > 0)
  const [min, max] = positive.length === 0 ? [0.1, 1] : [Math.min(...positive), Math.max(...positive)]
  const ticks = logTicks(min, max)
  const [low, high] = [Math.log10(ticks[0]!.at), Math.log10(ticks.at(-1)!.at)]
  const y = (value: number) => bottom - (value <= 0 ? 0 : ((Math.log10(value) - low) / (high - low)) * (bottom - top))
  return [ticks, y]
}

function valuesOf({ series }: Chart): number[] {
  return series.flatMap(({ values }) => values.filter(value => value !== null))
}

function drawGrid({ x, y, timeTicks, valueTicks, plot: { left, top, right, bottom } }: Axes): string {
  const lines = [
    ...timeTicks.map(({ at }) => `M${n(x(at))} ${top}V${bottom}`),
    ...valueTicks.map(({ at }) => `M${left} ${n(y(at))}H${right}`),
  ]
  const labels = [
    ...timeTicks.map(({ at, label }) => {
      // The label of a tick at an edge stays within the picture of its chart.
      const anchor = x(at) > right - 12 ? 'end' : x(at) < left + 12 ? 'start' : 'middle'
      return `<text x="${n(x(at))}" y="${bottom + 18}" text-anchor="${anchor}">${label}</text>`
    }),
    ...valueTicks.map(({ at, label }) => `<text x="${left - 8}" y="${n(y(at) + 4)}" text-anchor="end">${label}</text>`),
  ]
  return `<path class="grid" d="${lines.join('')}"/>\n<g class="tick">${labels.join('')}</g>`
}

/** Draws the commands as lines through the chart. The head of the picture has the words of their numbers. */
function drawMarks({ marks }: Chart, { x, plot: { top, bottom } }: Axes): string {
  return marks
    .map(({ time, text }, i) => {
      const at = n(x(time))
      const number = i < LISTED_MARKS ? `<text class="mark" x="${at}" y="${top - 4}">${i + 1}</text>` : ''
      return `<g><title>${escapeXml(text)}</title><path class="mark" d="M${at} ${top}V${bottom}"/>${number}</g>`
    })
    .join('\n')
}

function drawAreas(chart: Chart, { x, y }: Axes): string {
  const starts = [chart.from, ...chart.times]
  const bands = stackSeries(chart.series)
  const areas = bands.map(({ low, high }, i) => {
    const edge = steps(high, starts, x, y)
    const back = steps(low, starts, x, y).toReversed()
    return `<path fill="url(#${patternId(chart, i)})" d="${polyline(edge)}L${polyline(back).slice(1)}Z"/>`
  })
  const edges = bands.map((band, i) => `<path class="edge s${i}" d="${edgeOf(band, starts, x, y)}"/>`)
  return `<g class="areas">${areas.join('\n')}</g>\n${edges.join('\n')}`
}

/** Returns the path of the upper edge of a band, where the band is not empty. */
function edgeOf({ low, high }: Band, starts: readonly number[], x: ToLength, y: ToLength): string {
  let path = ''
  for (let from = 0, to = 0; to <= high.length; to++) {
    if (to < high.length && high[to]! > low[to]!) continue
    if (to > from) path += polyline(steps(high.slice(from, to), starts.slice(from, to + 1), x, y))
    from = to + 1
  }
  return path
}

/** Returns the corners of a line that holds each value from the time before it up to its own. */
function steps(values: readonly number[], starts: readonly number[], x: ToLength, y: ToLength): [number, number][] {
  return values.flatMap((value, i): [number, number][] => [
    [x(starts[i]!), y(value)],
    [x(starts[i + 1]!), y(value)],
  ])
}

function drawLines(chart: Chart, { x, y }: Axes): string {
  // The first series is the most important one, so it is drawn last.
  return chart.series
    .map((series, i) => drawLine(series, i, chart, x, y))
    .reverse()
    .join('\n')
}

function drawLine({ name, values }: ChartSeries, index: number, chart: Chart, x: ToLength, y: ToLength): string {
  const { dash, glyph } = styleOf(index)
  const parts: [number, number][][] = []
  for (const [i, value] of values.entries()) {
    if (value === null) continue
    const isNew = i === 0 || values[i - 1] === null
    if (isNew) parts.push([])
    parts.at(-1)!.push([x(chart.times[i]!), y(value)])
  }
  const every = Math.max(1, Math.floor(values.length / GLYPHS_PER_LINE))
  // Marks of different lines lie at different times, so that equal lines stay legible.
  const offset = Math.floor((every * (index + 0.5)) / Math.max(1, chart.series.length))
  const glyphs = values.flatMap((value, i) =>
    value === null || i % every !== offset
      ? []
      : [`<path class="f${index}" transform="translate(${n(x(chart.times[i]!))} ${n(y(value))})" d="${glyph}"/>`],
  )
  const line = parts.map(polyline).join('')
  return (
    `<g><title>${escapeXml(name)}</title><path class="line s${index}"${dashOf(dash)} d="${line}"/>` +
    `${glyphs.join('')}</g>`
  )
}

/** Draws the names of the series with their figures. The order of areas is that of the picture, from above. */
function drawLegend(chart: Chart): string {
  const rows = chart.series.map((series, index) => ({ series, index }))
  if (chart.kind === 'areas') rows.reverse()
  const label = `<text class="soft" x="${LEGEND.right}" y="22" text-anchor="end">${escapeXml(chart.figureLabel)}</text>`
  const drawn = rows.map(({ series: { name, figure }, index }, row) => {
    const y = LEGEND.top + row * LEGEND.row
    const room = (LEGEND.right - LEGEND.left - 30) / CHARACTER_WIDTH - figure.length
    const shown = [...name].length <= room ? name : `${[...name].slice(0, Math.floor(room) - 1).join('')}…`
    return (
      `<g transform="translate(${LEGEND.left} ${n(y)})"><title>${escapeXml(name)}</title>${swatch(chart, index)}` +
      `<text x="28" y="9">${escapeXml(shown)}</text>` +
      `<text class="figure" x="${LEGEND.right - LEGEND.left}" y="9" text-anchor="end">${escapeXml(figure)}</text></g>`
    )
  })
  return `${label}\n${drawn.join('\n')}`
}

function swatch(chart: Chart, index: number): string {
  if (chart.kind === 'areas') {
    return `<rect class="box s${index}" fill="url(#${patternId(chart, index)})" width="20" height="11" y="-1" rx="2"/>`
  }
  const { dash, glyph } = styleOf(index)
  return `<path class="line s${index}"${dashOf(dash)} d="M0 4.5H20"/><path class="f${index}" transform="translate(10 4.5)" d="${glyph}"/>`
}

function dashOf(dash: string): string {
  return dash === '' ? '' : ` stroke-dasharray=${xmlAttribute(dash)}`
}

/** Returns the id of the pattern of an area. */
export function patternId(chart: Chart, index: number): string {
  return `${chart.name}-${index}`
}

/** Joins points with lines. Points in a row on one line are left out, which keeps the text short. */
function polyline(points: readonly (readonly [number, number])[]): string {
  let path = ''
  let [lastX, lastY] = ['', '']
  for (const [i, [px, py]] of points.entries()) {
    const [x, y] = [n(px), n(py)]
    if (i === 0) path = `M${x} ${y}`
    else if (x === lastX && y === lastY) continue
    else if (y === lastY) path += `H${x}`
    else if (x === lastX) path += `V${y}`
    else path += `L${x} ${y}`
    ;[lastX, lastY] = [x, y]
  }
  return path.replaceAll(/(?:H[\d.-]+)+(H[\d.-]+)/g, '$1')
}

/** Formats a length with at most one decimal, so that equal pictures are equal texts. */
function n(value: number): string {
  const text = value.toFixed(1)
  return text.endsWith('.0') ? text.slice(0, -2) : text
}
