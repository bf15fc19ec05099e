/** Draws charts of `src/server/page/plots` on a canvas. Their figures, ticks and styles are those of the command line. */
import { type Chart, stackSeries } from '../../plots/chart.ts'
import { styleOf } from '../../plots/series-styles.ts'
import { linearTicks, timeTicks } from '../../plots/ticks.ts'
import { Brush } from './brush.ts'
import type { Drawing } from './canvas.tsx'

/** Space for the labels of the axes, in pixels. */
const LEFT = 52
const RIGHT = 14
/** Space at the right for the values of now, and the part of it that they take. */
const NOW_ROOM = 46
const NOW_WIDTH = 20
const TOP = 10
const BOTTOM = 22
const VALUE_TICKS = 4
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
export function timeAt(shown: StepChart, width: number, x: number): number {
  const { from, times } = shown.chart
  const share = Math.min(1, Math.max(0, (x - LEFT) / plotWidth(shown, width)))
  return from + share * ((times.at(-1) ?? from) - from)
}

/** Returns the index of the step at a horizontal place, or `now`; undefined beside the steps. */
export function stepAt(shown: StepChart, width: number, x: number): number | 'now' | undefined {
  const end = LEFT + plotWidth(shown, width)
  if (x < LEFT || (x > end && shown.now === undefined)) return undefined
  if (x > end) return x <= width ? 'now' : undefined
  const time = timeAt(shown, width, x)
  const step = shown.chart.times.findIndex(each => each >= time)
  return step < 0 ? undefined : step
}

/** Draws stacked areas of steps. */
export function drawStepAreas(drawing: Drawing, shown: StepChart): void {
  new ChartBrush(drawing).draw(shown)
}

class ChartBrush extends Brush {
  readonly #palette: Drawing['palette']

  constructor(drawing: Drawing) {
    super(drawing)
    this.#palette = drawing.palette
  }

  draw(shown: StepChart): void {
    const { from, times, series } = shown.chart
    const { now = [] } = shown
    const { context, height } = this
    const room = plotWidth(shown, this.width)
    const width = LEFT + room
    const end = times.at(-1) ?? from + 1
    const bands = stackSeries(series)
    const sumNow = now.reduce((sum, value) => sum + value, 0)
    const ticks = linearTicks(Math.max(0, sumNow, ...(bands.at(-1)?.high ?? [])), VALUE_TICKS)
    const top = ticks.at(-1)!.at
    const bottom = height - BOTTOM
    const toX = (time: number) => LEFT + ((time - from) / (end - from)) * room
    const toY = (value: number) => bottom - (value / top) * (bottom - TOP)
    this.setFont('11px', 'right')
    for (const { at, label } of ticks) {
      this.fill('line', LEFT, Math.round(toY(at)), this.width - LEFT - RIGHT, 1)
      this.write(label, 'faint', LEFT - 8, toY(at))
    }
    for (const [index, { low, high }] of bands.entries()) {
      context.beginPath()
      context.moveTo(toX(from), toY(low[0] ?? 0))
      for (const [step, value] of high.entries()) {
        context.lineTo(toX(times[step - 1] ?? from), toY(value))
        context.lineTo(toX(times[step]!), toY(value))
      }
      for (let step = low.length - 1; step >= 0; step--) {
        context.lineTo(toX(times[step]!), toY(low[step]!))
        context.lineTo(toX(times[step - 1] ?? from), toY(low[step]!))
      }
      context.closePath()
      context.fillStyle = this.#patternOf(index)
      context.fill()
    }
    let low = 0
    for (const [index, value] of now.entries()) {
      const left = this.width - RIGHT - NOW_WIDTH
      this.fill(this.#patternOf(index), left, toY(low + value), NOW_WIDTH, toY(low) - toY(low + value))
      low += value
    }
    this.setFont('11px', 'center', 'alphabetic')
    if (shown.now !== undefined) this.write('now', 'text', this.width - RIGHT - NOW_WIDTH / 2, height - 4)
    for (const { at, label } of timeTicks(from, end, Math.max(2, Math.floor(width / TICK_ROOM)))) {
      const x = toX(at)
      this.fill('line', Math.round(x), bottom, 1, 5)
      context.textAlign = x > width - 22 ? 'right' : 'center'
      this.write(label, 'faint', x > width - 22 ? width : x, height - 4)
    }
    this.fill('faint', LEFT, bottom, room, 1)
  }

  /** Returns the colour of an area with its pattern. */
  #patternOf(index: number): CanvasPattern {
    const { light, dark, hatch } = styleOf(index)
    const tile = document.createElement('canvas')
    // The pattern has the pixels of the screen, and the drawing scales it back.
    const scale = devicePixelRatio
    tile.width = tile.height = Math.round(8 * scale)
    const context = tile.getContext('2d')!
    context.scale(tile.width / 8, tile.height / 8)
    context.fillStyle = this.#palette.pick(light, dark)
    context.fillRect(0, 0, 8, 8)
    context.strokeStyle = this.color('panel')
    context.globalAlpha = 0.45
    context.stroke(new Path2D(hatch))
    const pattern = this.context.createPattern(tile, 'repeat')!
    pattern.setTransform(new DOMMatrix().scale(8 / tile.width, 8 / tile.height))
    return pattern
  }
}
