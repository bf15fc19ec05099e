/** The clients that wait for a time of a world. */
import type { Micros } from '../../kernel/duration.ts'

export interface Sleeper {
  readonly at: Micros
  readonly wake: () => void
  readonly reject: (error: Error) => void
  /** Whether it may wake early, because it checks the time itself. */
  readonly isPoller?: boolean
}

/** Sleepers in the order of their times; at one time, in the order of their arrival. */
export class Sleepers {
  #list: Sleeper[] = []

  /** The time of the first sleeper. Infinity: the list is empty. */
  get next(): Micros {
    return this.#list[0]?.at ?? Number.POSITIVE_INFINITY
  }

  get isEmpty(): boolean {
    return this.#list.length === 0
  }

  has(sleeper: Sleeper): boolean {
    return this.#list.includes(sleeper)
  }

  add(sleeper: Sleeper): void {
    let index = this.#list.length
    while (index > 0 && this.#list[index - 1]!.at > sleeper.at) index--
    this.#list.splice(index, 0, sleeper)
  }

  remove(sleeper: Sleeper): void {
    const index = this.#list.indexOf(sleeper)
    if (index >= 0) this.#list.splice(index, 1)
  }

  /** Wakes every sleeper up to `now()`, which a woken sleeper may move. */
  wake(now: () => Micros): void {
    while (this.next <= now()) this.#list.shift()!.wake()
  }

  /** Wakes the sleepers that check the time themselves, after a change of the clock. */
  wakePollers(): void {
    const pollers = this.#list.filter(({ isPoller }) => isPoller)
    this.#list = this.#list.filter(({ isPoller }) => !isPoller)
    for (const { wake } of pollers) wake()
  }

  /** Rejects every sleeper. */
  reject(error: () => Error): void {
    const sleepers = this.#list
    this.#list = []
    for (const sleeper of sleepers) sleeper.reject(error())
  }
}
