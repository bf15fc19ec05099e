/** An answer of the control plane that follows the world: asked again when the world may have changed. */

import { signal } from '@preact/signals'
import { clearRealTimeout, monotonicMs, setRealTimeout } from '../../../lib/real-time.ts'
import type { AnswersByRoute, ControlRoute, FieldsByRoute } from './ask.ts'
import { describeError, type Session } from './session.ts'
import { whenVisible } from './visibility.ts'

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

/** When an answer is asked for again. */
interface Pauses {
  /** Least real milliseconds between the end of one request and the begin of the next. Default: 500. */
  readonly pauseMs?: number | undefined
  /** Asks only when nothing has changed for so many real milliseconds, or after twice `pauseMs`. Default: 0. */
  readonly restMs?: number | undefined
}

export class LiveAnswer<Route extends ControlRoute, Value = AnswersByRoute[Route]> {
  readonly asked = signal<Asked<Value>>(NOTHING)
  readonly #session: Session
  readonly #route: Route
  readonly #pauseMs: number
  readonly #restMs: number
  readonly #folding: Folding<Route, Value> | undefined
  #fields: FieldsByRoute[Route] | undefined
  #world = ''
  /** The request under way. */
  #running: AbortController | undefined
  /** When something changed of which the newest answer does not know. */
  #staleSince: number | undefined
  #endedAt = Number.NEGATIVE_INFINITY
  #timer: unknown

  /** Without a folding, an answer is kept as it is. */
  constructor(
    session: Session,
    route: Route,
    folding?: Folding<Route, Value>,
    { pauseMs = DEFAULT_PAUSE_MS, restMs = 0 }: Pauses = {},
  ) {
    this.#pauseMs = pauseMs
    this.#restMs = restMs
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
    const now = monotonicMs()
    this.#staleSince ??= now
    if (this.#running !== undefined) return
    clearRealTimeout(this.#timer)
    const rested = Math.min(now + this.#restMs, this.#staleSince + 2 * this.#pauseMs)
    const wait = Math.max(this.#endedAt + this.#pauseMs, rested) - now
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
    try {
      const options = { signal: own.signal, world: this.#world }
      const before = this.asked.peek().value
      const since = before === undefined ? undefined : this.#folding?.since(before)
      const fields = { ...this.#fields, ...since } as FieldsByRoute[Route]
      const answer = await this.#session.ask(this.#route, fields, options)
      if (own.signal.aborted) return
      const value = this.#folding === undefined ? (answer as Value) : this.#folding.fold(before, answer)
      this.asked.value = { value, error: undefined }
      if (this.#folding?.isPartial?.(value)) this.#staleSince ??= monotonicMs()
    } catch (error) {
      if (own.signal.aborted) return
      this.asked.value = { value: this.asked.peek().value, error: describeError(error) }
    }
    this.#running = undefined
    this.#endedAt = monotonicMs()
    if (this.#staleSince !== undefined) this.refresh()
  }
}
