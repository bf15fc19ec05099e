/** An answer of the control plane that follows the world: asked again when the world may have changed. */
import { signal } from '@preact/signals'
import { clearRealTimeout, monotonicMs, setRealTimeout } from '../../lib/real-time.ts'
import type { AnswersByRoute, ControlRoute, FieldsByRoute } from '../simulator/ask.ts'
import { describeError, type Session } from './session.ts'

/** Least real milliseconds between the end of one request and the begin of the next. */
const DEFAULT_PAUSE_MS = 500

export interface Asked<Answer> {
  /** The newest answer; undefined before the first one. */
  readonly value: Answer | undefined
  /** Why the newest request failed. */
  readonly error: string | undefined
}

/** How the page keeps a value of which an answer has only what changed. */
export interface Folding<Route extends ControlRoute, Value> {
  /** Returns the fields that ask for what changed. They are added to those of the question. */
  readonly since: (value: Value) => Partial<FieldsByRoute[Route]>
  /** Returns whether more of the same answer is to be asked for. */
  readonly isPartial?: (value: Value) => boolean
  /** Returns the new value. `before` is undefined for the first answer to a question. */
  readonly fold: (before: Value | undefined, answer: AnswersByRoute[Route]) => Value
}

const NOTHING = { value: undefined, error: undefined }

export class LiveAnswer<Route extends ControlRoute, Value = AnswersByRoute[Route]> {
  readonly asked = signal<Asked<Value>>(NOTHING)
  readonly #session: Session
  readonly #route: Route
  readonly #pauseMs: number
  readonly #folding: Folding<Route, Value> | undefined
  #fields: FieldsByRoute[Route] | undefined
  #world = ''
  /** The request under way. */
  #running: AbortController | undefined
  #isStale = false
  #endedAt = Number.NEGATIVE_INFINITY
  #timer: unknown

  /**
   * Without a folding, an answer is kept as it is.
   *
   * @param pauseMs least real milliseconds between the end of one request and the begin of the next
   */
  constructor(session: Session, route: Route, folding?: Folding<Route, Value>, pauseMs: number = DEFAULT_PAUSE_MS) {
    this.#pauseMs = pauseMs
    this.#session = session
    this.#route = route
    this.#folding = folding
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
    const wait = this.#endedAt + this.#pauseMs - monotonicMs()
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
      const before = this.asked.peek().value
      const since = before === undefined ? undefined : this.#folding?.since(before)
      const fields = { ...this.#fields, ...since } as FieldsByRoute[Route]
      const answer = await this.#session.ask(this.#route, fields, options)
      if (own.signal.aborted) return
      const value = this.#folding === undefined ? (answer as Value) : this.#folding.fold(before, answer)
      this.asked.value = { value, error: undefined }
      if (this.#folding?.isPartial?.(value)) this.#isStale = true
    } catch (error) {
      if (own.signal.aborted) return
      this.asked.value = { value: this.asked.peek().value, error: describeError(error) }
    }
    this.#running = undefined
    this.#endedAt = monotonicMs()
    if (this.#isStale) this.refresh()
  }
}
