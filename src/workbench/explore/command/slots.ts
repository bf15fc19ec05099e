/** A number of places for work. Further work waits for its turn. */
export class Slots {
  readonly size: number
  #used = 0
  readonly #queue: (() => void)[] = []

  constructor(size: number) {
    this.size = size
  }

  /** Does the work when there is a place for it. Settles as the work does. */
  async use<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#used === this.size) await new Promise<void>(resolve => this.#queue.push(resolve))
    else this.#used++
    try {
      return await work()
    } finally {
      const next = this.#queue.shift()
      if (next === undefined) this.#used--
      else next()
    }
  }
}
