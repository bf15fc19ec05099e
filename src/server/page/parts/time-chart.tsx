import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { type Chart, stackSeries, styleOf } from '../plots/chart.ts'
import { axesOf, drawPlot, patternId, patternsOf } from '../plots/draw-chart.ts'
import { Small } from './buttons.tsx'
import { clear, useSize } from './hooks.ts'
import { shifted, type TimeRange, within, zoomed } from './time-range.ts'
import { Tip } from './words.tsx'

/** The shortest part of the time that a chart shows, in seconds. */
const MIN_RANGE = 60
/** A shorter movement of the pointer is a click, in pixels. */
const MIN_DRAG = 5
const ZOOM_FACTOR = 2

interface TimeChartProps extends StepChart {
  /** Height in CSS pixels. */
  readonly height: number
  /** Writes a value with its unit. */
  readonly format: (value: number) => string
  /** All of the time that can be shown, in Unix seconds. */
  readonly extent: TimeRange
  /** The part that is chosen. The chart can be older than the choice. */
  readonly shown: TimeRange
  /** A part of the time was chosen; undefined for all of it. */
  readonly onZoom: (range: TimeRange | undefined) => void
}

/**
 * Draws areas over time as the command line does, and tells the figures of the step under the pointer. A drag chooses a
 * part of the time. A double click or Escape shows all of it again.
 */
export function TimeChart({ chart, now, height, format, extent, shown, onZoom }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const { width } = useSize(place)
  const pointer = useSignal<{ x: number; y: number } | undefined>(undefined)
  const dragFrom = useSignal<number | undefined>(undefined)
  const at = pointer.value
  const begin = dragFrom.value
  const step = at && stepAt({ chart, now }, width, at.x)
  const isZoomed = shown.from > extent.from || shown.to < extent.to
  const zoom = (wanted: TimeRange) => onZoom(withinExtent(wanted, extent))
  const placeOf = ({ clientX, clientY }: PointerEvent) => {
    const { left, top } = place.current!.getBoundingClientRect()
    return { x: clientX - left, y: clientY - top }
  }
  const endDrag = (event: PointerEvent) => {
    dragFrom.value = undefined
    const { x } = placeOf(event)
    if (begin === undefined || Math.abs(x - begin) < MIN_DRAG) return
    const [from, to] = [Math.min(begin, x), Math.max(begin, x)].map(one => timeAt({ chart, now }, width, one))
    zoom({ from: from!, to: to! })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const change = KEYS[event.key]
    if (change === undefined && !(event.key === 'Escape' && isZoomed)) return
    if (change === undefined) onZoom(undefined)
    else zoom(change(shown))
    event.preventDefault()
    // The page has meanings of its own for these keys.
    event.stopPropagation()
  }
  return (
    <div
      class="time-chart tip-place"
      ref={place}
      role="group"
      tabIndex={0}
      data-arrow-keys
      aria-label={`${chart.title}: + and - zoom, arrows move, Escape shows all`}
      onKeyDown={onKeyDown}
      onDblClick={() => onZoom(undefined)}
      onPointerDown={event => {
        const { x, y } = placeOf(event)
        if (event.button !== 0 || y > height) return
        dragFrom.value = x
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={event => {
        const { x, y } = placeOf(event)
        pointer.value = y > height ? undefined : { x, y }
      }}
      onPointerUp={endDrag}
      onPointerCancel={clear(dragFrom)}
      onPointerLeave={clear(pointer)}
    >
      <Plot {...{ chart, now, width, height }} />
      {begin !== undefined && at !== undefined && (
        <div
          class="chart-choice"
          style={{ left: `${Math.min(begin, at.x)}px`, width: `${Math.abs(at.x - begin)}px`, height: `${height}px` }}
        />
      )}
      {begin === undefined && at !== undefined && step !== undefined && (
        <Tip {...at} width={width}>
          <StepFigures {...{ chart, now, step, format }} />
        </Tip>
      )}
      <div class="line">
        <ul class="chart-legend" aria-label="Areas, the lowest first">
          {chart.series.map(({ name }, index) => (
            <li key={name}>
              <AreaMark pattern={patternId(chart, index)} /> {name}
            </li>
          ))}
        </ul>
        {isZoomed && <Small words="Show all" onClick={() => onZoom(undefined)} />}
      </div>
    </div>
  )
}

/** What the keys make of the shown part. */
const KEYS: Readonly<Record<string, (range: TimeRange) => TimeRange>> = {
  '+': range => zoomed(range, 1 / ZOOM_FACTOR),
  '=': range => zoomed(range, 1 / ZOOM_FACTOR),
  '-': range => zoomed(range, ZOOM_FACTOR),
  ArrowLeft: range => shifted(range, -1 / 4),
  ArrowRight: range => shifted(range, 1 / 4),
}

/** Returns a part in whole seconds within the extent; undefined for all of it. */
export function withinExtent(wanted: TimeRange, extent: TimeRange): TimeRange | undefined {
  const range = within(wanted, extent, MIN_RANGE)
  return range && { from: Math.round(range.from), to: Math.round(range.to) }
}

type StepFiguresProps = StepChart & { step: number | 'now'; format: (value: number) => string }

function StepFigures({ chart, now, step, format }: StepFiguresProps) {
  const { times, from, series } = chart
  const valueAt = (index: number) => (step === 'now' ? now?.[index] : series[index]!.values[step]) ?? 0
  const shown = series.map(({ name }, index) => ({ name, index, value: valueAt(index) })).reverse()
  const total = shown.reduce((sum, { value }) => sum + value, 0)
  return (
    <>
      <div class="mono faint">
        {step === 'now' ? 'now' : `${formatInstant(times[step - 1] ?? from)} – ${formatInstant(times[step]!)}, mean`}
      </div>
      {shown
        .filter(({ value }) => value !== 0)
        .map(({ name, index, value }) => (
          <div key={name} class="chart-figure">
            <AreaMark pattern={patternId(chart, index)} />
            <span>{name}</span>
            <span class="number">{format(value)}</span>
          </div>
        ))}
      <div class="chart-figure">
        <span />
        <strong>together</strong>
        <strong class="number">{format(total)}</strong>
      </div>
    </>
  )
}

/** The colour and the pattern of an area. */
function AreaMark({ pattern }: { pattern: string }) {
  return (
    <svg class="area-mark" width="16" height="16" aria-hidden="true">
      <rect width="16" height="16" rx="3" fill={`url(#${pattern})`} />
    </svg>
  )
}

/** The areas, and the bar of now beside them. */
function Plot({ chart, now, width, height }: StepChart & { readonly width: number; readonly height: number }) {
  const text = useMemo(() => {
    const right = LEFT + plotWidth({ chart, now }, width)
    const mostTicks = Math.max(2, Math.floor(right / TICK_ROOM))
    const bands = stackSeries((now ?? []).map((value, i) => ({ ...chart.series[i]!, values: [value] })))
    const plot = { left: LEFT, top: TOP, right, bottom: height - BOTTOM, mostTicks }
    const axes = axesOf(chart, plot, bands.at(-1)?.high[0])
    const x = width - RIGHT - NOW_WIDTH
    const bars = bands.map(({ low, high }, i) => {
      const [top, bottom] = [axes.y(high[0]!), axes.y(low[0]!)]
      const place = `x="${x}" y="${top}" width="${NOW_WIDTH}" height="${bottom - top}"`
      return `<rect fill="url(#${patternId(chart, i)})" ${place}/>`
    })
    const label = now && `<text x="${x + NOW_WIDTH / 2}" y="${height - 4}" text-anchor="middle">now</text>`
    return `<defs>${patternsOf(chart, fillOf)}</defs>${drawPlot(chart, axes)}${bars.join('')}${label ?? ''}`
  }, [chart, now, width, height])
  return (
    <svg class="plot" width={width} height={height} role="img" aria-label={`${chart.title}. ${chart.description}`}>
      <g dangerouslySetInnerHTML={{ __html: text }} />
    </svg>
  )
}

function fillOf(series: number): string {
  const { light, dark } = styleOf(series)
  return `fill="light-dark(${light}, ${dark})"`
}

function formatInstant(seconds: number): string {
  const text = new Date(seconds * 1000).toISOString().slice(5, 19).replace('T', ' ')
  return text.replace(/:00$/, '')
}

/** Space for the labels of the axes, in pixels. */
const LEFT = 52
const RIGHT = 14
/** Space at the right for the values of now, and the part of it that they take. */
const NOW_ROOM = 46
const NOW_WIDTH = 20
const TOP = 10
const BOTTOM = 22
/** Least pixels between two ticks of the time. */
const TICK_ROOM = 80

/** A chart of steps, with the value of each series now if the chart ends now. A step is a mean, which now can differ from. */
export interface StepChart {
  readonly chart: Chart
  readonly now?: readonly number[] | undefined
}

function plotWidth({ now }: StepChart, width: number): number {
  return width - LEFT - (now === undefined ? RIGHT : NOW_ROOM)
}

/** Returns the time at a horizontal place, within the chart: Unix seconds. */
function timeAt(shown: StepChart, width: number, x: number): number {
  const { from, times } = shown.chart
  const share = Math.min(1, Math.max(0, (x - LEFT) / plotWidth(shown, width)))
  return from + share * ((times.at(-1) ?? from) - from)
}

/** Returns the index of the step at a horizontal place, or `now`; undefined beside the steps. */
function stepAt(shown: StepChart, width: number, x: number): number | 'now' | undefined {
  const end = LEFT + plotWidth(shown, width)
  if (x < LEFT || (x > end && shown.now === undefined)) return undefined
  if (x > end) return x <= width ? 'now' : undefined
  const time = timeAt(shown, width, x)
  const step = shown.chart.times.findIndex(each => each >= time)
  return step < 0 ? undefined : step
}
