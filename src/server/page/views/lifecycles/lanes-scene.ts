/** What the lanes show: the rows, the scale of time, and where each of both lies in the drawing. */
import type { Mark, Row } from './lifecycle-model.ts'
import type { TimeScale } from './time-scale.ts'

/** Height of the axis above the rows. */
export const AXIS_HEIGHT = 28
/** Space at the right for what happens next. */
const RIGHT_MARGIN = 20

/** Heights of a row and its parts in pixels. */
export interface RowShape {
  readonly height: number
  /** From the top of the row. */
  readonly bar: number
  readonly replicas: number
  readonly ghost: number
}

export const PLAIN_ROW: RowShape = { height: 46, bar: 6, replicas: 26, ghost: 0 }
export const GHOST_ROW: RowShape = { height: 60, bar: 6, replicas: 26, ghost: 44 }
export const BAR_HEIGHT = 17
export const REPLICAS_HEIGHT = 13
export const GHOST_HEIGHT = 9

/** The visible part of the time, as places of the scale. */
export interface TimeWindow {
  readonly from: number
  readonly to: number
}

export interface LanesScene {
  readonly rows: readonly Row[]
  readonly shape: RowShape
  readonly scale: TimeScale
  readonly worldMarks: readonly Mark[]
  readonly window: TimeWindow
  readonly width: number
  /** First visible pixel of the rows. */
  readonly top: number
  /** The time of this world and of the other one: microseconds since the epoch of the world. */
  readonly now: number
  readonly ghostNow: number | undefined
  /** The epoch of the world: milliseconds since 1970. */
  readonly epochMs: number
  /** Id of the row whose inspector is open. */
  readonly selected: string | undefined
}

/** Returns a time of the world as ISO 8601. */
export function isoOf({ epochMs }: Pick<LanesScene, 'epochMs'>, time: number): string {
  return new Date(epochMs + time / 1000).toISOString()
}

export function toX({ scale, window, width }: LanesScene, time: number): number {
  return ((scale.toPlace(time) - window.from) / (window.to - window.from)) * (width - RIGHT_MARGIN)
}

/** Returns the place of the scale at a pixel. */
export function toPlace({ window, width }: Pick<LanesScene, 'window' | 'width'>, x: number): number {
  return window.from + (x / Math.max(1, width - RIGHT_MARGIN)) * (window.to - window.from)
}

export function toTime(scene: LanesScene, x: number): number {
  return scene.scale.toTime(toPlace(scene, x))
}

export const WHOLE: TimeWindow = { from: 0, to: 1 }
const LEAST_WINDOW = 1e-6

/** Returns a window of another width around a place. Below 1, the factor shows less time. */
export function zoomed({ from, to }: TimeWindow, factor: number, around: number): TimeWindow {
  const width = Math.max(LEAST_WINDOW, (to - from) * factor)
  if (width >= 1) return WHOLE
  return shifted({ from: around - ((around - from) / (to - from)) * width, to: 0 }, 0, width)
}

/** Returns a window that lies later by a part of the scale, within the scale. */
export function shifted({ from, to }: TimeWindow, by: number, width: number = to - from): TimeWindow {
  const begin = Math.min(Math.max(0, from + by), 1 - width)
  return { from: begin, to: begin + width }
}
