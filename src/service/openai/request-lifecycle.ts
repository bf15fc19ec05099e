/** What chat, completions and embeddings have in common: the way of a request to an instance and of its answer back. */

import type { ApiToken, ModelTask } from '../../data/records/records.ts'
import { hash32 } from '../../kernel/random.ts'
import { WorldReplaced } from '../../kernel/world-replaced.ts'
import { findModelTarget, type ModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { InferenceHandle, InferenceSpec } from '../../simulation/inference/request-row.ts'
import { RETRY_AFTER } from '../../simulation/inference/requests.ts'
import type { World } from '../../simulation/world.ts'
import { requireFunds } from '../admission.ts'
import { type AnswerPart, type HandlerResult, RefusalError, type ResponseWaiter, refuse } from '../endpoint.ts'

/** Why requests for answers are refused, beside what is wrong with them. */
export const INFERENCE_REFUSALS = {
  400: 'the model does something else, or the prompt is longer than its context',
  402: 'no funds, or the account is suspended; an answer of a catalog model ends with the grace',
  404: 'unknown model, or a deployment that was deleted',
  429: 'requests_in_flight of the profile are in flight with this token and model, its queue is full, or it sleeps and the GPU limit lets no instance start',
  503: 'the deployment is not running yet or any more, or the instance that answered was lost',
} as const

/**
 * Takes a request on.
 *
 * @param longestPromptTokens tokens that must have room in the context
 * @param minAnswerTokens tokens that must have room behind them
 * @param createSpec what to ask of the model, once its context is known and what answers for it
 * @throws Refused, before anything has changed
 */
export function startInference(
  world: World,
  token: ApiToken | undefined,
  model: string,
  task: ModelTask,
  longestPromptTokens: number,
  minAnswerTokens: number,
  createSpec: (context: number, target: ModelTarget) => Omit<InferenceSpec, 'token' | 'model'>,
): InferenceHandle {
  requireFunds(world)
  const target = findModelTarget(world, model)
  const tokenId = token?.token_id ?? ''
  const rejection = world.inferenceRequests.rejectionFor(model, tokenId, target)
  if (rejection !== undefined || target === undefined) {
    const { status, message, retryAfter } = rejection!
    refuse(status, message, retryAfter === undefined ? undefined : createRetryAfterHeader(retryAfter))
  }
  if (target.task !== task) refuse(400, `model ${model} does ${target.task}, not ${task}`)
  const context = requireContextLength(world, target, model, longestPromptTokens, minAnswerTokens)
  return world.inferenceRequests.submit({ ...createSpec(context, target), model, token: tokenId }, target)
}

/**
 * Tokens that a model has room for, prompt and answer together.
 *
 * @throws Refused for a prompt that is longer, or leaves no room for the shortest answer
 */
export function requireContextLength(
  world: World,
  target: ModelTarget,
  model: string,
  longestPromptTokens: number,
  minAnswerTokens: number,
): number {
  const context = findContextLength(world, target) ?? Number.POSITIVE_INFINITY
  if (longestPromptTokens + minAnswerTokens > context) {
    const noRoomText = longestPromptTokens > context ? '' : ': there is no room for an answer'
    refuse(400, `the prompt has ${longestPromptTokens} tokens, and the context of ${model} is ${context}${noRoomText}`)
  }
  return context
}

/** Tokens that a model has room for, prompt and answer together; null where nobody says. */
export function findContextLength({ deployments, store }: World, target: ModelTarget): number | null {
  if (target.kind === 'own') return deployments.read(target.deployment).weights.context
  return store.models.get(target.model)?.max_tokens ?? null
}

/** Who asked, and may leave. A door makes the signal when it is read for the first time: only who has to wait looks. */
export type AbortSource = Pick<Request, 'signal'>

/** The whole answer, when it is there. */
export function waitForWholeAnswer<Value>(
  world: World,
  handle: InferenceHandle,
  longestAnswer: number,
  waiter: ResponseWaiter,
  client: AbortSource,
  createAnswer: () => HandlerResult<Value>,
): HandlerResult<Value> | Promise<HandlerResult<Value>> {
  if (waiter.isInstant && handle.isStarted) {
    handle.complete()
    return createAnswer()
  }
  return waitThenAnswer()

  async function waitThenAnswer(): Promise<HandlerResult<Value>> {
    await waitUntilStarted(world, handle, waiter, client)
    if (!waiter.isInstant) {
      const end = handle.firstTokenAt + Math.ceil((Math.max(1, longestAnswer) - 1) * handle.tokenTime)
      // A client may be slower than its world, for which the answer is over then.
      for (let now = waiter.now(); now < end && handle.isStarted; now = waiter.now()) {
        await waitForChange(handle, waiter, end - now, client)
      }
      requireUnbroken(handle)
    }
    handle.complete()
    return createAnswer()
  }
}

/** Waits until an instance works on a request. Throws Refused when none ever will. */
export async function waitUntilStarted(
  world: World,
  handle: InferenceHandle,
  waiter: ResponseWaiter,
  client: AbortSource,
): Promise<void> {
  while (handle.state === 'queued') {
    // Whatever happens next in the world may be what it waits for.
    const { agenda, clock } = world
    const delay = agenda.size > 0 ? Math.max(0, agenda.nextTime - clock.now) : Number.POSITIVE_INFINITY
    await waitForChange(handle, waiter, delay, client, 'turn')
  }
  if (handle.state === 'turnedAway')
    throw new RefusalError(503, handle.reason, createRetryAfterHeader(RETRY_AFTER.start))
  requireUnbroken(handle)
}

/** Why a wait ends early: what is waited for came on. */
const STATE_CHANGED = 'changed'

/** Waits on the client's clock, or until the request gets another state; a client that gives up leaves. */
export async function waitForChange(
  handle: InferenceHandle,
  waiter: ResponseWaiter,
  delay: number,
  client: AbortSource,
  part: AnswerPart = 'head',
): Promise<void> {
  if (delay <= 0 && handle.state !== 'queued') return
  const { state } = handle
  const { signal } = client
  const change = new AbortController()
  const abortWait = () => change.abort(signal.reason)
  signal.addEventListener('abort', abortWait, { once: true })
  // With a reason of our own: without one each change would make an error, and a stack with it.
  handle.onChange(() => change.abort(STATE_CHANGED))
  try {
    if (signal.aborted) abortWait()
    await waiter.wait(delay, change.signal, part, handle)
  } catch (error) {
    // A world that is gone brings no answer, even if the request has got a place in it meanwhile.
    if (handle.state === state || signal.aborted || error instanceof WorldReplaced) {
      handle.abandon(0)
      throw signal.aborted ? signal.reason : error
    }
  } finally {
    handle.onChange(undefined)
    signal.removeEventListener('abort', abortWait)
  }
}

/** Throws Refused for a request that ended before its answer did. */
function requireUnbroken({ state, reason }: InferenceHandle): void {
  if (state === 'cutOff') throw new RefusalError(402, `the answer was cut off: ${reason}`)
  if (state !== 'broken') return
  throw new RefusalError(
    503,
    `the instance that answered was lost: ${reason}`,
    createRetryAfterHeader(RETRY_AFTER.place),
  )
}

/** The header of a refusal that says when another try may have better luck. */
export function createRetryAfterHeader(seconds: number): Readonly<Record<string, string>> {
  return { 'retry-after': String(seconds) }
}

/** What a request is known by to chance, by the whole name of its model. */
export function hashRequest(model: string, prompt: string): string {
  const text = `${model}\u0000${prompt}`
  return `${hash32(text).toString(16)}${hash32(text, 1).toString(16)}`
}
