import { acceptCopies } from '../lib/errors.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Agenda } from './agenda.ts'
import type { Clock } from './clock.ts'
import type { Micros } from './duration.ts'

/** Most events of one advance. More of them count as an endless loop. */
export interface EventLimits {
  /** Events in one advance. */
  readonly events: number
  /** Events at one instant. */
  readonly sameInstant: number
}

export const DEFAULT_EVENT_LIMITS: EventLimits = { events: LIMITS.moveEvents, sameInstant: LIMITS.instantEvents }

/** Too many events in one advance. The world is at the last complete event. */
export class EventCapError extends Error {
  override name = 'EventCapError'
}
acceptCopies(EventCapError, 'EventCapError')

/**
 * Moves the time of one world. Until the target, it takes the earliest entry, sets the clock to its time and fires it.
 */
export class Loop {
  #fired = 0
  #byKind = new Float64Array(64)
  #instant: Micros = -1
  #atInstant = 0
  readonly #clock: Clock
  readonly #agenda: Agenda
  readonly #fireEvent: () => void
  readonly #nameOf: (kind: number) => string
  readonly #limits: EventLimits

  constructor(clock: Clock, agenda: Agenda, fire: () => void, nameOf: (kind: number) => string, bounds: EventLimits) {
    this.#clock = clock
    this.#agenda = agenda
    this.#fireEvent = fire
    this.#nameOf = nameOf
    this.#limits = bounds
  }

  /**
   * Fires every entry up to and including `target`, and sets the clock to `target`. `advance(a)` and then `advance(b)`
   * equals `advance(a + b)`, because the clock always has the time of the event that fires.
   *
   * @throws EventCapError with the most frequent kind. Events that have fired stay.
   */
  runTo(target: Micros): number {
    this.#resetCounts()
    while (this.#agenda.isDue(target)) this.#step()
    if (target > this.#clock.now) this.#clock.moveTo(target)
    return this.#fired
  }

  /** Fires the earliest entry. False: the agenda has no entry up to `limit`, which may be Infinity. */
  fireNext(limit: Micros): boolean {
    // An empty agenda's next time is Infinity, which is not after a limit of Infinity.
    if (this.#agenda.size === 0 || this.#agenda.nextTime > limit) return false
    this.#resetCounts()
    this.#step()
    return true
  }

  #resetCounts(): void {
    this.#fired = 0
    this.#byKind.fill(0)
    this.#instant = -1
    this.#atInstant = 0
  }

  #step(): void {
    const agenda = this.#agenda
    const time = agenda.nextTime
    if (this.#fired >= this.#limits.events) throw this.#eventCapError(`${this.#fired} events`)
    if (time === this.#instant) {
      if (++this.#atInstant > this.#limits.sameInstant)
        throw this.#eventCapError(`${this.#atInstant} events at one instant`)
    } else {
      this.#instant = time
      this.#atInstant = 0
    }
    agenda.take()
    this.#clock.moveTo(time)
    this.#fired++
    this.#byKind[agenda.kind] = this.#byKind[agenda.kind]! + 1
    this.#fireEvent()
  }

  #eventCapError(what: string): EventCapError {
    let hottest = 0
    for (let kind = 1; kind < this.#byKind.length; kind++) {
      if (this.#byKind[kind]! > this.#byKind[hottest]!) hottest = kind
    }
    return new EventCapError(
      `Failed to advance: ${what} were fired and more are due, most of kind '${this.#nameOf(hottest)}' ` +
        `(${this.#byKind[hottest]}). Advance by less, or look for two things that keep waking each other.`,
    )
  }
}

/** The error of a wait or a move of time whose world was reset, restored or deleted. */
export class WorldReplaced extends Error {
  override readonly name = 'WorldReplaced'
}
