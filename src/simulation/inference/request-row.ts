import type { Micros } from '../../kernel/duration.ts'
import type { EntityKey } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import { type RequestCost, type TokenPrice, toDollars, type UnitPrice } from '../account/request-cost.ts'
import { type PromptBlocks, tokensOfBlocks } from '../load/prefix-cache.ts'
import type { RequestOutcome, RequestWorkDone } from '../load/request-totals.ts'
import type { MediaWork } from './media-work.ts'
import type { WebhookPlan, WebhookResult } from './webhooks.ts'

/** Who sends a request, and to which model. */
export interface InferenceCaller {
  /** The model name in the request. */
  readonly model: string
  /** The token of the caller. The limit of requests in flight counts by token. */
  readonly token: string
  /** The id of the scoped token with a spending limit that sent it. Default: another token. */
  readonly scope?: string | undefined
}

/** A valid request to a model, with known lengths. */
export interface InferenceSpec {
  /** The prefix of its id, for example `chatcmpl-`. */
  readonly prefix: string
  /** The hash of the request. It seeds the answer and the id. */
  readonly hash: string
  readonly promptTokens: number
  /** The blocks of its prompt, which can hit the prefix cache of an engine. Default: it has no hits. */
  readonly promptBlocks?: PromptBlocks | undefined
  /** The tokens of all answers, which are charged, and of the longest answer, which determines the duration. */
  readonly answerTokens: number
  readonly longestAnswer: number
  /**
   * The work of a media or custom model. It determines duration and price instead of the tokens, and `longestAnswer` is
   * the number of equal pieces in which the answer can be streamed. Undefined: a request that is charged by token.
   */
  readonly work?: MediaWork | undefined
  /** Whether an answer ends at its longest length. Default: false. */
  readonly isCut?: boolean | undefined
  /** Where the result goes. Undefined: the client waits for it. */
  readonly webhook?: WebhookPlan | undefined
}

/** The fields of a request that never change. */
export interface InferencePlan extends InferenceSpec, InferenceCaller {
  readonly key: EntityKey
  /** The full name of the model. The limit of requests in flight counts by this name. */
  readonly name: string
  /** The ordinal of the deployment that serves it. -1: shared capacity. */
  readonly deployment: number
  /** The ordinal of its adapter. -1: no adapter. */
  readonly adapter: number
  /** The ordinal of the reference to the catalog by whose id it came. -1: no reference. */
  readonly reference: number
  /** The catalog model that is charged, and the price of its tokens when the request came. '': not charged. */
  readonly chargedModel: string
  readonly price: TokenPrice | undefined
  /** The price of `work` when the request came. Default: it is not charged. */
  readonly unitPrice?: UnitPrice | undefined
  readonly arrivedAt: Micros
  /** The sequence number of the request in its world: it gives the order of a queue. */
  readonly sequence: number
}

/** A waiting or running request. It is removed from its table when it ends. */
export class InferenceRow extends Row {
  declare readonly plan: InferencePlan
  /** The instance that runs it. -1 while it waits, and on shared capacity. */
  instance = this.int32(-1)
  /** When it started. -1 while it waits. */
  startedAt: Micros = this.number(-1)
  /** When its first token or piece arrives, and the microseconds between two of them. */
  firstTokenAt: Micros = this.number(0)
  tokenTime = this.number(0)
  /** The leading blocks of its prompt that its engine had in the prefix cache. */
  cachedBlocks = this.int32(0)
  /** The event that ends its answer. */
  next = this.number(0)

  /** The tokens of its prompt that its engine had in the prefix cache. */
  get cachedTokens(): number {
    const { promptBlocks, promptTokens } = this.plan
    return promptBlocks === undefined ? 0 : tokensOfBlocks(this.cachedBlocks, promptBlocks, promptTokens)
  }

  /** Returns the microseconds of an instance's work on it, if it ends now. A served answer takes its whole time. */
  workTime(state: EndedState, now: Micros): Micros {
    if (this.startedAt < 0) return 0
    return (state === 'served' ? this.endsAt : now) - this.startedAt
  }

  /** When its answer is complete, if it has started. */
  get endsAt(): Micros {
    return this.firstTokenAt + Math.ceil((Math.max(1, this.plan.longestAnswer) - 1) * this.tokenTime)
  }

  /** Returns the microseconds from its start to its first token; 0 if it ends now before that. */
  firstTokenDelay(state: EndedState, now: Micros): Micros {
    const isAnswered = this.startedAt >= 0 && (state === 'served' || now >= this.firstTokenAt)
    return isAnswered ? this.firstTokenAt - this.startedAt : 0
  }

  constructor(generation: Generation, id: string, initial: Pick<InferenceRow, 'plan'>) {
    super(generation, id)
    this.plan = this.reference(initial.plan)
  }
}

/** Returns how statistics count a request that ends now. */
export function countedEnd(
  row: Readonly<InferenceRow>,
  state: EndedState,
  answeredTokens: number,
  now: Micros,
): { readonly outcome: RequestOutcome; readonly work: RequestWorkDone } {
  const isStarted = row.startedAt >= 0
  return {
    outcome: state === 'left' && !isStarted ? 'abandoned' : state === 'cutOff' ? 'broken' : state,
    work: {
      prompt: isStarted ? row.plan.promptTokens : 0,
      answer: answeredTokens,
      time: row.workTime(state, now),
      firstTokenTime: row.firstTokenDelay(state, now),
      tokenTime: isStarted ? row.tokenTime : 0,
    },
  }
}

/** Returns the result for the webhook of a request that ends now. */
export function webhookResultOf(
  { plan }: Readonly<InferenceRow>,
  state: EndedState,
  cost: RequestCost | undefined,
  workTime: Micros,
): WebhookResult {
  const { promptTokens, answerTokens, work } = plan
  const isServed = state === 'served'
  // Recorded from the live service: a failed request has no runtime and no cost.
  return {
    status: isServed ? 'succeeded' : 'failed',
    workTime: isServed ? workTime : 0,
    cost: isServed && cost ? toDollars(cost) : 0,
    promptTokens: work === undefined ? promptTokens : null,
    answerTokens: work === undefined ? (isServed ? answerTokens : 0) : null,
  }
}

/** Returns the ordinals of the rows whose statistics count a request: its deployment, adapter or reference. */
export function countingRows({ deployment, adapter, reference }: InferencePlan): number[] {
  return [deployment, adapter, reference].filter(ordinal => ordinal >= 0)
}

/** The state of a request. */
export type InferenceState =
  /** It waits for an instance. */
  | 'queued'
  | 'running'
  /** The answer is complete. */
  | 'served'
  /** Its instance is lost. */
  | 'broken'
  /** Its account is cut off. */
  | 'cutOff'
  /** Its deployment or adapter ended before it started. */
  | 'turnedAway'
  /** Its client has left. */
  | 'left'

/** The states in which a request can end. */
export type EndedState = Exclude<InferenceState, 'queued' | 'running'>

/**
 * A request in flight for the transport that holds its client. The handle belongs to that transport. A fork of the world
 * continues the request without the client.
 */
export class InferenceHandle {
  readonly id: string
  readonly plan: InferencePlan
  /** Its ordinal in the table of its world. */
  readonly ordinal: number
  state: InferenceState = 'queued'
  /** Position of the journal entry of its request; 0 for none. */
  cause = 0
  /** Why it was rejected, broken or cut off. */
  reason = ''
  startedAt: Micros = 0
  firstTokenAt: Micros = 0
  /** Microseconds between two tokens. */
  tokenTime = 0
  /** What it costs. Set at its end; undefined for a request that is not charged. */
  cost: RequestCost | undefined
  /** Called before its client ends it: it has the whole answer, or it leaves. */
  onEnd: ((state: 'served' | 'left', tokens: number) => void) | undefined
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

  /** Whether an instance runs it or has completed it. */
  get isStarted(): boolean {
    return this.state === 'running' || this.state === 'served'
  }

  /** Ends the request because the client has the whole answer, possibly early. Frees its capacity. */
  complete(): void {
    if (this.state !== 'running') return
    this.onEnd?.('served', 0)
    this.#end('served', Number.POSITIVE_INFINITY)
  }

  /** Ends the request because the client left after `tokens` tokens. Frees its capacity. */
  abandon(tokens: number): void {
    if (this.state !== 'running' && this.state !== 'queued') return
    this.onEnd?.('left', tokens)
    this.#end('left', tokens)
  }

  /** Sets the listener that is called on each change of state. Undefined removes the listener. */
  onChange(listener: (() => void) | undefined): void {
    this.#listener = listener
  }

  /** Sets the state. Only the simulation calls it. */
  setState(state: InferenceState, reason = ''): void {
    this.state = state
    this.reason = reason
    this.#listener?.()
  }
}

/** Returns the number of answer tokens that were generated until now, when a request ends in a state. */
export function answeredTokensOf(row: Readonly<InferenceRow>, state: EndedState, tokens: number, now: Micros): number {
  const { answerTokens, longestAnswer, work } = row.plan
  if (state === 'served') return answerTokens
  if (work !== undefined) return 0
  if (row.startedAt < 0 || longestAnswer === 0) return 0
  const since = now - row.firstTokenAt
  const generatedTokens = since < 0 ? 0 : Math.floor(since / row.tokenTime) + 1
  return Math.round(answerTokens * Math.min(1, Math.max(generatedTokens, tokens) / longestAnswer))
}
