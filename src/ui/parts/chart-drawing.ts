/** Draws charts of `src/plots` on a canvas. Their figures, ticks and styles are those of the command line. */
import { type Chart, stackSeries } from '../../plots/chart.ts'
import { styleOf } from '../../plots/series-styles.ts'
import { linearTicks, timeTicks } from '../../plots/ticks.ts'
import { Brush } from './brush.ts'
import type { Drawing } from './canvas.tsx'

/** Space for the labels of the axes, in pixels. */
const LEFT = 52
const RIGHT = 14
const TOP = 10
const BOTTOM = 22
const VALUE_TICKS = 4
/** Least pixels between two ticks of the time. */
const TICK_ROOM = 80

/** Returns the index of the step at a horizontal place; undefined beside the steps. */
export function stepAt({ from, times }: Chart, width: number, x: number): number | undefined {
  const end = times.at(-1) ?? from
  const time = from + ((x - LEFT) / (width - LEFT - RIGHT)) * (end - from)
  const step = times.findIndex(each => each >= time)
  return time < from || step < 0 ? undefined : step
}

/** Draws stacked areas of steps. */
export function drawStepAreas(drawing: Drawing, chart: Chart): void {
  new ChartBrush(drawing).draw(chart)
}

class ChartBrush extends Brush {
  readonly #palette: Drawing['palette']

  constructor(drawing: Drawing) {
    super(drawing)
    this.#palette = drawing.palette
  }

  draw({ from, times, series }: Chart): void {
    const { context, width, height } = this
    const end = times.at(-1) ?? from + 1
    const bands = stackSeries(series)
    const ticks = linearTicks(Math.max(0, ...(bands.at(-1)?.high ?? [])), VALUE_TICKS)
    const top = ticks.at(-1)!.at
    const bottom = height - BOTTOM
    const toX = (time: number) => LEFT + ((time - from) / (end - from)) * (width - LEFT - RIGHT)
    const toY = (value: number) => bottom - (value / top) * (bottom - TOP)
    context.font = `11px ${this.sans}`
    context.textBaseline = 'middle'
    context.textAlign = 'right'
    for (const { at, label } of ticks) {
      context.fillStyle = this.color('line')
      context.fillRect(LEFT, Math.round(toY(at)), width - LEFT - RIGHT, 1)
      context.fillStyle = this.color('faint')
      context.fillText(label, LEFT - 8, toY(at))
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
    context.textBaseline = 'alphabetic'
    for (const { at, label } of timeTicks(from, end, Math.max(2, Math.floor(width / TICK_ROOM)))) {
      const x = toX(at)
      context.fillStyle = this.color('line')
      context.fillRect(Math.round(x), bottom, 1, 5)
      context.fillStyle = this.color('faint')
      context.textAlign = x > width - 30 ? 'right' : 'center'
      context.fillText(label, x > width - 30 ? width : x, height - 4)
    }
    context.fillStyle = this.color('faint')
    context.fillRect(LEFT, bottom, width - LEFT - RIGHT, 1)
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
