import type { ModelTask } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import { hideSecrets } from '../../lib/text/secrets.ts'
import { TablePart } from '../part.ts'

/** The address that gets the result of a request, and what determines the result. It is plain data. */
export interface WebhookPlan {
  readonly url: string
  readonly task: ModelTask
  readonly spec: unknown
}

/** How a request with a webhook ended. */
export interface WebhookResult {
  readonly status: 'succeeded' | 'failed'
  /** Microseconds of an instance's work. */
  readonly workTime: Micros
  /** US dollars. */
  readonly cost: number
  /** null: the model is not charged by token. */
  readonly promptTokens: number | null
  readonly answerTokens: number | null
}

/** A result that its webhook has not accepted yet. The id is that of the request. */
export class WebhookRow extends Row {
  declare readonly plan: WebhookPlan
  declare readonly result: WebhookResult
  /** Attempts so far, the present one included. */
  attempts = this.int32(0)
  /** Whether an attempt is under way. */
  isSending = this.boolean(false)
  /** When the next attempt begins. */
  dueAt: Micros = this.number(0)

  constructor(generation: Generation, id: string, initial: Pick<WebhookRow, 'plan' | 'result'>) {
    super(generation, id)
    this.plan = this.reference(initial.plan)
    this.result = this.reference(initial.result)
  }
}

/** One attempt to deliver a result. */
export interface WebhookAttempt extends WebhookPlan {
  readonly ordinal: number
  readonly use: number
  readonly requestId: string
  /** Counts from 1. */
  readonly attempt: number
  readonly result: WebhookResult
}

/** How an attempt ended: with the status of an answer, or without an answer. */
export type WebhookOutcome = { readonly status: number } | { readonly reason: string }

/** Sends results to their addresses. It is outside of the world, and reports each outcome with `recordOutcome`. */
export interface WebhookSender {
  send(attempt: WebhookAttempt): void
  /** Tells that an attempt is scheduled, possibly by a command between two moves of time. */
  expect(): void
}

/**
 * The results of requests that go to an address of the client.
 *
 * The world decides when an attempt begins, and when the next one follows a failure. It knows nothing of the network: a
 * sender does the real work, and its outcome comes back as a command from outside. A world without a sender waits for
 * the outcome, so copies of a world that run ahead send nothing.
 */
export class Webhooks extends TablePart<WebhookRow> {
  protected readonly table = this.tableOf(WebhookRow)
  sender: WebhookSender | undefined

  /** Schedules the first attempt for the result of a request that ends now. */
  add(requestId: string, plan: WebhookPlan, result: WebhookResult): void {
    const row = new WebhookRow(this.table.generation, requestId, { plan, result })
    this.#schedule(this.table.add(row), row, 0)
  }

  /** The time of the next attempt. Infinity: no attempt is scheduled. */
  get nextAttemptAt(): Micros {
    let next = Number.POSITIVE_INFINITY
    for (const [, row] of this.table.entries()) if (!row.isSending) next = Math.min(next, row.dueAt)
    return next
  }

  /** Returns the attempts that are under way, in the order of their slots. */
  listUnderWay(): WebhookAttempt[] {
    const underWay = [...this.table.entries()].filter(([, { isSending }]) => isSending)
    return underWay.map(([ordinal, row]) => this.#toAttempt(ordinal, row))
  }

  onEvent(event: 'webhook.due', ordinal: number, use: number): void {
    if (this.table.useCount(ordinal) !== use) throw new Error(`Failed to fire ${event}: its webhook has gone.`)
    this.#begin(ordinal)
  }

  /** Ends an attempt. After a failure the next one is scheduled. An attempt that is no longer under way is ignored. */
  recordOutcome({ ordinal, use, attempt }: WebhookAttempt, outcome: WebhookOutcome): void {
    const isKnown = this.table.useCount(ordinal) === use && this.table.find(ordinal)?.attempts === attempt
    if (!isKnown || !this.table.read(ordinal).isSending) return
    const row = this.table.writable(ordinal)
    row.isSending = false
    if ('status' in outcome && outcome.status >= 200 && outcome.status < 300) {
      this.context.recordCommand(row, 'webhook.delivered', { status: outcome.status, attempt })
      this.table.remove(ordinal)
      return
    }
    this.context.recordCommand(row, 'webhook.failed', { ...outcome, attempt })
    const { webhookBackOff, webhookAttempts } = this.context.profile.timings
    if (attempt < webhookAttempts) {
      this.#schedule(ordinal, row, webhookBackOff * 2 ** (attempt - 1))
      return
    }
    this.context.record(row, 'webhook.gaveUp', { attempts: attempt })
    this.table.remove(ordinal)
  }

  #schedule(ordinal: number, row: WebhookRow, delay: Micros): void {
    row.dueAt = this.context.clock.now + delay
    this.context.scheduleAt(row.dueAt, 'webhook.due', ordinal, this.table.useCount(ordinal))
    this.sender?.expect()
  }

  #begin(ordinal: number): void {
    const row = this.table.writable(ordinal)
    row.attempts++
    row.isSending = true
    this.context.record(row, 'webhook.sent', { url: hideSecrets(row.plan.url), attempt: row.attempts })
    this.sender?.send(this.#toAttempt(ordinal, row))
  }

  #toAttempt(ordinal: number, { id, plan, result, attempts }: Readonly<WebhookRow>): WebhookAttempt {
    return { ...plan, ordinal, use: this.table.useCount(ordinal), requestId: id, attempt: attempts, result }
  }
}
