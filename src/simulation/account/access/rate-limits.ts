import { draw } from '../../../data/profiles/distribution.ts'
import type { Archive } from '../../../kernel/archive.ts'
import { MINUTE, SECOND } from '../../../kernel/duration.ts'
import { purpose } from '../../../kernel/random.ts'
import { type Generation, Row } from '../../../kernel/row.ts'
import type { JournalKindName } from '../../journal-kinds.ts'
import { TablePart } from '../../part.ts'
import type { LedgerParts } from '../ledger.ts'

const REVIEW = purpose('rateLimit.review')
const ID = purpose('rateLimit.id')

/** The rate limits of an account, per model and API token. -1: no limit. */
export interface RateLimitValues {
  /** Requests in flight. */
  readonly requests: number
  /** Tokens of the prompts and answers of requests that are accepted within a minute of the clock. */
  readonly tokensPerMinute: number
}

/** New rate limits. Undefined: the limit stays. */
type RateLimitChanges = { readonly [Name in keyof RateLimitValues]?: number | undefined }

/** A request for higher rate limits, decided after a review. */
export class RateLimitRequestRow extends Row {
  declare readonly requests: number
  /** -1: the limit of tokens stays. */
  declare readonly tokensPerMinute: number
  declare readonly reason: string
  decision = this.reference<'pending' | 'approved' | 'denied'>('pending')
  /** The end of its review. */
  reviewEvent = this.number(0)

  constructor(generation: Generation, id: string, initial: RateLimitValues & { readonly reason: string }) {
    super(generation, id)
    this.requests = this.number(initial.requests)
    this.tokensPerMinute = this.number(initial.tokensPerMinute)
    this.reason = this.reference(initial.reason)
  }
}

/** How many requests and tokens the account may send to a model with a token, and its requests for more. */
export class RateLimits extends TablePart<RateLimitRequestRow, LedgerParts> {
  protected readonly table = this.tableOf(RateLimitRequestRow)
  #requests = this.context.profile.limits.requestsInFlight
  #tokensPerMinute = this.context.profile.limits.tokensPerMinute ?? -1
  /** The minute of the tally, counted from the epoch. */
  #minute = -1
  /** Tokens that were accepted in this minute, by model and API token. */
  #tally = new Map<string, number>()

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#requests = archive.value(this.#requests)
    this.#tokensPerMinute = archive.value(this.#tokensPerMinute)
    this.#minute = archive.value(this.#minute)
    this.#tally = archive.own(this.#tally)
  }

  /** Requests in flight per model and API token; Infinity without a limit. */
  get requests(): number {
    return this.#requests < 0 ? Number.POSITIVE_INFINITY : this.#requests
  }

  /** The limits in force. */
  get values(): RateLimitValues {
    return { requests: this.#requests, tokensPerMinute: this.#tokensPerMinute }
  }

  /** Sets the limits of a fixture. */
  open(limits: RateLimitChanges): void {
    this.#requests = limits.requests ?? this.#requests
    this.#tokensPerMinute = limits.tokensPerMinute ?? this.#tokensPerMinute
  }

  /** Sets limits by a command. */
  setByCommand(limits: RateLimitChanges): void {
    this.open(limits)
    const { requests, tokensPerMinute } = this.values
    this.context.recordCommand(this.parts.ledger.account, 'rateLimit.set', { requests, tokens: tokensPerMinute })
    this.context.markVisibleChange()
  }

  /** Returns the seconds until a model accepts requests of a token again; undefined while its tokens are below the limit. */
  secondsUntilTokens(model: string, token: string): number | undefined {
    if (this.#tokensPerMinute < 0) return undefined
    const { now } = this.context.clock
    const minute = Math.floor(now / MINUTE)
    const used = minute === this.#minute ? (this.#tally.get(tallyKey(model, token)) ?? 0) : 0
    if (used < this.#tokensPerMinute) return undefined
    return Math.max(1, Math.ceil(((minute + 1) * MINUTE - now) / SECOND))
  }

  /** Counts the tokens of an accepted request. */
  countTokens(model: string, token: string, tokens: number): void {
    if (this.#tokensPerMinute < 0) return
    const minute = Math.floor(this.context.clock.now / MINUTE)
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#tally.clear()
    }
    const key = tallyKey(model, token)
    this.#tally.set(key, (this.#tally.get(key) ?? 0) + tokens)
  }

  /** Whether a request for higher limits is pending. */
  get isPending(): boolean {
    return this.#pendingOrdinal() !== undefined
  }

  /** Whether a request would raise a limit. Without a limit there is nothing to raise. */
  wouldRaise({ requests, tokensPerMinute }: RateLimitValues): boolean {
    const raisesRequests = this.#requests >= 0 && requests > this.#requests
    return raisesRequests || (this.#tokensPerMinute >= 0 && tokensPerMinute > this.#tokensPerMinute)
  }

  /** Files a request; the review decides it later. */
  fileRequest(limits: RateLimitValues, reason: string): void {
    const { chance, profile } = this.context
    const key = this.context.newKey('rateLimit', '')
    const row = new RateLimitRequestRow(this.table.generation, `limit_${chance.letters(24, key, ID)}`, {
      ...limits,
      reason,
    })
    const ordinal = this.table.add(row)
    this.#record(row, 'rateLimit.requested')
    if (profile.reviews.limitPolicy !== 'manual') {
      const duration = draw(profile.reviews.limitReview, chance, key, REVIEW)
      row.reviewEvent = this.context.schedule(duration, 'limit.rateDecided', ordinal)
    }
  }

  /** Decides the pending request by a command or because the account is deleted. Returns false if no request is pending. */
  decide(decision: 'approved' | 'denied'): boolean {
    const ordinal = this.#pendingOrdinal()
    if (ordinal === undefined) return false
    this.context.cancel(this.table.read(ordinal).reviewEvent)
    this.#applyDecision(ordinal, decision)
    return true
  }

  /** Decides a request after its review, by the policy of the profile. */
  onReviewed(ordinal: number): void {
    const { limitPolicy, rateLimitApprovedUpTo } = this.context.profile.reviews
    const isApproved = limitPolicy === 'approve' && this.table.read(ordinal).requests <= rateLimitApprovedUpTo
    this.#applyDecision(ordinal, isApproved ? 'approved' : 'denied')
  }

  #pendingOrdinal(): number | undefined {
    for (const [ordinal, { decision }] of this.table.entries()) if (decision === 'pending') return ordinal
    return undefined
  }

  #applyDecision(ordinal: number, decision: 'approved' | 'denied'): void {
    const row = this.table.writable(ordinal)
    row.reviewEvent = 0
    row.decision = decision
    // A command may have set higher limits since the request.
    if (decision === 'approved') {
      if (this.#requests >= 0) this.#requests = Math.max(this.#requests, row.requests)
      if (this.#tokensPerMinute >= 0) this.#tokensPerMinute = Math.max(this.#tokensPerMinute, row.tokensPerMinute)
    }
    this.#record(row, `rateLimit.${decision}`)
  }

  #record(row: RateLimitRequestRow, kind: JournalKindName): void {
    this.context.record(row, kind, { requests: row.requests, tokens: row.tokensPerMinute })
    this.context.markVisibleChange()
  }
}

function tallyKey(model: string, token: string): string {
  return `${model}\u0000${token}`
}
