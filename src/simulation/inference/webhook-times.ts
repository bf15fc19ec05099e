import type { Agenda } from '../../kernel/agenda.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { InferenceRequests } from './requests.ts'
import type { Webhooks } from './webhooks.ts'

interface WebhookWorld {
  readonly agenda: Pick<Agenda, 'nextTime'>
  readonly inferenceRequests: InferenceRequests
  readonly webhooks: Webhooks
}

/** Returns the time at which an attempt for a webhook may begin next; Infinity if no request has a webhook. */
export function nextWebhookTime({ agenda, inferenceRequests, webhooks }: WebhookWorld): Micros {
  let next = webhooks.nextAttemptAt
  for (const [, row] of inferenceRequests.entries()) {
    if (row.plan.webhook === undefined) continue
    // Any event may bring an instance for a request that waits.
    next = Math.min(next, row.startedAt < 0 ? agenda.nextTime : row.endsAt)
  }
  return next
}
