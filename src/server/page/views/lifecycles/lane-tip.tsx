import type { Signal } from '@preact/signals'
import { formatDay, formatDuration, formatTime } from '../../parts/format.ts'
import { Tip } from '../../parts/tip.tsx'
import { toneOf } from '../../parts/tone.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { compareLives, placeSegments } from './lane-places.ts'
import { AXIS_HEIGHT, GHOST_HEIGHT, isoOf, type LanesScene, toTime, toX } from './lanes-scene.ts'
import type { Mark, Row, Segment } from './lifecycle-model.ts'
import { styleOfState, wordsOfState } from './state-styles.ts'

const MICROS = 1_000_000
/** How near the pointer has to be to a mark, in pixels. */
const MARK_REACH = 6
const MAX_MARKS = 4
const TONE_GLYPHS = { bad: '▼', good: '▲', neutral: '•' } as const
const TONE_CLASSES = { bad: 'bad', good: 'ok', neutral: '' } as const

/** What lies under the pointer. */
export interface Under {
  /** Undefined on the axis. */
  readonly row: Row | undefined
  readonly segment: Segment | undefined
  readonly marks: readonly Mark[]
  /** Whether the state is that of the other world. */
  readonly isGhost: boolean
}

/** Returns what lies at a place of the drawing. */
export function findUnder(scene: LanesScene, x: number, y: number): Under | undefined {
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
export interface Pointed {
  readonly x: number
  readonly y: number
  readonly under: Under | undefined
}

interface LaneHoverProps {
  readonly pointer: Signal<Pointed | undefined>
  readonly scene: LanesScene
  readonly ghostWorld: string | undefined
}

/** A line at the time under the pointer, and what lies there. It is drawn apart from the lanes, because it moves often. */
export function LaneHover({ pointer, scene, ghostWorld }: LaneHoverProps) {
  const pointed = pointer.value
  if (pointed === undefined) return null
  const { x, y, under } = pointed
  return (
    <>
      <div class="lanes-cursor" style={{ left: `${x}px` }}>
        <span class="mono">{isoOf(scene, toTime(scene, x)).slice(11, 19)}</span>
      </div>
      {under !== undefined && <LaneTip {...{ x, y, under, scene, ghostWorld }} />}
    </>
  )
}

interface LaneTipProps {
  readonly x: number
  readonly y: number
  readonly under: Under
  readonly scene: LanesScene
  readonly ghostWorld: string | undefined
}

/** Says which state lies under the pointer, since when, for how long, and why. */
function LaneTip({ x, y, under: { row, segment, marks, isGhost }, scene, ghostWorld }: LaneTipProps) {
  const now = isGhost ? (scene.ghostNow ?? scene.now) : scene.now
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
