/** Draws the timeline: how much happened when, what was broken when, and what is coming. */
import type { ControlEntry, ControlRequest } from '../../../control/client/index.ts'
import type { Drawing } from '../../parts/drawing/canvas.tsx'
import { toneOf } from '../../parts/tone.ts'
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

export function drawTimeline({ context, width, height, palette }: Drawing, scale: TimelineScale, marks: TimelineMarks) {
  const nowX = scale.placeOf(scale.now) * width
  const keptX = scale.placeOf(marks.earliest) * width
  context.fillStyle = palette.color('sunken')
  context.fillRect(keptX, 0, nowX - keptX, height)
  drawDensity(context, width, height, scale, marks.entries, palette.color('faint'))
  drawFuture(context, nowX, width, height, palette.color('line'))
  context.fillStyle = palette.color('accent')
  for (const time of marks.coming)
    if (time > scale.now) context.fillRect(scale.placeOf(time) * width - 1, height / 3, 2, height / 3)
  drawFlags(context, width, scale, marks.entries, palette)
  context.fillStyle = palette.color('warn')
  for (const { at, status } of marks.requests) {
    if (status === 0 || status >= 400)
      dot(context, scale.placeOf(microsOf(at, marks.entries, scale)) * width, height - 4)
  }
  context.fillStyle = palette.color('text')
  context.fillRect(nowX - 1, 0, 2, height)
  if (marks.here !== scale.now) context.fillRect(scale.placeOf(marks.here) * width - 1, 0, 2, height)
  if (marks.chosen === undefined) return
  context.fillStyle = palette.color('accent')
  context.fillRect(scale.placeOf(marks.chosen) * width - 1, 0, 3, height)
}

/** Draws a column for each pixel: its height is the logarithm of the number of entries. */
function drawDensity(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  scale: TimelineScale,
  entries: readonly ControlEntry[],
  color: string,
): void {
  const counts = new Uint32Array(Math.ceil(width) + 1)
  for (const { time } of entries) counts[Math.max(0, Math.floor(scale.placeOf(time) * width))]!++
  const most = Math.log1p(counts.reduce((max, count) => Math.max(max, count), 1))
  context.fillStyle = color
  context.globalAlpha = 0.55
  for (const [x, count] of counts.entries()) {
    if (count === 0) continue
    const column = Math.max(2, (Math.log1p(count) / most) * (height - 10))
    context.fillRect(x, height - column, 1, column)
  }
  context.globalAlpha = 1
}

/** Hatches the future, because it is a forecast. */
function drawFuture(context: CanvasRenderingContext2D, from: number, to: number, height: number, color: string): void {
  context.save()
  context.beginPath()
  context.rect(from, 0, to - from, height)
  context.clip()
  context.strokeStyle = color
  context.beginPath()
  for (let x = from - height; x < to; x += 8) {
    context.moveTo(x, height)
    context.lineTo(x + height, 0)
  }
  context.stroke()
  context.restore()
}

/** Marks what was broken by a flag at the top, and what was repaired by a ring. */
function drawFlags(
  context: CanvasRenderingContext2D,
  width: number,
  scale: TimelineScale,
  entries: readonly ControlEntry[],
  palette: Drawing['palette'],
): void {
  context.fillStyle = palette.color('bad')
  context.strokeStyle = palette.color('ok')
  const last = { bad: Number.NEGATIVE_INFINITY, good: Number.NEGATIVE_INFINITY }
  for (const { time, kind } of entries) {
    const tone = toneOf(kind)
    if (tone === 'neutral') continue
    const x = scale.placeOf(time) * width
    // Marks that would lie on each other are one.
    if (x - last[tone] < 3) continue
    last[tone] = x
    if (tone === 'bad') flag(context, x)
    else ring(context, x)
  }
}

function flag(context: CanvasRenderingContext2D, x: number): void {
  context.beginPath()
  context.moveTo(x, 0)
  context.lineTo(x + 7, 4)
  context.lineTo(x, 8)
  context.fill()
}

function ring(context: CanvasRenderingContext2D, x: number): void {
  context.beginPath()
  context.arc(x, 4, 3, 0, 2 * Math.PI)
  context.stroke()
}

function dot(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.beginPath()
  context.arc(x, y, 2, 0, 2 * Math.PI)
  context.fill()
}

/** Returns the time of a request, which has its time as ISO 8601 alone. */
function microsOf(at: string, entries: readonly ControlEntry[], scale: TimelineScale): number {
  const known = entries[0]
  if (known === undefined) return scale.now
  return known.time + (Date.parse(at) - Date.parse(known.at)) * 1000
}
