/** Draws the timeline: how much happened when, what was broken when, and what is coming. */
import type { ControlEntry, ControlRequest } from '../../control/client/index.ts'
import { Brush } from '../parts/drawing/brush.ts'
import type { Drawing } from '../parts/drawing/canvas.tsx'
import { toneOf } from '../parts/tone.ts'
import type { TimelineScale } from './scale.ts'

export interface TimelineMarks {
  readonly entries: readonly ControlEntry[]
  readonly requests: readonly ControlRequest[]
  /** Times of what is coming, in microseconds. */
  readonly coming: readonly number[]
  /** Time of the shown world. */
  readonly here: number
  /** The earliest time that one can go back to. */
  readonly earliest: number
  /** A time that the pointer or the keyboard chose. */
  readonly chosen: number | undefined
}

export function drawTimeline(drawing: Drawing, scale: TimelineScale, marks: TimelineMarks): void {
  new TimelineBrush(drawing, scale).draw(marks)
}

class TimelineBrush extends Brush {
  readonly #scale: TimelineScale

  constructor(drawing: Drawing, scale: TimelineScale) {
    super(drawing)
    this.#scale = scale
  }

  draw({ entries, requests, coming, here, earliest, chosen }: TimelineMarks): void {
    const { height } = this
    const { now } = this.#scale
    const [keptX, nowX] = [this.#toX(earliest), this.#toX(now)]
    this.fill('sunken', keptX, 0, nowX - keptX, height)
    this.#drawDensity(entries)
    this.#drawFuture(nowX)
    for (const time of coming) if (time > now) this.fill('accent', this.#toX(time) - 1, height / 3, 2, height / 3)
    this.#drawFlags(entries)
    for (const { at, status } of requests) {
      if (status === 0 || status >= 400)
        this.#circle(this.#toX(microsOf(at, entries, this.#scale)), height - 4, 2, 'warn')
    }
    this.fill('text', nowX - 1, 0, 2, height)
    if (here !== now) this.fill('text', this.#toX(here) - 1, 0, 2, height)
    if (chosen !== undefined) this.fill('accent', this.#toX(chosen) - 1, 0, 3, height)
  }

  #toX(time: number): number {
    return this.#scale.placeOf(time) * this.width
  }

  /** Draws a column for each pixel: its height is the logarithm of the number of entries. */
  #drawDensity(entries: readonly ControlEntry[]): void {
    const counts = new Uint32Array(Math.ceil(this.width) + 1)
    for (const { time } of entries) counts[Math.max(0, Math.floor(this.#toX(time)))]!++
    const most = Math.log1p(counts.reduce((max, count) => Math.max(max, count), 1))
    for (const [x, count] of counts.entries()) {
      if (count === 0) continue
      const column = Math.max(2, (Math.log1p(count) / most) * (this.height - 10))
      this.fill('faint', x, this.height - column, 1, column, 0.55)
    }
  }

  /** Hatches the future, because it is a forecast. */
  #drawFuture(from: number): void {
    this.fill(this.hatch('line', 1), from, 0, this.width - from, this.height)
  }

  /** Marks what was broken by a flag at the top, and what was repaired by a ring. */
  #drawFlags(entries: readonly ControlEntry[]): void {
    const last = { bad: Number.NEGATIVE_INFINITY, good: Number.NEGATIVE_INFINITY }
    for (const { time, kind } of entries) {
      const tone = toneOf(kind)
      if (tone === 'neutral') continue
      const x = this.#toX(time)
      // Marks that would lie on each other are one.
      if (x - last[tone] < 3) continue
      last[tone] = x
      if (tone === 'bad') this.#flag(x)
      else this.#circle(x, 4, 3, 'ok', 'stroke')
    }
  }

  #flag(x: number): void {
    const { context } = this
    context.beginPath()
    context.moveTo(x, 0)
    context.lineTo(x + 7, 4)
    context.lineTo(x, 8)
    context.fillStyle = this.color('bad')
    context.fill()
  }

  #circle(x: number, y: number, radius: number, color: string, draw: 'fill' | 'stroke' = 'fill'): void {
    const { context } = this
    context.beginPath()
    context.arc(x, y, radius, 0, 2 * Math.PI)
    context.fillStyle = context.strokeStyle = this.color(color)
    context[draw]()
  }
}

/** Returns the time of a request, which has its time as ISO 8601 alone. */
function microsOf(at: string, entries: readonly ControlEntry[], scale: TimelineScale): number {
  const known = entries[0]
  if (known === undefined) return scale.now
  return known.time + (Date.parse(at) - Date.parse(known.at)) * 1000
}
