/** Runs a request of native inference on the fleet, and answers it whole or as a stream. */
import type { ModelTask } from '../../data/records/enums.ts'
import { toDollars } from '../../simulation/account/request-cost.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import type { World } from '../../simulation/world.ts'
import type { ApiScope } from '../api-scope.ts'
import {
  answerWhenStarted,
  findPromptBlocks,
  hashRequest,
  startInference,
  waitForWholeAnswer,
} from '../openai/request-lifecycle.ts'
import { createEventStream } from '../openai/sse.ts'
import { refuse } from '../refusals.ts'
import { DeferredResult } from '../results.ts'
import type { InferenceStatus, NativeScope, NativeWork } from './protocol.ts'
import { type AnyNativeProtocol, NATIVE_PROTOCOLS } from './tasks.ts'
import { createQueuedAnswer, type QueuedAnswer, requireAllowedWebhook } from './webhooks.ts'

/** Prefix of the ids of requests. */
const ID_PREFIX = 'R'

/**
 * Answers a request for a model.
 *
 * @param model a name, or `deploy_id:<id>`
 * @throws RefusalError, before anything has changed
 */
export function runNative(
  { world, token, request, findScriptedAnswer, webhookHosts }: ApiScope & { readonly request: Request },
  model: string,
  body: { readonly webhook?: unknown },
): DeferredResult<never> | QueuedAnswer {
  const task = requireModelTask(world, model)
  const protocol: AnyNativeProtocol = NATIVE_PROTOCOLS[task]
  const url = body.webhook as string | null | undefined
  if (url) requireAllowedWebhook(url, webhookHosts)
  const input = protocol.parse(body)
  const { promptTokens, longestPromptTokens = promptTokens, minAnswerTokens = 0 } = input
  let scope: NativeScope
  let work: NativeWork<unknown, unknown>
  const handle = startInference(
    world,
    token,
    model,
    task,
    longestPromptTokens,
    minAnswerTokens,
    (contextLength, target) => {
      scope = { world, findScriptedAnswer, model, target, contextLength }
      work = protocol.createWork(scope, body, input)
      const { answerTokens = 0, longestAnswer = 0, spec } = work
      return {
        prefix: ID_PREFIX,
        hash: hashRequest(target.name, input.prompt),
        // Engines of embeddings and of reranking have no prefix cache.
        promptBlocks: task === 'text-generation' ? findPromptBlocks(target, input.prompt, promptTokens) : undefined,
        promptTokens,
        answerTokens,
        longestAnswer,
        ...(work.work && { work: work.work }),
        ...(url && { webhook: { url, task, spec } }),
      }
    },
  )
  if (url) return createQueuedAnswer(handle.id)
  const stream = protocol.createStream?.(scope!, body, input, work!)
  const { longestAnswer = 0, spec } = work!
  if (stream === undefined) {
    return new DeferredResult(waiter =>
      waitForWholeAnswer(world, handle, longestAnswer, waiter, request, () => ({
        request_id: handle.id,
        inference_status: toStatus(handle),
        ...protocol.createResult(world.chance, spec),
      })),
    ) as DeferredResult<never>
  }
  return new DeferredResult<never>(waiter =>
    answerWhenStarted<never>(world, handle, waiter, request, () =>
      createEventStream({ world, handle, longestAnswer, waiter, client: request, ...stream }),
    ),
  )
}

/** Returns the status of a request whose answer is complete. */
function toStatus({ plan, startedAt, firstTokenAt, tokenTime, cost }: InferenceHandle): InferenceStatus {
  const { promptTokens, answerTokens, longestAnswer, work } = plan
  const end = firstTokenAt + Math.ceil((Math.max(1, longestAnswer) - 1) * tokenTime)
  return {
    status: 'succeeded',
    runtime_ms: Math.round((end - startedAt) / 1000),
    cost: cost === undefined ? 0 : toDollars(cost),
    tokens_generated: work === undefined ? answerTokens : null,
    tokens_input: work === undefined ? promptTokens : null,
  }
}

/** Returns the task of a model. Refuses with 404 for an unknown or deprecated one. */
export function requireModelTask(world: World, model: string): ModelTask {
  return (findModelTarget(world, model) ?? refuse(404, `model does not exist: ${model}`)).task
}
