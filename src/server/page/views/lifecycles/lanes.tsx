import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Canvas } from '../../parts/canvas.tsx'
import { formatCount, formatDay, formatDuration, formatTime } from '../../parts/format.ts'
import { clear, reveal, set, useKeys, useSize } from '../../parts/hooks.ts'
import { shifted, type TimeRange, zoomed } from '../../parts/time-range.ts'
import { Glyph, ThingLink, Tip, toneOf } from '../../parts/words.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import {
  AXIS_HEIGHT,
  compareLives,
  GHOST_HEIGHT,
  GHOST_ROW,
  isoOf,
  type LanesScene,
  PLAIN_ROW,
  placeSegments,
  RIGHT_MARGIN,
  spanOf,
  toPlace,
  toTime,
  toX,
  windowOf,
} from './lane-places.ts'
import { LanesBrush } from './lanes-drawing.ts'
import { type Mark, type Row, type Segment, styleOfState, wordsOfState } from './lifecycle-model.ts'

/** Rows that are in the document beyond each edge of what is visible. */
const OVERSCAN = 6
/** Pixels that the pointer may move in a click. */
const CLICK_SLOP = 4
const ZOOM_STEP = 1.5

interface LanesProps extends Omit<LanesScene, 'shape' | 'window' | 'width' | 'top' | 'selected'> {
  /** The visible time; undefined: all of it. */
  readonly span: TimeRange | undefined
  readonly onSpan: (span: TimeRange | undefined) => void
}

/** The rows: names in the document, and the states beside them on one canvas, of which the visible part is drawn. */
export function Lanes({ span, onSpan, ...known }: LanesProps) {
  const { rows, scale, ghostWorld } = known
  const { place } = useSession()
  const box = useRef<HTMLDivElement>(null)
  const lanes = useRef<HTMLDivElement>(null)
  const { height } = useSize(box)
  const { width } = useSize(lanes)
  const top = useSignal(0)
  const pointer = useSignal<Pointed | undefined>(undefined)
  const drag = useRef<{ x: number; y: number; window: TimeRange; scrollTop: number; isMoved: boolean }>(undefined)
  const shape = ghostWorld === undefined ? PLAIN_ROW : GHOST_ROW
  const selected = place.value.id
  const window = useMemo(() => windowOf(span, scale), [span, scale])
  const setWindow = (next: TimeRange) => onSpan(spanOf(next, scale))
  const scene: LanesScene = { ...known, shape, window, width, top: top.value, selected }
  const first = Math.max(0, Math.floor(top.value / shape.height) - OVERSCAN)
  const last = Math.min(rows.length, Math.ceil((top.value + height) / shape.height) + OVERSCAN)

  const selectedIndex = rows.findIndex(({ id }) => id === selected)
  const move = (step: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, selectedIndex + step))]
    if (next !== undefined) place.go({ id: next.id }, 'replace')
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
  useEffect(() => {
    const begin = selectedIndex * shape.height
    if (selectedIndex >= 0) reveal(box.current!, begin, begin + shape.height, AXIS_HEIGHT)
  }, [selected])

  const zoom = (factor: number, x: number) => setWindow(zoomed(window, factor, toPlace(scene, x)))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'w' || event.key === '+') zoom(1 / ZOOM_STEP, pointer.peek()?.x ?? width / 2)
    else if (event.key === 's' || event.key === '-') zoom(ZOOM_STEP, pointer.peek()?.x ?? width / 2)
    else if (event.key === 'a' || event.key === 'ArrowLeft') setWindow(shifted(window, -1 / 8))
    else if (event.key === 'd' || event.key === 'ArrowRight') setWindow(shifted(window, 1 / 8))
    else if (event.key === '0' || event.key === 'Home') onSpan(undefined)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const onPointerMove = (event: PointerEvent) => {
    const { offsetX: x, offsetY: y } = event
    const from = drag.current
    if (from !== undefined && event.buttons !== 0) {
      from.isMoved ||= Math.hypot(event.clientX - from.x, event.clientY - from.y) > CLICK_SLOP
      if (!from.isMoved) return
      setWindow(shifted(from.window, (from.x - event.clientX) / Math.max(1, width - RIGHT_MARGIN)))
      box.current!.scrollTop = from.scrollTop - (event.clientY - from.y)
      pointer.value = undefined
      return
    }
    pointer.value = { x, y, under: findUnder(scene, x, y) }
  }
  return (
    <div
      class="lanes"
      ref={box}
      onScroll={() => set(top, box.current!.scrollTop)}
      onKeyDown={onKeyDown}
      data-arrow-keys
      tabIndex={0}
      role="group"
      aria-label="Lanes: w and s zoom, a and d move in time"
    >
      <div class="lanes-space" style={{ height: `${rows.length * shape.height + AXIS_HEIGHT}px` }}>
        <div class="lane-column">
          <div class="lane-head faint" style={{ height: `${AXIS_HEIGHT}px` }}>
            {ghostWorld === undefined ? 'Time' : `Time, and ${ghostWorld} below`}
          </div>
          <ul class="lane-names plain" style={{ paddingTop: `${first * shape.height}px` }}>
            {rows.slice(first, last).map(row => (
              <LaneName key={row.id} row={row} scene={scene} />
            ))}
          </ul>
        </div>
        <div class="lanes-window tip-place" ref={lanes} style={{ height: `${height}px` }}>
          <Canvas
            brush={LanesBrush}
            scene={scene}
            height={height}
            label={`States of ${rows.length} things over time`}
          />
          <div
            class="lanes-pointer"
            role="presentation"
            onPointerDown={event => {
              const { clientX: x, clientY: y } = event
              drag.current = { x, y, window, scrollTop: box.current!.scrollTop, isMoved: false }
              if (event.pointerType === 'mouse') event.currentTarget.setPointerCapture(event.pointerId)
            }}
            onPointerMove={onPointerMove}
            onPointerLeave={clear(pointer)}
            onPointerUp={event => {
              if (drag.current?.isMoved !== false) return
              const row = findUnder(scene, event.offsetX, event.offsetY)?.row
              if (row !== undefined) place.go({ id: row.id })
            }}
            onWheel={event => {
              // The wheel zooms, and scrolls with the shift key. A horizontal wheel moves in time.
              if (event.shiftKey) return
              event.preventDefault()
              if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
                setWindow(shifted(window, event.deltaX / Math.max(1, width)))
              } else zoom(1.0015 ** event.deltaY, event.offsetX)
            }}
          />
          <LaneHover pointer={pointer} scene={scene} />
        </div>
      </div>
    </div>
  )
}

const MICROS = 1_000_000

/** The name of a row with its state, in words. */
function LaneName({ row: { id, kind, name, own, ghost }, scene }: { row: Row; scene: LanesScene }) {
  const { now: ownNow, ghostNow, ghostWorld, shape } = scene
  const life = own ?? ghost!
  const { color, glyph } = styleOfState(life.state)
  const since = life.segments.at(-1)
  const requests = life.requests ?? 0
  const isOther = useMemo(() => {
    if (ghost === undefined || own === undefined || ghostNow === undefined) return false
    return compareLives(ghost, own, { ghostNow, ownNow }).some(({ isSame }) => !isSame)
  }, [ghost, own, ghostNow, ownNow])
  const other =
    own === undefined
      ? `only in ${ghostWorld}`
      : ghostNow !== undefined && ghost === undefined
        ? `not in ${ghostWorld}`
        : isOther
          ? `≠ ${ghostWorld}`
          : undefined
  return (
    <li class="lane-name" style={{ height: `${shape.height}px` }}>
      <span class="lane-title">
        <ThingLink id={id} text={name === '' ? id : name} />
        {name !== '' && name !== id && <span class="faint mono lane-id">{id}</span>}
      </span>
      <span class="lane-state faint">
        <Glyph of={glyph} tone={color} /> <span class="wide-only">{kind} </span>
        {wordsOfState(life.state)}
        {other !== undefined && <span class="warn"> · {other}</span>}
        {since !== undefined && since.end === null && own !== undefined && (
          <> · {formatDuration(Math.max(0, ownNow - since.begin) / MICROS)}</>
        )}
        {requests > 0 && <> · {formatCount(requests)} req.</>}
      </span>
    </li>
  )
}

/** How near the pointer has to be to a mark, in pixels. */
const MARK_REACH = 6
const MAX_MARKS = 4
const TONE_GLYPHS = { bad: '▼', good: '▲', neutral: '•' } as const
const TONE_CLASSES = { bad: 'bad', good: 'ok', neutral: '' } as const

/** What lies under the pointer. */
interface Under {
  /** Undefined on the axis. */
  readonly row: Row | undefined
  readonly segment: Segment | undefined
  readonly marks: readonly Mark[]
  /** Whether the state is that of the other world. */
  readonly isGhost: boolean
}

/** Returns what lies at a place of the drawing. */
function findUnder(scene: LanesScene, x: number, y: number): Under | undefined {
  const { rows, shape, top, now, ghostNow, width } = scene
  const isNear = ({ time }: Mark) => Math.abs(toX(scene, time) - x) <= MARK_REACH
  if (y < AXIS_HEIGHT) {
    const marks = scene.worldMarks.filter(mark => toneOf(mark.kind) !== 'neutral' && isNear(mark))
    return marks.length === 0 ? undefined : { row: undefined, segment: undefined, marks, isGhost: false }
  }
  const inRows = y - AXIS_HEIGHT + top
  const row = rows[Math.floor(inRows / shape.height)]
  if (row === undefined) return undefined
  const within = inRows % shape.height
  const isGhost = shape.ghost > 0 && within >= shape.ghost - 2 && within <= shape.ghost + GHOST_HEIGHT + 2
  const nothing = { row, segment: undefined, marks: [], isGhost }
  if (isGhost) {
    if (row.ghost === undefined || ghostNow === undefined) return nothing
    const time = toTime(scene, x)
    const part = compareLives(row.ghost, row.own, { ownNow: now, ghostNow }).find(
      ({ begin, end }) => begin <= time && time < end,
    )
    return { ...nothing, segment: part?.segment }
  }
  if (row.own === undefined) return nothing
  const placed = placeSegments(row.own, time => toX(scene, time), now, width).find(
    ({ left, right }) => left <= x && x < right,
  )
  return { ...nothing, segment: placed?.segment, marks: row.own.marks.filter(isNear) }
}

/** Where the pointer is, and what lies there. */
interface Pointed {
  readonly x: number
  readonly y: number
  readonly under: Under | undefined
}

/** A line at the time under the pointer, and what lies there. It is drawn apart from the lanes, because it moves often. */
function LaneHover({ pointer, scene }: { pointer: Signal<Pointed | undefined>; scene: LanesScene }) {
  const pointed = pointer.value
  if (pointed === undefined) return null
  const { x, y, under } = pointed
  return (
    <>
      <div class="lanes-cursor" style={{ left: `${x}px` }}>
        <span class="mono">{isoOf(scene, toTime(scene, x)).slice(11, 19)}</span>
      </div>
      {under !== undefined && <LaneTip {...{ x, y, under, scene }} />}
    </>
  )
}

interface LaneTipProps extends Pointed {
  readonly under: Under
  readonly scene: LanesScene
}

/** Says which state lies under the pointer, since when, for how long, and why. */
function LaneTip({ x, y, under: { row, segment, marks, isGhost }, scene }: LaneTipProps) {
  const { ghostWorld, ghostNow = scene.now } = scene
  const now = isGhost ? ghostNow : scene.now
  const { value: why } = useAnswer(
    'GET /_sim/explain/{subject}',
    segment === undefined || segment.seq === 0 ? undefined : { subject: String(segment.seq) },
    { refresh: 'once', ...(isGhost && ghostWorld !== undefined && { world: ghostWorld }) },
  )
  const at = toTime(scene, x)
  const replicas = isGhost ? undefined : row?.own?.replicas.findLast(({ time }) => time <= at)
  return (
    <Tip x={x} y={y} width={scene.width}>
      {row !== undefined && <strong>{row.name === '' ? row.id : row.name}</strong>}
      {isGhost && <span class="faint"> in {ghostWorld}</span>}
      {segment !== undefined && (
        <>
          <div>
            <span class={styleOfState(segment.state).color} aria-hidden="true">
              {styleOfState(segment.state).glyph}
            </span>{' '}
            {wordsOfState(segment.state)} since {formatDay(isoOf(scene, segment.begin))}{' '}
            <span class="mono">{formatTime(isoOf(scene, segment.begin))}</span>, for{' '}
            {formatDuration(((segment.end ?? now) - segment.begin) / MICROS)}
            {segment.end === null && ' so far'}
          </div>
          {replicas !== undefined && (
            <div class="faint">
              {replicas.ready} ready{replicas.starting > 0 && `, ${replicas.starting} starting`}
            </div>
          )}
          {why?.sentences.slice(1).map(sentence => (
            <div key={sentence}>{sentence}</div>
          ))}
        </>
      )}
      {marks.slice(0, MAX_MARKS).map(mark => (
        <div key={mark.seq} class={TONE_CLASSES[toneOf(mark.kind)]}>
          {TONE_GLYPHS[toneOf(mark.kind)]} <span class="mono">{formatTime(isoOf(scene, mark.time))}</span>{' '}
          {mark.sentence}
        </div>
      ))}
      {marks.length > MAX_MARKS && <div class="faint">and {marks.length - MAX_MARKS} more</div>}
    </Tip>
  )
}
