/** Runs moves of time one after another, in the order of the requests. */

/** The moves that are requested after a point in time. */
export interface MoveRequests {
  readonly hasNext: boolean
  /** Runs the first of them before its turn. Resolves to true when it has ended, also with an error. */
  runNext(): Promise<boolean>
  /** Ends the observation. The other moves keep their turns. */
  stop(): void
}

export class MoveQueue {
  readonly #waiting: (() => Promise<void>)[] = []
  #isWorking = false
  #activeMoves = 0
  #onRequest = () => {}

  /** Whether a move is in progress. */
  get isMoving(): boolean {
    return this.#activeMoves > 0
  }

  /** Runs a move in its turn. Returns its outcome. */
  enqueue<T>(move: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(async () => {
        this.#activeMoves++
        await move()
          .finally(() => {
            this.#activeMoves--
          })
          .then(resolve, reject)
      })
      if (this.#isWorking) this.#onRequest()
      else this.#work()
    })
  }

  /** Observes the requests from now on, during a move for which they would wait. */
  observe(onRequest: () => void): MoveRequests {
    const outerListener = this.#onRequest
    this.#onRequest = onRequest
    const waiting = this.#waiting
    const start = waiting.length
    return {
      get hasNext() {
        return waiting.length > start
      },
      async runNext() {
        const [run] = waiting.splice(start, 1)
        await run?.()
        return true
      },
      stop: () => {
        this.#onRequest = outerListener
      },
    }
  }

  async #work(): Promise<void> {
    this.#isWorking = true
    // A move begins after the code that requested it.
    await undefined
    for (let run = this.#waiting.shift(); run; run = this.#waiting.shift()) await run()
    this.#isWorking = false
  }
}
