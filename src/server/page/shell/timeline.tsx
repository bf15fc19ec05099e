/** A scrubber over the past and the near future: forward, it moves time; back, it shows the past in a fork. */

import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ControlEntry } from '../../control/client/index.ts'
import { Button } from '../parts/buttons.tsx'
import { Brush, Canvas, circle } from '../parts/canvas.tsx'
import { formatDay, formatDuration, formatTime } from '../parts/format.ts'
import { clear } from '../parts/hooks.ts'
import { CornerScale } from '../parts/time-range.ts'
import { Tip, toneOf } from '../parts/words.tsx'
import type { AnswersByRoute } from '../store/ask.ts'
import { Feed } from '../store/feed.ts'
import { advanceTo, type Clock, DEFAULT_WORLD, type Session, useSession, type Visit } from '../store/session.ts'
import { useAnswer, useKept } from '../store/use-answer.ts'

const HEIGHT = 36
/** Steps of the range over the whole width. */
const STEPS = 2_000
/** So near to now, a place on the timeline is now: a share of its width. */
const NOW_SHARE = 0.003
/** How far the future goes. */
const AHEAD = '1h'
const AHEAD_MICROS = 3_600_000_000
/** Least real milliseconds between two forecasts, and how long the world rests before one. Each is a fork that moves. */
const AHEAD_PAUSE_MS = 2_500
const AHEAD_REST_MS = 400
/** Least real milliseconds between two looks at where the past begins. */
const PAST_PAUSE_MS = 2_500

/** What a drag is measured by. It stays the same until the drag ends, while the world and the layout may move on. */
interface Hold {
  readonly scale: TimelineScale
  readonly isoOf: (time: number) => string
}

export function Timeline() {
  const session = useSession()
  const { origin } = session.place.value
  const shown = session.world.value
  const visited = isUnchanged(session) ? session.visit.value : undefined
  // A visited past stays on the timeline of the world it belongs to. A fork that went its own way has its own.
  const base = visited?.of ?? shown
  const feed = useFeedOf(session, base)
  const revision = feed.revision.value
  const clock = useClockOf(session, base)
  const { value: past } = useAnswer('GET /_sim/past', {}, { world: base, pauseMs: PAST_PAUSE_MS })
  const { value: ahead } = useAnswer(
    'GET /_sim/ahead',
    { by: AHEAD, limit: 12 },
    { pauseMs: AHEAD_PAUSE_MS, restMs: AHEAD_REST_MS },
  )
  useEffect(() => {
    if (origin !== undefined && base === shown) session.ask('POST /_sim/past', {}, { world: shown }).catch(() => {})
  }, [base, shown])

  const chosen = useSignal<number | undefined>(undefined)
  const hold = useRef<Hold | undefined>(undefined)
  /** Where the pointer is, in pixels. */
  const pointer = useSignal<number | undefined>(undefined)
  const bar = useRef<HTMLInputElement>(null)
  const isMoving = useRef(false)
  const now = microsOf(clock)
  const here = visited === undefined ? now : microsOf(session.clock.value)
  // Without a past to go back to, the earliest time to choose is now.
  const earliest = past?.kept_part?.from_time ?? now
  const begin = past?.kept_part?.from_time ?? feed.entries[0]?.time ?? 0
  const scale = useMemo(() => new TimelineScale(begin, now, AHEAD_MICROS), [begin, now])
  // A forecast can be some seconds old: what it has of the past is over.
  const next = useMemo(
    () => ahead?.entries.filter(({ time }) => time > here || ahead.from === session.clock.value?.now) ?? [],
    [ahead, here, session.clock.value?.now],
  )
  if (clock === undefined) return null
  const isoOf = (time: number) =>
    new Date(Date.parse(clock.now) + Math.floor(time / 1000) - Math.floor(now / 1000)).toISOString()
  const held = hold.current ?? { scale, isoOf }

  /** Returns the time at a place: a whole second, or now. */
  const timeAt = (place: number) => {
    const { now, end } = held.scale
    const time = Math.round(held.scale.toTime(place) / 1e6) * 1e6
    if (Math.abs(held.scale.toPlace(time) - held.scale.toPlace(now)) < NOW_SHARE) return now
    return Math.min(visited === undefined ? end : now, Math.max(earliest, time))
  }
  const choose = (time: number) => {
    hold.current = held
    chosen.value = time
  }
  const timeUnder = (x: number) => timeAt(x / bar.current!.clientWidth)
  const actionAt = (time: number) => describeAction(time, held, past?.kept_part != null, visited)
  const release = () => {
    hold.current = undefined
    chosen.value = undefined
  }
  /** Goes to the chosen time: forward by moving the clock, back by a fork of the past. */
  const commit = async () => {
    const time = chosen.peek()
    release()
    if (time === undefined || isMoving.current) return
    isMoving.current = true
    if (time < held.scale.now) await goBack(session, base, held.isoOf(time))
    else if (visited !== undefined) await leave(session, visited)
    else if (time > held.scale.now) await advanceTo(session, held.isoOf(time))
    isMoving.current = false
  }
  const time = chosen.value
  const under = pointer.value
  const scene = { scale: held.scale, feed, revision, next, here, earliest, chosen: time }
  return (
    <div class="timeline">
      <p class="timeline-words" aria-live="polite">
        {time === undefined ? (
          <ComingWords ahead={ahead} next={next[0]} now={here} />
        ) : (
          `${actionAt(time)}, ${describeDistance(time - held.scale.now)}`
        )}
      </p>
      <div class="tip-place">
        <Canvas brush={TimelineBrush} scene={scene} height={HEIGHT} label="What happened when" />
        <input
          ref={bar}
          type="range"
          data-arrow-keys
          aria-label="Go to a time, with Enter"
          aria-valuetext={time === undefined ? held.isoOf(here) : actionAt(time)}
          min={0}
          max={STEPS}
          value={Math.round(held.scale.toPlace(time ?? here) * STEPS)}
          onPointerDown={event => {
            event.currentTarget.setPointerCapture(event.pointerId)
            choose(timeUnder(event.offsetX))
          }}
          onPointerMove={({ offsetX, buttons }) => {
            pointer.value = offsetX
            if (buttons !== 0 && chosen.peek() !== undefined) choose(timeUnder(offsetX))
          }}
          onPointerLeave={clear(pointer)}
          onInput={event => {
            // Under the pointer, the time is that of its label.
            if (!event.currentTarget.matches(':active')) choose(timeAt(event.currentTarget.valueAsNumber / STEPS))
          }}
          onPointerUp={() => void commit()}
          onPointerCancel={release}
          onKeyDown={event => {
            if (event.key === 'Enter') void commit()
            if (event.key === 'Escape') release()
          }}
          onBlur={release}
        />
        {under !== undefined && (
          <Tip x={under} y={HEIGHT - 12} width={bar.current!.clientWidth}>
            {actionAt(timeUnder(under))}
          </Tip>
        )}
      </div>
      {next.length < 2 ? (
        <p class="timeline-words">{ahead !== undefined && 'Nothing further follows within the next hour.'}</p>
      ) : (
        <details class="timeline-words">
          <summary>The next {next.length} entries</summary>
          <div class="json">{next.map(({ at, sentence }) => `${formatTime(at)} ${sentence}`).join('\n')}</div>
        </details>
      )}
    </div>
  )
}

/** Says what happens if the person goes to a time. */
function describeAction(time: number, { scale, isoOf }: Hold, isKept: boolean, visited: Visit | undefined): string {
  const [at, now] = [isoOf(time), isoOf(scale.now)]
  const day = formatDay(at)
  const words = day === formatDay(now) ? formatTime(at) : `${day} ${formatTime(at)}`
  if (time < scale.now) return `Open a fork at ${words}`
  if (visited !== undefined) return `Go back to ${visited.of}, now`
  if (time > scale.now) return `Advance to ${words}`
  return isKept ? 'Now' : 'Now: its past is not kept'
}

/** Says how far a time is from now. */
function describeDistance(micros: number): string {
  return `${formatDuration(Math.abs(micros) / 1e6)} ${micros < 0 ? 'ago' : 'from now'}`
}

type Ahead = AnswersByRoute['GET /_sim/ahead']

interface ComingWordsProps {
  readonly ahead: Ahead | undefined
  readonly next: Ahead['entries'][number] | undefined
  readonly now: number
}

/** Says what comes next, with a button that goes there; in a fork, also of what. */
function ComingWords({ ahead, next, now }: ComingWordsProps) {
  const session = useSession()
  return (
    <>
      <ForkWords />
      {next === undefined ? (
        waitWords(ahead, session.clock.value)
      ) : (
        <>
          <strong>Next{next.time === now ? ', now' : `, in ${formatDuration((next.time - now) / 1e6)}`}:</strong>{' '}
          {next.sentence}{' '}
          {next.time > now && (
            <Button words="Go there" class="link-button" onClick={() => advanceTo(session, next.at)} />
          )}
        </>
      )}
    </>
  )
}

/** Says when the next event comes, if no entry does. While the world moves faster than it is forecast, this is not known. */
function waitWords(ahead: Ahead | undefined, clock: Clock | undefined): string {
  if (ahead === undefined || ahead.entries.length > 0) return 'Looking ahead …'
  const wait = clock?.next_event_in_seconds ?? 0
  // An event that changes nothing of note has no entry, and so can come within the hour.
  return `Nothing happens within ${AHEAD}.${wait < AHEAD_MICROS / 1e6 ? '' : ` The next event is in ${formatDuration(wait)}.`}`
}

/** Says of which world the shown one is a fork, and since when. */
function ForkWords() {
  const { place, world } = useSession()
  const { origin } = place.value
  const { value: worlds } = useAnswer('GET /_sim/worlds', origin && {}, { world: DEFAULT_WORLD, refresh: 'once' })
  if (origin === undefined) return null
  const made = worlds?.find(each => each.world === world.value)?.fork_of
  return (
    <>
      This is a fork of {origin}
      {made && ` at ${formatTime(made.at)}`}.{' '}
      <a href={place.link({ ...place.value, world: origin, origin: undefined })}>Go back to {origin}</a>
      {' · '}
    </>
  )
}

/** Shows a world as it was, in a fork of it. The fork that was shown before is deleted. */
export async function goBack(session: Session, from: string, at: string): Promise<void> {
  const left = isUnchanged(session) ? session.world.peek() : undefined
  const fields = { from, at, clock: 'manual' } as const
  const made = await session.act(
    `Open a fork of ${from} at ${formatTime(at)}`,
    'POST /_sim/worlds',
    fields,
    DEFAULT_WORLD,
  )
  if (made === undefined) return
  session.visit.value = { world: made.world, of: from, at }
  session.place.go({ world: made.world, origin: from })
  if (left !== undefined) await deleteWorld(session, left)
}

/** Shows the present again, and deletes the fork of the past. */
async function leave(session: Session, { world, of }: Visit): Promise<void> {
  session.place.go({ world: of === DEFAULT_WORLD ? undefined : of, origin: undefined })
  await deleteWorld(session, world)
}

async function deleteWorld(session: Session, world: string): Promise<void> {
  await session.ask('DELETE /_sim/worlds/{world}', { world }, { world: DEFAULT_WORLD })
}

/** Whether the page shows a fork of the past, in which neither time nor anything else has moved since. */
function isUnchanged(session: Session): boolean {
  const visit = session.visit.value
  if (visit === undefined || session.world.value !== visit.world) return false
  if (session.actions.value.some(({ world }) => world === visit.world)) return false
  const clock = session.clock.value
  return clock === undefined || Math.abs(Date.parse(clock.now) - Date.parse(visit.at)) <= 1
}

/** Returns the clock of a world; that of the shown world without a delay, and the last known one while it is asked for. */
function useClockOf(session: Session, world: string): Clock | undefined {
  const isShown = world === session.world.value
  const asked = useAnswer('GET /_sim/clock', isShown ? undefined : {}, { world }).value
  return useKept(isShown ? session.clock.value : asked, world)
}

function microsOf(clock: Clock | undefined): number {
  return Math.round((clock?.elapsed_seconds ?? 0) * 1e6)
}

/** Returns the feed of the shown world, or one of its own for another world. */
function useFeedOf(session: Session, world: string): Feed {
  const own = useMemo(() => new Feed(), [])
  const isShown = world === session.world.value
  useEffect(() => {
    if (isShown) return
    own.follow((query, signal) => session.send(`/_sim/events${query}`, { signal }, world))
    return () => own.close()
  }, [world, isShown])
  return isShown ? session.feed : own
}

/** Where times are on the timeline: the past takes most of the width, and the near future the rest. */

/** The share of the width that the past takes. */
const PAST_SHARE = 0.78
/** A world that just began has no past to draw. Its timeline then begins this many microseconds before now. */
const LEAST_PAST = 60_000_000

/** Times are microseconds since the epoch of the world; places are shares of the width, from 0 to 1. */
class TimelineScale extends CornerScale {
  readonly now: number
  readonly end: number

  constructor(begin: number, now: number, ahead: number) {
    const first = { time: Math.min(begin, now - LEAST_PAST), place: 0 }
    super([first, { time: now, place: PAST_SHARE }, { time: now + ahead, place: 1 }])
    this.now = now
    this.end = now + ahead
  }
}

interface TimelineScene {
  readonly scale: TimelineScale
  readonly feed: Feed
  /** It changes with the content of the feed. */
  readonly revision: number
  /** What is coming. */
  readonly next: Ahead['entries']
  /** Time of the shown world. */
  readonly here: number
  /** The earliest time that one can go back to. */
  readonly earliest: number
  /** A time that the pointer or the keyboard chose. */
  readonly chosen: number | undefined
}

class TimelineBrush extends Brush<TimelineScene> {
  draw(): void {
    const { height } = this
    const { scale, feed, next, here, earliest, chosen } = this.scene
    const { entries, requests } = feed
    const { now } = scale
    const [keptX, nowX] = [this.#toX(earliest), this.#toX(now)]
    this.fill('sunken', keptX, 0, nowX - keptX, height)
    this.#drawDensity(entries)
    // The future is hatched, because it is a forecast.
    this.fill(this.hatch('line', 1), nowX, 0, this.width - nowX, height)
    for (const { time } of next) if (time > now) this.fill('accent', this.#toX(time) - 1, height / 3, 2, height / 3)
    this.#drawFlags(entries)
    for (const { at, status } of requests) {
      if (status === 0 || status >= 400)
        this.fillShape('warn', circle(this.#toX(microsAt(at, entries, scale)), height - 4, 2))
    }
    this.fill('text', nowX - 1, 0, 2, height)
    if (here !== now) this.fill('text', this.#toX(here) - 1, 0, 2, height)
    if (chosen !== undefined) this.fill('accent', this.#toX(chosen) - 1, 0, 3, height)
  }

  #toX(time: number): number {
    return this.scene.scale.toPlace(time) * this.width
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
      if (tone === 'bad') this.fillShape('bad', new Path2D(`M${x} 0l7 4l-7 4`))
      else this.stroke('ok', circle(x, 4, 3))
    }
  }
}

/** Returns the time of a request, which has its time as ISO 8601 alone. */
function microsAt(at: string, entries: readonly ControlEntry[], scale: TimelineScale): number {
  const known = entries[0]
  if (known === undefined) return scale.now
  return known.time + (Date.parse(at) - Date.parse(known.at)) * 1000
}
