/** An answer of the control plane that follows the world: asked again when the world may have changed. */
import { signal } from '@preact/signals'
import { clearRealTimeout, monotonicMs, setRealTimeout } from '../../lib/real-time.ts'
import type { AnswersByRoute, ControlRoute, FieldsByRoute } from '../simulator/ask.ts'
import { describeError, type Session } from './session.ts'

/** Least real milliseconds between the end of one request and the begin of the next. */
const MIN_PAUSE_MS = 300

export interface Asked<Answer> {
  /** The newest answer; undefined before the first one. */
  readonly value: Answer | undefined
  /** Why the newest request failed. */
  readonly error: string | undefined
}

const NOTHING = { value: undefined, error: undefined }

export class LiveAnswer<Route extends ControlRoute> {
  readonly asked = signal<Asked<AnswersByRoute[Route]>>(NOTHING)
  readonly #session: Session
  readonly #route: Route
  #fields: FieldsByRoute[Route] | undefined
  #world = ''
  /** The request under way. */
  #running: AbortController | undefined
  #isStale = false
  #endedAt = Number.NEGATIVE_INFINITY
  #timer: unknown

  constructor(session: Session, route: Route) {
    this.#session = session
    this.#route = route
  }

  /** Asks another question at once. The answer to the one before is forgotten. With `undefined`, nothing is asked. */
  change(fields: FieldsByRoute[Route] | undefined, world: string): void {
    this.close()
    this.#fields = fields
    this.#world = world
    this.asked.value = NOTHING
    if (fields !== undefined) void this.#ask()
  }

  /** Asks the same question again: after the request under way, and not more often than the page can draw. */
  refresh(): void {
    if (this.#fields === undefined) return
    this.#isStale = true
    if (this.#running !== undefined) return
    clearRealTimeout(this.#timer)
    const wait = this.#endedAt + MIN_PAUSE_MS - monotonicMs()
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
    this.#isStale = false
    try {
      const options = { signal: own.signal, world: this.#world }
      const value = await this.#session.ask(this.#route, this.#fields, options)
      if (own.signal.aborted) return
      this.asked.value = { value, error: undefined }
    } catch (error) {
      if (own.signal.aborted) return
      this.asked.value = { value: this.asked.peek().value, error: describeError(error) }
    }
    this.#running = undefined
    this.#endedAt = monotonicMs()
    if (this.#isStale) this.refresh()
  }
}
