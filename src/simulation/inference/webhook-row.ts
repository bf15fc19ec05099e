import type { ModelTask } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type Generation, Row } from '../../kernel/row.ts'

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
