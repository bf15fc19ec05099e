import { useSignal } from '@preact/signals'
import { useCallback, useRef } from 'preact/hooks'
import type { Chart } from '../../plots/chart.ts'
import { styleOf } from '../../plots/series-styles.ts'
import { Canvas, type Drawing } from './canvas.tsx'
import { drawStepAreas, stepAt } from './chart-drawing.ts'
import { Tip } from './tip.tsx'
import { useSize } from './use-size.ts'

interface TimeChartProps {
  /** Stacked areas of steps. */
  readonly chart: Chart
  /** Height in CSS pixels. */
  readonly height: number
  /** Writes a value with its unit. */
  readonly format: (value: number) => string
}

/** Draws areas over time as the command line does, and tells the figures of the step under the pointer. */
export function TimeChart({ chart, height, format }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const { width } = useSize(place)
  const pointer = useSignal<{ x: number; y: number } | undefined>(undefined)
  const draw = useCallback((drawing: Drawing) => drawStepAreas(drawing, chart), [chart])
  const { title, description } = chart
  const at = pointer.value
  const step = at && stepAt(chart, width, at.x)
  return (
    <div class="time-chart tip-place" ref={place}>
      <Canvas
        draw={draw}
        height={height}
        label={`${title}. ${description}`}
        onPointerMove={(x, y) => {
          pointer.value = { x, y }
        }}
        onPointerLeave={() => {
          pointer.value = undefined
        }}
      />
      {at !== undefined && step !== undefined && (
        <Tip {...at} width={width}>
          <StepFigures {...{ chart, step, format }} />
        </Tip>
      )}
      <ul class="chart-legend" aria-label="Areas, the lowest first">
        {chart.series.map(({ name }, index) => (
          <li key={name}>
            <AreaMark index={index} /> {name}
          </li>
        ))}
      </ul>
    </div>
  )
}

interface StepFiguresProps {
  readonly chart: Chart
  readonly step: number
  readonly format: (value: number) => string
}

function StepFigures({ chart: { times, from, series }, step, format }: StepFiguresProps) {
  const shown = series.map(({ name, values }, index) => ({ name, index, value: values[step] ?? 0 })).reverse()
  const total = shown.reduce((sum, { value }) => sum + value, 0)
  return (
    <>
      <div class="mono faint">
        {formatInstant(step === 0 ? from : times[step - 1]!)} – {formatInstant(times[step]!)}
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
    </>
  )
}

/** The colour and the pattern of an area. */
function AreaMark({ index }: { index: number }) {
  const { light, dark, hatch } = styleOf(index)
  return (
    <svg class="area-mark" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="3" style={{ fill: `light-dark(${light}, ${dark})` }} />
      {hatch !== '' && <path d={hatch} transform="scale(2)" class="area-hatch" />}
    </svg>
  )
}

function formatInstant(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(5, 16).replace('T', ' ')
}
