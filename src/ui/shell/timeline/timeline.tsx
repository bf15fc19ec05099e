/** A scrubber over the past and the near future: dragging it forward moves time, dragging it back shows the past. */
import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks'
import { Canvas, type Drawing } from '../../parts/canvas.tsx'
import { formatDay, formatDuration, formatTime } from '../../parts/format.ts'
import type { AnswersByRoute } from '../../simulator/ask.ts'
import { Feed } from '../../store/feed.ts'
import { DEFAULT_WORLD, type Session, useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { advanceTo } from '../clock-moves.ts'
import { drawTimeline } from './drawing.ts'
import { TimelineScale } from './scale.ts'

const HEIGHT = 36
/** Steps of the range over the whole width. */
const STEPS = 2_000
/** How far the future goes. */
const AHEAD = '1h'
const AHEAD_MICROS = 3_600_000_000
/** Least real milliseconds between two forecasts, and how long the world rests before one. Each is a fork that moves. */
const AHEAD_PAUSE_MS = 2_500
const AHEAD_REST_MS = 400
/** Least real milliseconds between two looks at where the past begins. */
const PAST_PAUSE_MS = 2_500

export function Timeline() {
  const session = useSession()
  const { origin } = session.place.value
  // In a fork of the past, the timeline stays that of the world it came from.
  const base = origin ?? session.world.value
  const feed = useFeedOf(session, base)
  const revision = feed.revision.value
  const isShown = base === session.world.value
  const { value: past } = useAnswer('GET /_sim/past', {}, { world: base, pauseMs: PAST_PAUSE_MS })
  const { value: clockOfBase } = useAnswer('GET /_sim/clock', isShown ? undefined : {}, { world: base })
  const clock = isShown ? session.clock.value : clockOfBase
  const { value: ahead } = useAnswer(
    'GET /_sim/ahead',
    { by: AHEAD, limit: 20 },
    { world: base, pauseMs: AHEAD_PAUSE_MS, restMs: AHEAD_REST_MS },
  )
  const chosen = useSignal<number | undefined>(undefined)
  const isMoving = useRef(false)

  const now = Math.round((clock?.elapsed_seconds ?? 0) * 1e6)
  const begin = past?.kept_part?.from_time ?? feed.entries[0]?.time ?? 0
  const scale = useMemo(() => new TimelineScale(begin, now, AHEAD_MICROS), [begin, now])
  // A forecast can be some seconds old: what it has of the past is over.
  const next = useMemo(
    () => ahead?.entries.filter(({ time }) => time > now || ahead.from === clock?.now) ?? [],
    [ahead, now, clock?.now],
  )
  const coming = useMemo(() => next.map(({ time }) => time), [next])
  const draw = useCallback(
    (drawing: Drawing) => {
      const { entries, requests } = feed
      drawTimeline(drawing, scale, { entries, requests, coming, chosen: chosen.value })
    },
    [scale, coming, revision, chosen.value],
  )
  const isoOf = (time: number) => new Date(Date.parse(clock?.now ?? '') + (time - now) / 1000).toISOString()

  /** Goes to the chosen time: forward by moving the clock, back by a fork of the past. */
  const commit = async () => {
    const time = chosen.peek()
    chosen.value = undefined
    if (time === undefined || isMoving.current || clock === undefined) return
    isMoving.current = true
    if (time > now) await advanceTo(session, isoOf(time))
    else await goBack(session, base, isoOf(time))
    isMoving.current = false
  }
  const choose = (value: number) => {
    chosen.value = scale.timeAt(value / STEPS)
  }
  if (clock === undefined) return null
  const time = chosen.value
  return (
    <div class="timeline">
      <Canvas draw={draw} height={HEIGHT} label="What happened when" />
      <input
        type="range"
        data-arrow-keys
        aria-label="Go to a time: Enter goes to the chosen one"
        aria-valuetext={isoOf(time ?? now)}
        min={0}
        max={STEPS}
        value={Math.round(scale.placeOf(time ?? now) * STEPS)}
        onInput={event => choose(event.currentTarget.valueAsNumber)}
        onPointerUp={() => void commit()}
        onKeyDown={event => {
          if (event.key === 'Enter') void commit()
          if (event.key === 'Escape') chosen.value = undefined
        }}
        onBlur={() => {
          chosen.value = undefined
        }}
      />
      <p class="timeline-words" aria-live="polite">
        {time === undefined ? (
          <ComingWords text={wordsOf(ahead, next[0], now)} isFork={origin !== undefined} base={base} />
        ) : (
          <>
            {formatDay(isoOf(time))} {formatTime(isoOf(time))}, {formatDuration(Math.abs(time - now) / 1e6)}{' '}
            {time > now ? 'from now: time moves there' : 'ago: a fork shows the world as it was'}
          </>
        )}
      </p>
    </div>
  )
}

interface ComingWordsProps {
  readonly text: string
  readonly isFork: boolean
  readonly base: string
}

function ComingWords({ text, isFork, base }: ComingWordsProps) {
  const session = useSession()
  return (
    <>
      {isFork && (
        <>
          This is a fork of {base}.{' '}
          <a href={session.place.link({ ...session.place.value, world: base, origin: undefined })}>Go back to {base}</a>
          {' · '}
        </>
      )}
      {text}
    </>
  )
}

type Ahead = AnswersByRoute['GET /_sim/ahead']

/** Says what comes next. While the world moves faster than it is forecast, this is not known. */
function wordsOf(ahead: Ahead | undefined, next: Ahead['entries'][number] | undefined, now: number): string {
  if (next !== undefined) return `Next, in ${formatDuration((next.time - now) / 1e6)}: ${next.sentence}`
  const isOver = ahead === undefined || ahead.entries.length > 0
  return isOver ? 'Looking for what happens next …' : `Nothing happens within ${AHEAD}.`
}

/** Shows a world as it was, in a fork of it. The fork that was shown before is deleted. */
async function goBack(session: Session, from: string, at: string): Promise<void> {
  const before = session.world.peek()
  const made = await session.act(
    `Show ${from} at ${at}`,
    'POST /_sim/worlds',
    { from, at, clock: 'manual' },
    DEFAULT_WORLD,
  )
  if (made === undefined) return
  session.place.go({ world: made.world, origin: from })
  if (before !== from) await session.ask('DELETE /_sim/worlds/{world}', { world: before }, { world: DEFAULT_WORLD })
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
