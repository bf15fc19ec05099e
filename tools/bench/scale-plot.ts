/** A plot of costs over a size, both logarithmic, as an SVG. */
import { decades, placed, ticks } from './growth-plot.ts'

/** A cost at each size, and the slope of its line. */
export interface Series {
  readonly name: string
  readonly points: readonly (readonly [size: number, ms: number])[]
  readonly slope: number
}

const WIDTH = 640
const HEIGHT = 420
const EDGE = { left: 70, right: 220, top: 40, bottom: 50 }
const COLOURS = ['#1f5fa8', '#b5651d', '#3c7d3c', '#8a3b8f']

/** @param unit what is counted on the lower axis */
export function scalePlot(unit: string, series: readonly Series[]): string {
  const points = series.flatMap(one => one.points)
  const across = decades(points.map(([size]) => size))
  const up = decades(points.map(([, ms]) => ms))
  const x = (size: number) => placed(size, across, EDGE.left, WIDTH - EDGE.right)
  const y = (ms: number) => placed(ms, up, HEIGHT - EDGE.bottom, EDGE.top)
  const lines = ticks(across).map(
    at =>
      `<path d="M${x(at)} ${EDGE.top}V${HEIGHT - EDGE.bottom}" stroke="#ddd"/>` +
      `<text x="${x(at)}" y="${HEIGHT - EDGE.bottom + 18}" text-anchor="middle">${at.toLocaleString('en')}</text>`,
  )
  const levels = ticks(up).map(
    at =>
      `<path d="M${EDGE.left} ${y(at)}H${WIDTH - EDGE.right}" stroke="#ddd"/>` +
      `<text x="${EDGE.left - 8}" y="${y(at) + 4}" text-anchor="end">${Number(at.toPrecision(1))}</text>`,
  )
  const costs = series.map((one, i) => {
    const colour = COLOURS[i % COLOURS.length]!
    const [lastSize, lastMs] = one.points[one.points.length - 1]!
    const path = one.points.map(([size, ms]) => `${x(size)},${y(ms)}`).join(' ')
    const dots = one.points.map(([size, ms]) => `<circle cx="${x(size)}" cy="${y(ms)}" r="3.5" fill="${colour}"/>`)
    return (
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}` +
      `<text x="${x(lastSize) + 10}" y="${y(lastMs) + 4}" fill="${colour}">${one.name}, slope ${one.slope.toFixed(2)}</text>`
    )
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<title>Costs over the number of ${unit}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${[...lines, ...levels].join('\n')}
<text x="${EDGE.left}" y="22">CPU in ms, if nothing else is named</text>
<text x="${WIDTH - EDGE.right}" y="${HEIGHT - 10}" text-anchor="end">${unit}</text>
${costs.join('\n')}
</svg>
`
}
