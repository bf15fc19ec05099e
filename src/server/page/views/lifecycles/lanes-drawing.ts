/** Draws the lanes of lifecycles: the axis, the states as bars, the replicas as steps, and the ghost of another world. */

import { Brush, circle, roundBox } from '../../parts/canvas.tsx'
import { formatDuration } from '../../parts/format.ts'
import { toneOf } from '../../parts/words.tsx'
import {
  AXIS_HEIGHT,
  BAR_HEIGHT,
  compareLives,
  GHOST_HEIGHT,
  isoOf,
  type LanesScene,
  placeSegments,
  REPLICAS_HEIGHT,
  tickStep,
  toTime,
  toX,
} from './lane-places.ts'
import { type Lifecycle, type Mark, type Row, styleOfState, wordsOfState } from './lifecycle-model.ts'

const MICROS = 1_000_000
const DAY = 86_400 * MICROS
/** Least pixels between two ticks. */
const TICK_ROOM = 84

export class LanesBrush extends Brush<LanesScene> {
  /** They are drawn last, because compressed time must not hide them. */
  readonly #labels: (() => void)[] = []

  draw(): void {
    const { context } = this
    const { rows, shape, top, now, ghostNow } = this.scene
    const last = Math.min(rows.length, Math.ceil((top + this.height) / shape.height))
    context.save()
    context.beginPath()
    context.rect(0, AXIS_HEIGHT, this.width, this.height)
    context.clip()
    this.#drawTicks('lines')
    for (let index = Math.floor(top / shape.height); index < last; index++) {
      this.#drawRow(rows[index]!, AXIS_HEIGHT + index * shape.height - top)
    }
    this.#drawGaps('bands')
    for (const drawLabel of this.#labels) drawLabel()
    this.#drawWorldMarks('lines')
    if (ghostNow !== undefined && ghostNow !== now) this.#drawNow(ghostNow, 'warn', [2, 3])
    this.#drawNow(now, 'accent', [])
    context.restore()
    this.fill('panel', 0, 0, this.width, AXIS_HEIGHT)
    this.fill('line', 0, AXIS_HEIGHT - 1, this.width, 1)
    this.#drawTicks('labels')
    this.#drawGaps('labels')
    this.#drawWorldMarks('marks')
  }

  #drawRow(row: Row, y: number): void {
    const { shape, selected, now, ghostNow } = this.scene
    if (row.id === selected) {
      this.fill('accent', 0, y, this.width, shape.height, 0.1)
    }
    this.fill('line', 0, y + shape.height - 1, this.width, 1, 0.6)
    if (row.own !== undefined) {
      for (const { segment, left, right } of placeSegments(row.own, this.#toX, now, this.width)) {
        this.#drawBar(segment.state, left, right, y + shape.bar, BAR_HEIGHT)
      }
      this.#drawReplicas(row.own, y + shape.replicas)
      this.#drawMarks(row.own.marks, y + 1)
    }
    if (row.ghost !== undefined && ghostNow !== undefined) this.#drawGhost(row.ghost, row.own, y + shape.ghost)
  }

  #drawBar(state: string, left: number, right: number, y: number, height: number): void {
    const { color, glyph, pattern } = styleOfState(state)
    const [begin, end] = [Math.max(-4, left), Math.min(this.width + 4, right)]
    const width = Math.max(1, end - begin - 1)
    const bar = roundBox(begin, y, width, height, Math.min(3, width / 2))
    this.fillShape(color, bar, pattern === 'empty' ? 0.08 : 0.24)
    if (pattern === 'hatch' || pattern === 'cross') this.fillShape(this.hatch(color, 0.3, pattern), bar)
    this.fill(color, begin, y, Math.min(3, width), height)
    this.fill(color, begin, y + height - 2, width, 2)
    // A state that began before the visible time has its label at the edge.
    const from = Math.max(begin + 7, 6)
    const room = end - from - 4
    if (room < 8) return
    this.#labels.push(() => {
      this.setFont('11px')
      const label = `${glyph} ${wordsOfState(state)}`
      this.write(this.widthOf(label) <= room ? label : glyph, 'text', from, y + height / 2)
    })
  }

  #drawReplicas({ replicas }: Lifecycle, y: number): void {
    if (replicas.length === 0) return
    const { now } = this.scene
    const most = Math.max(1, ...replicas.map(({ ready, starting }) => ready + starting))
    const levelOf = (count: number) => y + REPLICAS_HEIGHT - (count / most) * (REPLICAS_HEIGHT - 1)
    this.setFont('10px', 'left', 'bottom')
    let drawn = -1
    for (const [index, { time, ready, starting }] of replicas.entries()) {
      const right = this.#toX(replicas[index + 1]?.time ?? now)
      // Of many steps within a pixel, the last one is drawn.
      if (right < drawn + 1) continue
      const left = Math.max(drawn, this.#toX(time))
      if (left > this.width) break
      drawn = right
      const width = Math.max(1, right - left)
      if (starting > 0) {
        const height = levelOf(ready) - levelOf(ready + starting)
        this.fill(this.hatch('warn', 0.5), left, levelOf(ready + starting), width, height)
      }
      this.fill('ok', left, levelOf(ready), width, y + REPLICAS_HEIGHT - levelOf(ready), 0.18)
      this.fill('ok', left, levelOf(ready) - 1, width, 1.5)
      const label = `${ready}${starting > 0 ? `+${starting}` : ''}`
      const from = Math.max(left, 0) + 4
      if (right - from < 12 || right - from < this.widthOf(label) + 6) continue
      this.fill('panel', from - 2, y + 2, this.widthOf(label) + 4, REPLICAS_HEIGHT - 2, 0.8)
      this.write(label, 'text', from, y + REPLICAS_HEIGHT)
    }
  }

  /** Draws triangles down for trouble, up for repairs, and dots for other marks. Equal marks on the same pixels are one. */
  #drawMarks(marks: readonly Mark[], y: number): void {
    for (const tone of ['neutral', 'good', 'bad'] as const) {
      let last = Number.NEGATIVE_INFINITY
      for (const mark of marks) {
        const x = this.#toX(mark.time)
        if (toneOf(mark.kind) !== tone || x < -6 || x > this.width + 6 || x - last < 3) continue
        last = x
        const [base, tip] = tone === 'bad' ? [y, y + 8] : [y + 8, y]
        const shape = tone === 'neutral' ? circle(x, y + 4, 2.5) : new Path2D(`M${x - 4.5} ${base}h9L${x} ${tip}Z`)
        this.fillShape({ bad: 'bad', good: 'ok', neutral: 'faint' }[tone], shape)
        this.stroke('panel', shape)
      }
    }
  }

  /** Draws lines through all rows for what went wrong in the world. */
  #drawWorldMarks(part: 'lines' | 'marks'): void {
    const { worldMarks } = this.scene
    if (part === 'marks') {
      const shown = worldMarks.filter(({ kind }) => toneOf(kind) !== 'neutral')
      this.#drawMarks(shown, AXIS_HEIGHT - 9)
      return
    }
    const bad = worldMarks.filter(({ kind }) => toneOf(kind) === 'bad')
    let last = Number.NEGATIVE_INFINITY
    for (const { time } of bad) {
      const x = Math.round(this.#toX(time))
      if (x < 0 || x > this.width || x === last) continue
      last = x
      for (let y = AXIS_HEIGHT; y < this.height; y += 6) this.fill('bad', x, y, 1, 3, 0.35)
    }
  }

  /** Draws the states of the other world: thin where both are equal, and as a bar where they differ. */
  #drawGhost(ghost: Lifecycle, own: Lifecycle | undefined, y: number): void {
    const { now: ownNow, ghostNow = 0 } = this.scene
    for (const { segment, begin, end, isSame, ready } of compareLives(ghost, own, { ownNow, ghostNow })) {
      const [left, right] = [Math.max(-4, this.#toX(begin)), Math.min(this.width + 4, this.#toX(end))]
      if (right < 0 || left > this.width) continue
      const { color, glyph } = styleOfState(segment.state)
      const width = Math.max(2, right - left - 1)
      if (isSame) {
        this.fill(color, left, y + GHOST_HEIGHT - 3, width, 2, 0.45)
        continue
      }
      this.fill(color, left, y, width, GHOST_HEIGHT, 0.3)
      this.stroke(color, roundBox(left + 0.5, y + 0.5, Math.max(1, width - 1), GHOST_HEIGHT - 1, 0))
      if (right - left < 12) continue
      const label = `≠ ${glyph} ${wordsOfState(segment.state)}${ready === undefined ? '' : `, ${ready} ready`}`
      const from = Math.max(left, 0) + 4
      this.#labels.push(() => {
        this.setFont('9px')
        if (right - from > this.widthOf(label)) this.write(label, 'text', from, y + GHOST_HEIGHT / 2 + 0.5)
      })
    }
  }

  #drawGaps(part: 'bands' | 'labels'): void {
    for (const { begin, end } of this.scene.scale.gaps) {
      const [left, right] = [this.#toX(begin), this.#toX(end)]
      if (right < 0 || left > this.width) continue
      if (part === 'bands') {
        this.fill('sunken', left, AXIS_HEIGHT, right - left, this.height, 0.72)
        this.fill('line', left, AXIS_HEIGHT, 1, this.height)
        this.fill('line', right - 1, AXIS_HEIGHT, 1, this.height)
        continue
      }
      this.fill('sunken', left, 0, right - left, AXIS_HEIGHT - 1)
      this.setFont('11px', 'center')
      const words = formatDuration((end - begin) / MICROS)
      const rough = words.split(' ').slice(0, 2).join(' ')
      const label = [`‖ ${words} ‖`, `‖ ${rough} ‖`, `‖${rough}‖`, '‖'].find(
        text => this.widthOf(text) <= right - left - 2,
      )
      if (label !== undefined) this.write(label, 'faint', (left + right) / 2, AXIS_HEIGHT / 2)
    }
  }

  #drawTicks(part: 'lines' | 'labels'): void {
    const { width } = this
    const { scale, window } = this.scene
    const pixelsPerMicro = (width / (window.to - window.from)) * scale.slope
    const step = tickStep(TICK_ROOM / pixelsPerMicro)
    const isFine = step < 60 * MICROS
    this.setFont('11px', 'left', 'middle', this.mono)
    let free = Number.NEGATIVE_INFINITY
    let day = ''
    const [from, to] = [toTime(this.scene, 0), toTime(this.scene, width)]
    let tick = this.#afterGaps(Math.ceil(from / step) * step, step)
    // Ticks within a compressed gap are skipped as a whole, so that a month without events is not a loop of seconds.
    for (; tick <= to; tick = this.#afterGaps(tick + step, step)) {
      const x = this.#toX(tick)
      if (x < 0 || x < free) continue
      if (part === 'lines') {
        this.fill('line', Math.round(x), AXIS_HEIGHT, 1, this.height, 0.5)
        continue
      }
      const iso = isoOf(this.scene, tick)
      const isNewDay = iso.slice(5, 10) !== day
      const time = iso.slice(11, isFine ? 19 : 16)
      const label = step >= DAY ? iso.slice(5, 10) : isNewDay ? `${iso.slice(5, 10)} ${time}` : time
      const end = x + 4 + this.widthOf(label)
      if (end > width || this.#touchesGap(x, end)) continue
      day = iso.slice(5, 10)
      this.fill('line', Math.round(x), AXIS_HEIGHT - 8, 1, 7)
      this.write(label, 'faint', x + 4, AXIS_HEIGHT / 2)
      free = end + 10
    }
  }

  #drawNow(time: number, color: string, dash: readonly number[]): void {
    const x = Math.round(this.#toX(time)) + 0.5
    if (x >= 0 && x <= this.width) this.stroke(color, new Path2D(`M${x} ${AXIS_HEIGHT}V${this.height}`), 1.5, dash)
  }

  readonly #toX = (time: number): number => toX(this.scene, time)

  #touchesGap(left: number, right: number): boolean {
    return this.scene.scale.gaps.some(({ begin, end }) => this.#toX(begin) < right && this.#toX(end) > left)
  }

  /** Returns the first tick from a time on that lies in no gap. */
  #afterGaps(tick: number, step: number): number {
    const { gaps } = this.scene.scale
    return gaps.reduce((at, { begin, end }) => (at > begin && at < end ? Math.ceil(end / step) * step : at), tick)
  }
}
