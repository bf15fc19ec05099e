/** Whoever waits for a moment of a world. */
import type { Micros } from '../kernel/duration.ts'

export interface Sleeper {
  readonly at: Micros
  readonly wake: () => void
  readonly reject: (error: Error) => void
  /** Whether it may be woken early: it looks for itself whether its moment has come. */
  readonly isPoller?: boolean
}

/** Sleepers by the moment they wait for; of one moment, whoever came first. */
export class Sleepers<S extends Sleeper = Sleeper> {
  #list: readonly S[] = []

  /** The sleeper that is to be woken first. */
  get first(): S | undefined {
    return this.#list[0]
  }

  /** When the first of them is to be woken; never, where nobody sleeps. */
  get next(): Micros {
    return this.#list[0]?.at ?? Number.POSITIVE_INFINITY
  }

  has(sleeper: S): boolean {
    return this.#list.includes(sleeper)
  }

  add(sleeper: S): void {
    const index = this.#list.findIndex(other => other.at > sleeper.at)
    this.#list = index < 0 ? [...this.#list, sleeper] : this.#list.toSpliced(index, 0, sleeper)
  }

  remove(sleeper: S): void {
    this.#list = this.#list.filter(other => other !== sleeper)
  }

  /** Wakes whoever's moment has come by `now()`, which whoever was woken may move. */
  wake(now: () => Micros): void {
    while (this.next <= now()) {
      const [first, ...rest] = this.#list
      this.#list = rest
      first!.wake()
    }
  }

  /** Wakes whoever looks for himself: time may move in another way now. */
  wakePollers(): void {
    const pollers = this.#list.filter(({ isPoller: looks }) => looks)
    this.#list = this.#list.filter(({ isPoller: looks }) => !looks)
    for (const { wake } of pollers) wake()
  }

  /** Nobody is woken any more. */
  reject(error: () => Error): void {
    const sleepers = this.#list
    this.#list = []
    for (const sleeper of sleepers) sleeper.reject(error())
  }
}
