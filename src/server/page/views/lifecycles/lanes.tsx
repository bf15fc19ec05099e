import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks'
import { Canvas, type Drawing } from '../../parts/drawing/canvas.tsx'
import { useKeys } from '../../parts/use-keys.ts'
import { useSize } from '../../parts/use-size.ts'
import { useSession } from '../../store/session.ts'
import { LaneName } from './lane-name.tsx'
import { findUnder, LaneHover, type Pointed } from './lane-tip.tsx'
import { drawLanes } from './lanes-drawing.ts'
import {
  AXIS_HEIGHT,
  GHOST_ROW,
  type LanesScene,
  PLAIN_ROW,
  shifted,
  type TimeWindow,
  toPlace,
  WHOLE,
  zoomed,
} from './lanes-scene.ts'
import type { Mark, Row } from './lifecycle-model.ts'
import type { TimeScale } from './time-scale.ts'

/** Rows that are in the document beyond each edge of what is visible. */
const OVERSCAN = 6
/** Pixels that the pointer may move in a click. */
const CLICK_SLOP = 4
const ZOOM_STEP = 1.5

interface LanesProps {
  readonly rows: readonly Row[]
  readonly scale: TimeScale
  readonly worldMarks: readonly Mark[]
  readonly now: number
  readonly ghostNow: number | undefined
  readonly ghostWorld: string | undefined
  readonly epochMs: number
  /** The visible time; undefined: all of it. */
  readonly span: Span | undefined
  readonly onSpan: (span: Span | undefined) => void
}

/** A part of the time: microseconds since the epoch of the world. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The rows: names in the document, and the states beside them on one canvas, of which the visible part is drawn. */
export function Lanes({ rows, scale, worldMarks, now, ghostNow, ghostWorld, epochMs, span, onSpan }: LanesProps) {
  const { place } = useSession()
  const box = useRef<HTMLDivElement>(null)
  const lanes = useRef<HTMLDivElement>(null)
  const { height } = useSize(box)
  const { width } = useSize(lanes)
  const top = useSignal(0)
  const pointer = useSignal<Pointed | undefined>(undefined)
  const drag = useRef<{ x: number; y: number; window: TimeWindow; scrollTop: number; isMoved: boolean } | undefined>(
    undefined,
  )
  const shape = ghostWorld === undefined ? PLAIN_ROW : GHOST_ROW
  const selected = place.value.id
  const window = useMemo(
    () => (span === undefined ? WHOLE : { from: scale.toPlace(span.from), to: scale.toPlace(span.to) }),
    [span, scale],
  )
  const setWindow = (next: TimeWindow) =>
    onSpan(next === WHOLE ? undefined : { from: scale.toTime(next.from), to: scale.toTime(next.to) })
  const shownTop = top.value
  const scene: LanesScene = useMemo(
    () => ({
      rows,
      shape,
      scale,
      worldMarks,
      window,
      width,
      top: shownTop,
      now,
      ghostNow,
      epochMs,
      selected,
    }),
    [rows, shape, scale, worldMarks, window, width, shownTop, now, ghostNow, epochMs, selected],
  )
  const draw = useCallback((drawing: Drawing) => drawLanes(drawing, scene), [scene])
  const first = Math.max(0, Math.floor(top.value / shape.height) - OVERSCAN)
  const last = Math.min(rows.length, Math.ceil((top.value + height) / shape.height) + OVERSCAN)

  const selectedIndex = rows.findIndex(({ id }) => id === selected)
  const move = (step: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, selectedIndex + step))]
    if (next !== undefined) place.go({ id: next.id }, 'replace')
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
  useEffect(() => {
    const element = box.current
    if (selectedIndex < 0 || element === null) return
    const begin = selectedIndex * shape.height
    const visible = element.clientHeight - AXIS_HEIGHT
    if (begin < element.scrollTop) element.scrollTop = begin
    else if (begin + shape.height > element.scrollTop + visible) element.scrollTop = begin + shape.height - visible
  }, [selected])

  const zoom = (factor: number, x: number) => setWindow(zoomed(window, factor, toPlace(scene, x)))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const step = (window.to - window.from) / 8
    if (event.key === 'w' || event.key === '+') zoom(1 / ZOOM_STEP, pointer.peek()?.x ?? width / 2)
    else if (event.key === 's' || event.key === '-') zoom(ZOOM_STEP, pointer.peek()?.x ?? width / 2)
    else if (event.key === 'a' || event.key === 'ArrowLeft') setWindow(shifted(window, -step))
    else if (event.key === 'd' || event.key === 'ArrowRight') setWindow(shifted(window, step))
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
      const by =
        toPlace({ window: from.window, width }, 0) - toPlace({ window: from.window, width }, event.clientX - from.x)
      if (from.window !== WHOLE) setWindow(shifted(from.window, by))
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
      onScroll={() => {
        top.value = box.current!.scrollTop
      }}
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
              <LaneName key={row.id} {...{ row, now, ghostNow, ghostWorld }} height={shape.height} />
            ))}
          </ul>
        </div>
        <div class="lanes-window tip-place" ref={lanes} style={{ height: `${height}px` }}>
          <Canvas draw={draw} height={height} label={`States of ${rows.length} things over time`} />
          <div
            class="lanes-pointer"
            role="presentation"
            onPointerDown={event => {
              const { clientX: x, clientY: y } = event
              drag.current = { x, y, window, scrollTop: box.current!.scrollTop, isMoved: false }
              if (event.pointerType === 'mouse') event.currentTarget.setPointerCapture(event.pointerId)
            }}
            onPointerMove={onPointerMove}
            onPointerLeave={() => {
              pointer.value = undefined
            }}
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
                setWindow(shifted(window, (event.deltaX / Math.max(1, width)) * (window.to - window.from)))
              } else zoom(1.0015 ** event.deltaY, event.offsetX)
            }}
          />
          <LaneHover {...{ pointer, scene, ghostWorld }} />
        </div>
      </div>
    </div>
  )
}
