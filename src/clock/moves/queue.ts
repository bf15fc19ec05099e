/** Runs one move of time after the other, in the order of the requests. */

/** The moves that are requested from some point on. */
export interface MoveRequests {
  readonly hasNext: boolean
  /** Runs the first of them before its turn. Returns true when it has ended, also with an error. */
  runNext(): Promise<boolean>
  /** Ends the observation. What has not run keeps its turn. */
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

  /** Observes the requests from now on, while a move is in progress that they would wait for. */
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
