import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
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
  const answer = useMemo(() => new LiveAnswer(session, route, pauseMs, restMs), [session, route, pauseMs, restMs])
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

class LiveAnswer<Route extends ControlRoute> {
  readonly asked = signal<Asked<AnswersByRoute[Route]>>(NOTHING)
  readonly #session: Session
  readonly #route: Route
  readonly #pauseMs: number
  readonly #restMs: number
  #fields: FieldsByRoute[Route] | undefined
  #world = ''
  /** The request under way. */
  #running: AbortController | undefined
  /** When something changed of which the newest answer does not know. */
  #staleSince: number | undefined
  /** The `etag` of the newest answer. */
  #revision = ''
  #endedAt = Number.NEGATIVE_INFINITY
  /** Real milliseconds of the newest request. */
  #tookMs = 0
  #timer: unknown

  constructor(session: Session, route: Route, pauseMs = DEFAULT_PAUSE_MS, restMs = 0) {
    this.#pauseMs = pauseMs
    this.#restMs = restMs
    this.#session = session
    this.#route = route
  }

  /** Asks another question at once. The answer to the one before is forgotten. With `undefined`, nothing is asked. */
  change(fields: FieldsByRoute[Route] | undefined, world: string): void {
    this.close()
    this.#fields = fields
    this.#world = world
    this.asked.value = NOTHING
    this.#revision = ''
    if (fields !== undefined) void this.#ask()
  }

  /** Asks the same question again: after the request under way, and not more often than the page can draw. */
  refresh(): void {
    if (this.#fields === undefined) return
    const now = monotonicMs()
    this.#staleSince ??= now
    if (this.#running !== undefined) return
    clearRealTimeout(this.#timer)
    const rested = Math.min(now + this.#restMs, this.#staleSince + 2 * this.#pauseMs)
    const pauseMs = Math.max(this.#pauseMs, Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * this.#tookMs))
    const wait = Math.max(this.#endedAt + pauseMs, rested) - now
    if (wait <= 0) void this.#ask()
    else this.#timer = setRealTimeout(() => void this.#ask(), wait)
  }

  close(): void {
    this.#running?.abort()
    this.#running = undefined
    clearRealTimeout(this.#timer)
  }

  async #ask(): Promise<void> {
    const own = new AbortController()
    this.#running = own
    await whenVisible(own.signal)
    if (own.signal.aborted) return
    this.#staleSince = undefined
    const begunAt = monotonicMs()
    try {
      const { path } = encodeRequest(this.#route, this.#fields as Record<string, unknown>)
      const init = { signal: own.signal, headers: { 'if-none-match': this.#revision } }
      const response = await this.#session.send(path, init, this.#world)
      if (response.status !== 304) {
        const value = (await this.#session.read(response)) as AnswersByRoute[Route]
        if (own.signal.aborted) return
        this.#revision = response.headers.get('etag') ?? ''
        this.asked.value = { value, error: undefined }
      }
      if (own.signal.aborted) return
    } catch (error) {
      if (own.signal.aborted) return
      this.asked.value = { value: this.asked.peek().value, error: describeError(error) }
    }
    this.#running = undefined
    this.#endedAt = monotonicMs()
    this.#tookMs = this.#endedAt - begunAt
    if (this.#staleSince !== undefined) this.refresh()
  }
}
