/** Answers that have to wait for the world's time, for whoever stands beside their client and moves that time. */
import type { Patience } from './api/endpoint.ts'
import type { ClientPatience } from './client-patience.ts'
import type { Micros } from './kernel/duration.ts'
import type { Simulator } from './simulator.ts'

/** Names an answer that a stage on a server has to come back for. */
export const AWAITED_HEADER = 'x-sim-awaited'

/** Where an answer is: it has come, or it waits, and before so long nothing new can be known of it. */
export type Whereabouts = { readonly answer: Response } | { readonly delay: Micros }

/** A request that a world may hold until its time has come. */
export class AwaitedAnswer {
  readonly #answered: Promise<Response>
  readonly #leaving = new AbortController()
  #now: () => Micros = () => 0
  /** When it looks again by itself; undefined while it does not wait. */
  #until: Micros | undefined
  #waits = () => {}
  #waiting!: Promise<void>

  /** @param ask sends the request, whose client waits in the way that is given */
  constructor(ask: (patienceOf: (own: ClientPatience, sim: Simulator) => Patience) => Response | Promise<Response>) {
    this.#expectWait()
    this.#answered = Promise.resolve(ask((own, sim) => this.#over(own, sim)))
    // Told to whoever looks.
    this.#answered.catch(() => {})
  }

  /** Waits, for no time of the world, until it is known where the answer is. Throws what the client would be thrown. */
  async look(): Promise<Whereabouts> {
    for (;;) {
      const answer = await Promise.race([this.#answered, this.#waiting])
      if (answer !== undefined) return { answer }
      if (this.#until !== undefined) return { delay: Math.max(0, this.#until - this.#now()) }
      this.#expectWait()
    }
  }

  /** Its client gives up, and what it had in the world is free. */
  async leave(reason: Error): Promise<void> {
    this.#leaving.abort(reason)
    await this.#answered.catch(() => {})
  }

  #expectWait(): void {
    this.#waiting = new Promise(resolve => {
      this.#waits = resolve
    })
  }

  #over(own: ClientPatience, { clock }: Simulator): Patience {
    this.#now = () => clock.elapsed
    return {
      get isInstant() {
        return own.isInstant
      },
      now: () => own.now(),
      wait: async (delay, signal, part, call) => {
        if (part === 'body') return own.wait(delay, signal, part, call)
        this.#until = clock.elapsed + delay
        this.#waits()
        try {
          await own.hold(delay, AbortSignal.any([signal, this.#leaving.signal]), part, call)
        } finally {
          this.#until = undefined
          this.#expectWait()
        }
      },
    }
  }
}
