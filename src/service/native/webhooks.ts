/** Webhooks of native inference: the answer of a request that does not wait, and the result that is posted later. */

import * as z from 'zod'
import { quote } from '../../lib/quote.ts'
import { hideSecrets } from '../../lib/text/secrets.ts'
import type { WebhookAttempt } from '../../simulation/inference/webhooks.ts'
import type { World } from '../../simulation/world.ts'
import { recordSchema } from '../fields.ts'
import { refuseInput } from '../refusals.ts'
import { InferenceStatus } from './protocol.ts'
import { NATIVE_PROTOCOLS } from './tasks.ts'
import { webhookRefusal } from './webhook-address.ts'

/** The answer to a request with a webhook. */
export const QueuedAnswer = recordSchema('QueuedInferenceAnswer', {
  request_id: z.string(),
  inference_status: InferenceStatus.extend({ status: z.literal('queued') }).meta({ id: 'QueuedInferenceStatus' }),
})
export type QueuedAnswer = z.output<typeof QueuedAnswer>

/** Returns the answer to an accepted request with a webhook. */
export function createQueuedAnswer(request_id: string): QueuedAnswer {
  return {
    request_id,
    inference_status: { status: 'queued', runtime_ms: 0, cost: 0, tokens_generated: null, tokens_input: null },
  }
}

/** Refuses with 400 if results may not be sent to an address. */
export function requireAllowedWebhook(url: string, hosts: readonly string[]): void {
  const reason = webhookRefusal(url, hosts)
  if (reason !== undefined) refuseInput(400, `webhook ${quote(hideSecrets(url))} is not allowed: ${reason}`)
}

/** Returns what is posted to a webhook. */
export function createWebhookBody(
  { chance }: World,
  { requestId, task, spec, result }: WebhookAttempt,
): Readonly<Record<string, unknown>> {
  const { status, workTime, cost, promptTokens, answerTokens } = result
  const inference_status: InferenceStatus = {
    status,
    runtime_ms: Math.round(workTime / 1000),
    cost,
    tokens_generated: answerTokens,
    tokens_input: promptTokens,
  }
  const head = { request_id: requestId, inference_status }
  if (status === 'failed') return head
  return { ...head, ...NATIVE_PROTOCOLS[task].createResult(chance, spec as never) }
}
