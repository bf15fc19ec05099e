import type { Micros } from '../../kernel/duration.ts'
import type { EntityKey } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/table.ts'

/** A request for an answer of a model, checked and with its lengths known. */
export interface InferenceSpec {
  /** The model as the request names it. */
  readonly model: string
  /** What its wire id begins with, as in `chatcmpl-`. */
  readonly prefix: string
  /** The token of the caller, which the limit of requests in flight goes by. */
  readonly token: string
  /** What its answer and its id are drawn from: the hash of the request. */
  readonly hash: string
  readonly promptTokens: number
  /** Tokens of all answers, which are charged, and of the longest, which decides how long it takes. */
  readonly answerTokens: number
  readonly longestAnswer: number
}

/** What a request in flight is made of and never changes. */
export interface InferencePlan extends InferenceSpec {
  readonly key: EntityKey
  /** The whole name of the model, which the limit of requests in flight goes by. */
  readonly name: string
  /** Ordinal of the deployment whose instances serve it; -1 for shared capacity. */
  readonly deployment: number
  /** Ordinal of the adapter that it asks for; -1 for none. */
  readonly adapter: number
  /** The model of the catalog that its tokens are charged by, and at which share of its price; '' for none. */
  readonly chargedModel: string
  readonly priceShare: number
  readonly arrivedAt: Micros
  /** Which request of its world it is: the order of a queue. */
  readonly sequence: number
}

/** A request that waits for an instance or is answered by one; it leaves its table when it is over. */
export class InferenceRow extends Row {
  readonly plan: InferencePlan
  /** The instance that answers; -1 while it waits, and on shared capacity. */
  instance = -1
  /** When an instance took it on; -1 while it waits. */
  startedAt: Micros = -1
  /** When its first token comes, and microseconds between two tokens. */
  firstTokenAt: Micros = 0
  tokenTime = 0
  /** The end of its answer. */
  next = 0

  constructor(generation: Generation, id: string, plan: InferencePlan) {
    super(generation, id)
    this.plan = plan
  }

  copy(generation: Generation): InferenceRow {
    const copy = new InferenceRow(generation, this.id, this.plan)
    copy.instance = this.instance
    copy.startedAt = this.startedAt
    copy.firstTokenAt = this.firstTokenAt
    copy.tokenTime = this.tokenTime
    copy.next = this.next
    return copy.takeHash(this)
  }
}

/** How far a request has come. */
export type InferenceState =
  /** It waits for an instance. */
  | 'queued'
  | 'running'
  /** The whole answer is there. */
  | 'served'
  /** The instance that answered it is lost. */
  | 'broken'
  /** The account that pays for it is cut off. */
  | 'cutOff'
  /** What it waited for will not come. */
  | 'turnedAway'
  /** Its client has left. */
  | 'left'

/** How a request can end. */
export type EndedState = Exclude<InferenceState, 'queued' | 'running'>

/**
 * A request in flight as the door that holds its client sees it. It belongs to that door: a fork of the world goes on
 * with the request and without the client.
 */
export class InferenceHandle {
  readonly id: string
  readonly plan: InferencePlan
  /** Its place in the table of its world. */
  readonly ordinal: number
  state: InferenceState = 'queued'
  /** Why it was turned away, broken or cut off. */
  reason = ''
  startedAt: Micros = 0
  firstTokenAt: Micros = 0
  /** Microseconds between two tokens. */
  tokenTime = 0
  readonly #end: (state: 'served' | 'left', tokens: number) => void
  #listener: (() => void) | undefined

  constructor(
    { id, plan }: Readonly<InferenceRow>,
    ordinal: number,
    end: (state: 'served' | 'left', tokens: number) => void,
  ) {
    this.id = id
    this.plan = plan
    this.ordinal = ordinal
    this.#end = end
  }

  /** Whether an instance works on it, or has. */
  get isStarted(): boolean {
    return this.state === 'running' || this.state === 'served'
  }

  /** The client has the whole answer, maybe before its time: its place is free. */
  complete(): void {
    if (this.state === 'running') this.#end('served', Number.POSITIVE_INFINITY)
  }

  /** The client has left after so many tokens: its place is free. */
  abandon(tokens: number): void {
    if (this.state === 'running' || this.state === 'queued') this.#end('left', tokens)
  }

  /** Calls `listener` when it gets another state; one listener at a time, `undefined` for none. */
  onChange(listener: (() => void) | undefined): void {
    this.#listener = listener
  }

  /** For the simulation: it has another state. */
  setState(state: InferenceState, reason = ''): void {
    this.state = state
    this.reason = reason
    this.#listener?.()
  }
}
