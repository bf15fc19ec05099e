/** Turns of the readers of live events: many of them at once must not keep a server from its requests. */
import { eventLoopTurn } from '../../lib/real-time.ts'

/** The events that all readers together format in one turn of the event loop: about 5 ms. */
const EVENTS_PER_TURN = 250
/** The events of each reader between two checks of a program that gives the event loop no turn: more than a check brings. */
const EVENTS_PER_CHECK = 750

/** The readers of all worlds of a server. */
export class EventTurns {
  #readers = 0
  #room = EVENTS_PER_TURN
  #waiting: { readonly events: number; readonly resume: () => void }[] = []
  #isTurnDue = false
  #turn = 0

  /** Adds a reader. */
  join(): void {
    this.#readers++
  }

  /** Removes a reader. */
  leave(): void {
    this.#readers--
  }

  /**
   * Resolves when a reader may format its events; readers come in the order in which they ask. A reader that is alone
   * does not wait: a client that never gives the event loop a turn is read all the same.
   */
  async take(events: number): Promise<void> {
    if (this.#readers <= 1) return
    const isFree = this.#waiting.length === 0 && this.#fits(events)
    if (isFree) this.#use(events)
    else {
      await new Promise<void>(resume => {
        this.#waiting.push({ events, resume })
        this.#expectTurn()
      })
    }
  }

  /**
   * Returns a function for a reader that waits for its turn. It is called now and then while the world changes. If the
   * program went on by promises alone since the last call, no turn comes, and the readers go on without one.
   */
  watchHeld(): () => void {
    let lastTurn = -1
    let isAwaited = false
    return () => {
      if (lastTurn === this.#turn && isAwaited) this.#release()
      lastTurn = this.#turn
      isAwaited = false
      Promise.resolve().then(() => (isAwaited = true))
    }
  }

  #release(): void {
    this.#room = EVENTS_PER_CHECK * this.#readers
    for (const { events, resume } of this.#waiting.splice(0)) {
      this.#room -= events
      resume()
    }
  }

  /** Whether events fit into this turn. A batch with more than a turn has gets a turn of its own. */
  #fits(events: number): boolean {
    return events <= this.#room || this.#room === EVENTS_PER_TURN
  }

  #use(events: number): void {
    this.#room -= events
    this.#expectTurn()
  }

  #expectTurn(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    eventLoopTurn().then(() => {
      this.#isTurnDue = false
      this.#turn++
      this.#room = EVENTS_PER_TURN
      for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.events); next = this.#waiting[0]) {
        this.#waiting.shift()
        this.#use(next.events)
        next.resume()
      }
    })
  }
}
