import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { clearRealTimeout, monotonicMs, setRealTimeout } from '../../../lib/real-time.ts'
import { type AnswersByRoute, type ControlRoute, encodeRequest, type FieldsByRoute } from './ask.ts'
import { whenVisible } from './feed.ts'
import { describeError, type Session, useSession } from './session.ts'

interface AskOptions {
  /**
   * `changes`: asks again whenever the world may have changed. `requests`: also after each request of a client, for an
   * answer about requests. Default: `changes`.
   */
  readonly refresh?: 'changes' | 'requests' | 'once'
  /** Least real milliseconds between two requests. Default: 500. */
  readonly pauseMs?: number
  /** Asks only when nothing has changed for so many real milliseconds, or after twice `pauseMs`. Default: 0. */
  readonly restMs?: number
  /** Default: the shown world. */
  readonly world?: string
}

/**
 * Returns what the control plane answers, and draws the component again when the answer changes. With `undefined` as the
 * fields, nothing is asked.
 *
 * @example const { value, error } = useAnswer('GET /_sim/cluster/nodes', {})
 */
export function useAnswer<Route extends ControlRoute>(
  route: Route,
  fields: FieldsByRoute[Route] | undefined,
  { refresh = 'changes', pauseMs, restMs, world }: AskOptions = {},
): Asked<AnswersByRoute[Route]> {
  const session = useSession()
  const answer = useMemo(() => liveAnswer(session, route, pauseMs, restMs), [session, route, pauseMs, restMs])
  const shown = world ?? session.world.value
  const key = JSON.stringify(fields)
  useEffect(() => {
    answer.change(fields, shown)
    const revisions = refresh === 'requests' ? session.requestRevision : session.revision
    const begun = revisions.peek()
    const stop = revisions.subscribe(revision => {
      if (refresh !== 'once' && revision !== begun) answer.refresh()
    })
    return () => {
      stop()
      answer.close()
    }
  }, [answer, key, shown, refresh])
  return answer.asked.value
}

/** Returns the newest value of a world, so that it stays while the next one is asked for. */
export function useKept<Value>(value: Value | undefined, world: string): Value | undefined {
  const kept = useRef<{ readonly world: string; readonly value: Value } | undefined>(undefined)
  if (value !== undefined) kept.current = { world, value }
  return kept.current?.world === world ? kept.current.value : undefined
}

const DEFAULT_PAUSE_MS = 500
/** A slow answer is asked for less often: the pause is ten times as long as the request before it, at most two seconds. */
const PAUSE_FACTOR = 10
const MAX_PAUSE_MS = 2_000

interface Asked<Answer> {
  /** The newest answer; undefined before the first one. */
  readonly value: Answer | undefined
  /** Why the newest request failed. */
  readonly error: string | undefined
}

const NOTHING = { value: undefined, error: undefined }

/** Asks a question again and again, and keeps the newest answer. */
function liveAnswer<Route extends ControlRoute>(
  session: Session,
  route: Route,
  leastPauseMs = DEFAULT_PAUSE_MS,
  restMs = 0,
) {
  const asked = signal<Asked<AnswersByRoute[Route]>>(NOTHING)
  let fields: FieldsByRoute[Route] | undefined
  let world = ''
  /** The request under way. */
  let running: AbortController | undefined
  /** When something changed of which the newest answer does not know. */
  let staleSince: number | undefined
  /** The `etag` of the newest answer. */
  let revision = ''
  let endedAt = Number.NEGATIVE_INFINITY
  /** Real milliseconds of the newest request. */
  let tookMs = 0
  let timer: unknown

  /** Asks another question at once. The answer to the one before is forgotten. With `undefined`, nothing is asked. */
  const change = (newFields: FieldsByRoute[Route] | undefined, newWorld: string): void => {
    close()
    fields = newFields
    world = newWorld
    asked.value = NOTHING
    revision = ''
    if (fields !== undefined) void ask()
  }

  /** Asks the same question again: after the request under way, and not more often than the page can draw. */
  const refresh = (): void => {
    if (fields === undefined) return
    const now = monotonicMs()
    staleSince ??= now
    if (running !== undefined) return
    clearRealTimeout(timer)
    const rested = Math.min(now + restMs, staleSince + 2 * leastPauseMs)
    const pauseMs = Math.max(leastPauseMs, Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * tookMs))
    const wait = Math.max(endedAt + pauseMs, rested) - now
    if (wait <= 0) void ask()
    else timer = setRealTimeout(() => void ask(), wait)
  }

  const close = (): void => {
    running?.abort()
    running = undefined
    clearRealTimeout(timer)
  }

  const ask = async (): Promise<void> => {
    const own = new AbortController()
    running = own
    await whenVisible(own.signal)
    if (own.signal.aborted) return
    staleSince = undefined
    const begunAt = monotonicMs()
    try {
      const { path } = encodeRequest(route, fields as Record<string, unknown>)
      const init = { signal: own.signal, headers: { 'if-none-match': revision } }
      const response = await session.send(path, init, world)
      if (response.status !== 304) {
        const value = (await session.read(response)) as AnswersByRoute[Route]
        if (own.signal.aborted) return
        revision = response.headers.get('etag') ?? ''
        asked.value = { value, error: undefined }
      }
      if (own.signal.aborted) return
    } catch (error) {
      if (own.signal.aborted) return
      asked.value = { value: asked.peek().value, error: describeError(error) }
    }
    running = undefined
    endedAt = monotonicMs()
    tookMs = endedAt - begunAt
    if (staleSince !== undefined) refresh()
  }
  return { asked, change, refresh, close }
}
