import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { Tip } from './tip.tsx'
import { useSize } from './use-size.ts'
import { useTheme } from './use-theme.ts'

/** Areas over virtual time that lie on each other, the first one at the bottom. */
export interface AreaChart {
  readonly title: string
  /** What the picture shows, in one sentence. */
  readonly description: string
  /** The start of the first step, and the end of each: Unix seconds of virtual time, ascending. */
  readonly from: number
  readonly times: readonly number[]
  /** Each has a value for each step. */
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[]
  readonly format: (value: number) => string
  /** Writes a value of the axis. */
  readonly formatTick: (value: number) => string
}

/** How many areas have a colour and a pattern of their own. */
export const MAX_AREAS = 8

/** The patterns of areas: lines in a tile of 8 pixels. Areas are told apart by them where the colours are not seen. */
const HATCHES = [
  '',
  'M-2 10L10 -2M-2 2L2 -2M6 10L10 6',
  'M0 4H8',
  'M-2 -2L10 10M-2 6L2 10M6 -2L10 2',
  'M4 0V8',
  'M0 4H8M4 0V8',
  'M2 2H3.6M6 6H7.6',
  'M-2 10L10 -2M-2 -2L10 10',
]

interface TimeChartProps {
  readonly chart: AreaChart
  /** Height in CSS pixels. */
  readonly height: number
}

/** Draws areas over time, and tells the figures of the step under the pointer. A drag selects a part of the time. */
export function TimeChart({ chart, height }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const { width } = useSize(place)
  const theme = useTheme()
  const pointer = useSignal<{ x: number; y: number; step: number } | undefined>(undefined)
  const names = chart.series.map(({ name }) => name).join('\n')
  const current = useRef(chart)
  current.current = chart
  useEffect(() => {
    if (width === 0) return
    const made = new uPlot(
      optionsOf(current.current, place.current!, width, height, (x, y, step) => {
        pointer.value = step === undefined ? undefined : { x, y, step }
      }),
      dataOf(current.current),
      place.current!,
    )
    plot.current = made
    return () => {
      made.destroy()
      plot.current = undefined
    }
  }, [width, height, theme, names])
  useEffect(() => {
    const made = plot.current
    if (made === undefined) return
    const { min, max } = made.scales.x!
    const known = made.data[0]
    const isWhole = min === known[0] && max === known.at(-1)
    made.setData(dataOf(chart), isWhole)
    if (!isWhole) made.redraw()
  }, [chart])
  const under = pointer.value
  return (
    <div class="time-chart tip-place" ref={place} role="img" aria-label={`${chart.title}. ${chart.description}`}>
      {under !== undefined && <ChartTip chart={chart} {...under} width={width} />}
    </div>
  )
}

interface ChartTipProps {
  readonly chart: AreaChart
  readonly x: number
  readonly y: number
  readonly step: number
  readonly width: number
}

function ChartTip({ chart: { times, from, series, format }, x, y, step, width }: ChartTipProps) {
  const end = times[step]
  if (end === undefined) return null
  const shown = series.map(({ name, values }, index) => ({ name, index, value: values[step]! })).reverse()
  const total = shown.reduce((sum, { value }) => sum + value, 0)
  return (
    <Tip x={x} y={y} width={width}>
      <div class="mono faint">
        {formatInstant(step === 0 ? from : times[step - 1]!)} – {formatInstant(end)}
      </div>
      {shown
        .filter(({ value }) => value !== 0)
        .map(({ name, index, value }) => (
          <div key={name} class="chart-figure">
            <AreaMark index={index} />
            <span>{name}</span>
            <span class="number">{format(value)}</span>
          </div>
        ))}
      <div class="chart-figure">
        <span />
        <strong>together</strong>
        <strong class="number">{format(total)}</strong>
      </div>
    </Tip>
  )
}

/** The colour and the pattern of an area. */
export function AreaMark({ index }: { index: number }) {
  const id = `area-${index % MAX_AREAS}`
  const hatch = HATCHES[index % MAX_AREAS]!
  return (
    <svg class="area-mark" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <pattern id={id} width="8" height="8" patternUnits="userSpaceOnUse">
        <path d={hatch} class="area-hatch" />
      </pattern>
      <rect width="16" height="16" rx="3" style={{ fill: `var(--owner-${index % MAX_AREAS})` }} />
      {hatch !== '' && <rect width="16" height="16" rx="3" fill={`url(#${id})`} />}
    </svg>
  )
}

/** Returns the sums of the areas, each up to its upper edge. The highest is drawn first, so that lower ones lie on it. */
function dataOf({ from, times, series }: AreaChart): uPlot.AlignedData {
  const edges: number[][] = []
  let below = times.map(() => 0)
  for (const { values } of series) {
    below = below.map((sum, step) => sum + values[step]!)
    // A step begins at the end of the one before.
    edges.unshift([below[0] ?? 0, ...below])
  }
  return [[from, ...times], ...edges]
}

type OnPointer = (x: number, y: number, step: number | undefined) => void

function optionsOf(
  chart: AreaChart,
  place: Element,
  width: number,
  height: number,
  onPointer: OnPointer,
): uPlot.Options {
  const style = getComputedStyle(place)
  const colorOf = (name: string) => {
    const probe = document.createElement('span')
    probe.style.color = `var(--${name})`
    place.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
  const [line, faint, ground] = [colorOf('line'), colorOf('faint'), colorOf('panel')]
  const axis = { stroke: faint, font: `11px ${style.fontFamily}`, ticks: { stroke: line, width: 1, size: 4 } }
  const areas = chart.series.map(({ name }, index): uPlot.Series => {
    const color = colorOf(`owner-${index % MAX_AREAS}`)
    return {
      label: name,
      stroke: color,
      width: 1,
      fill: hatched(color, ground, index),
      points: { show: false },
      paths: uPlot.paths.stepped!({ align: -1 }),
    }
  })
  return {
    width,
    height,
    legend: { show: false },
    tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] } },
    cursor: { points: { show: false }, y: false, drag: { x: true, y: false } },
    axes: [
      { ...axis, grid: { show: false }, values: (_, splits) => labelInstants(splits) },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: 64,
        values: (_, splits) => splits.map(value => chart.formatTick(value)),
      },
    ],
    series: [{}, ...areas.reverse()],
    hooks: {
      setCursor: [
        ({ cursor: { left = -1, top = -1 }, posToVal, data, over }) => {
          const time = posToVal(left, 'x')
          const end = left < 0 ? -1 : data[0].findIndex(each => each >= time)
          onPointer(left + over.offsetLeft, top + over.offsetTop, end < 0 ? undefined : Math.max(0, end - 1))
        },
      ],
    },
  }
}

/** Returns a colour with the pattern of an area, for a canvas. */
function hatched(color: string, ground: string, index: number): CanvasPattern | string {
  const hatch = HATCHES[index % MAX_AREAS]!
  const scale = devicePixelRatio
  const tile = document.createElement('canvas')
  tile.width = 8 * scale
  tile.height = 8 * scale
  const context = tile.getContext('2d')!
  context.scale(scale, scale)
  context.fillStyle = color
  context.fillRect(0, 0, 8, 8)
  context.strokeStyle = ground
  context.globalAlpha = 0.4
  context.stroke(new Path2D(hatch))
  return context.createPattern(tile, 'repeat')!
}

/** Returns the labels of an axis: the time of day, with the date where the day begins. */
function labelInstants(seconds: readonly number[]): string[] {
  let day = ''
  const step = (seconds[1] ?? 0) - (seconds[0] ?? 0)
  return seconds.map(each => {
    const iso = new Date(each * 1000).toISOString()
    const isNewDay = iso.slice(5, 10) !== day
    day = iso.slice(5, 10)
    if (step >= 86_400) return day
    const time = iso.slice(11, step < 60 ? 19 : 16)
    return isNewDay ? `${day}\n${time}` : time
  })
}

function formatInstant(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(5, 16).replace('T', ' ')
}
