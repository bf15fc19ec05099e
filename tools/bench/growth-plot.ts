/** A plot of CPU time over events, both logarithmic, as an SVG. */
export interface Point {
  readonly events: number
  readonly ms: number
}

/** The place of a name beside its point, so that it crosses no line. */
type Place = readonly [right: number, down: number, anchor: 'start' | 'end']

const WIDTH = 640
const HEIGHT = 420
const EDGE = { left: 70, right: 20, top: 40, bottom: 50 }

/** Ours and the baseline, and a dotted line for what grows with the events and no faster. */
export function growthPlot(ours: readonly Point[], baseline: readonly Point[]): string {
  const all = [...ours, ...baseline]
  const across = decades(all.map(({ events }) => events))
  const up = decades(all.map(({ ms }) => ms))
  const x = (events: number) => placed(events, across, EDGE.left, WIDTH - EDGE.right)
  const y = (ms: number) => placed(ms, up, HEIGHT - EDGE.bottom, EDGE.top)
  const [first, last] = [ours[0]!, ours[ours.length - 1]!]
  const linear = [first, { events: last.events, ms: (first.ms / first.events) * last.events }]
  const path = (points: readonly Point[]) => points.map(({ events, ms }) => `${x(events)},${y(ms)}`).join(' ')
  const dots = (points: readonly Point[], colour: string) =>
    points.map(({ events, ms }) => `<circle cx="${x(events)}" cy="${y(ms)}" r="3.5" fill="${colour}"/>`).join('')
  const name = ({ events, ms }: Point, text: string, colour: string, [right, down, anchor]: Place) =>
    `<text x="${x(events) + right}" y="${y(ms) + down}" text-anchor="${anchor}" fill="${colour}">${text}</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<title>CPU time of a fleet over the events of its life</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${ticks(across)
  .map(
    at =>
      `<path d="M${x(at)} ${EDGE.top}V${HEIGHT - EDGE.bottom}" stroke="#ddd"/><text x="${x(at)}" y="${HEIGHT - EDGE.bottom + 18}" text-anchor="middle">${shown(at)}</text>`,
  )
  .join('\n')}
${ticks(up)
  .map(
    at =>
      `<path d="M${EDGE.left} ${y(at)}H${WIDTH - EDGE.right}" stroke="#ddd"/><text x="${EDGE.left - 8}" y="${y(at) + 4}" text-anchor="end">${shown(at)}</text>`,
  )
  .join('\n')}
<text x="${EDGE.left}" y="22">CPU in ms</text>
<text x="${WIDTH - EDGE.right}" y="${HEIGHT - 10}" text-anchor="end">events: GPUs and deployments doubled four times, then days three times</text>
<polyline points="${path(linear)}" fill="none" stroke="#888" stroke-dasharray="2 4"/>
<polyline points="${path(baseline)}" fill="none" stroke="#b5651d" stroke-width="2"/>
<polyline points="${path(ours)}" fill="none" stroke="#1f5fa8" stroke-width="2"/>
${dots(baseline, '#b5651d')}
${dots(ours, '#1f5fa8')}
${name(baseline[baseline.length - 1]!, 'plain objects, a look every 10 s', '#b5651d', [-8, -10, 'end'])}
${name(last, 'modelhost-sim', '#1f5fa8', [-20, 22, 'start'])}
${name(linear[1]!, 'linear', '#888', [8, 4, 'start'])}
</svg>
`
}

/** The powers of ten around the values. */
export function decades(values: readonly number[]): readonly [number, number] {
  return [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))]
}

/** The powers of ten of a range. */
export function ticks([from, to]: readonly [number, number]): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i))
}

/** The place of a value on an axis from `low` to `high`. */
export function placed(value: number, [from, to]: readonly [number, number], low: number, high: number): number {
  return Math.round((low + ((Math.log10(value) - from) / (to - from)) * (high - low)) * 10) / 10
}

function shown(value: number): string {
  return value.toLocaleString('en')
}
