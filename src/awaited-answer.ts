/** Answers that have to wait for the world's time, for whoever stands beside their client and moves that time. */
import type { Patience } from './api/endpoint.ts'
import type { ClientPatience } from './client-patience.ts'
import type { Micros } from './kernel/duration.ts'
import type { Simulator } from './simulator.ts'

/** Names an answer that a stage on a server has to come back for. */
export const AWAITED_HEADER = 'x-sim-awaited'
/** Names an answer whose body a stage on a server comes back for, piece by piece. */
export const PIECES_HEADER = 'x-sim-pieces'
/** On the answer to who comes back for a piece: there is none any more, because the body is `over` or `broken`. */
export const NO_PIECE_HEADER = 'x-sim-no-piece'

/** It waits, and before so long nothing new can be known of it. */
export interface Waiting {
  readonly delay: Micros
}

/** Where an answer is: it has come, or it waits. */
export type Whereabouts = { readonly answer: Response } | Waiting

/** Where the next piece of a body is: it has come, there is none, or it waits. */
export type PieceWhereabouts = { readonly piece: Uint8Array } | { readonly isOver: true } | Waiting

type Body = ReadableStream<Uint8Array>

/** A request that a world may hold until its time has come. */
export class AwaitedAnswer {
  readonly #answered: Promise<Response>
  readonly #leaving = new AbortController()
  #own: ClientPatience | undefined
  #now: () => Micros = () => 0
  /** When it looks again by itself; undefined while it does not wait. */
  #until: Micros | undefined
  #waits = () => {}
  #waiting!: Promise<void>
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #reading: ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> | undefined

  /** @param ask sends the request, whose client waits in the way that is given */
  constructor(ask: (patienceOf: (own: ClientPatience, sim: Simulator) => Patience) => Response | Promise<Response>) {
    this.#expectWait()
    this.#answered = Promise.resolve(ask((own, sim) => this.#over(own, sim)))
    // Told to whoever looks.
    this.#answered.catch(() => {})
  }

  /** Whether its body comes as time goes, so that it has to be read piece by piece. */
  get isPaced(): boolean {
    return this.#own !== undefined && !this.#own.isInstant
  }

  /** Waits, for no time of the world, until it is known where the answer is. Throws what the client would be thrown. */
  async look(): Promise<Whereabouts> {
    const answer = await this.#known(this.#answered)
    return 'delay' in answer ? answer : { answer }
  }

  /** The same for the next piece of its body, or of what has become of that on the way. */
  async read(body: Body): Promise<PieceWhereabouts> {
    this.#reader ??= body.getReader()
    this.#reading ??= this.#reader.read()
    const next = await this.#known(this.#reading)
    if ('delay' in next) return next
    this.#reading = undefined
    return next.done ? { isOver: true } : { piece: next.value }
  }

  /** Its client gives up, and what it had in the world is free. */
  async leave(reason: Error): Promise<void> {
    await this.#reader?.cancel(reason).catch(() => {})
    this.#leaving.abort(reason)
    await this.#answered.catch(() => {})
  }

  async #known<Value extends object>(value: Promise<Value>): Promise<Value | Waiting> {
    for (;;) {
      const come = await Promise.race([value, this.#waiting])
      if (come !== undefined) return come
      if (this.#until !== undefined) return { delay: Math.max(0, this.#until - this.#now()) }
      this.#expectWait()
    }
  }

  #expectWait(): void {
    this.#waiting = new Promise(resolve => {
      this.#waits = resolve
    })
  }

  #over(own: ClientPatience, { clock }: Simulator): Patience {
    this.#own = own
    this.#now = () => clock.elapsed
    return {
      get isInstant() {
        return own.isInstant
      },
      now: () => own.now(),
      wait: async (delay, signal, part, call) => {
        this.#until = clock.elapsed + delay
        this.#waits()
        try {
          await own.hold(delay, AbortSignal.any([signal, this.#leaving.signal]), part, call, true)
        } finally {
          this.#until = undefined
          this.#expectWait()
        }
      },
    }
  }
}
