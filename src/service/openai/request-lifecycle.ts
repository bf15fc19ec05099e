/** Lifecycle of an inference request, by token or of a media model: submit, wait, answer. */

import type { ModelTask } from '../../data/records/enums.ts'
import { WorldReplaced } from '../../kernel/loop.ts'
import { hash32Pair } from '../../kernel/random.ts'
import { Cancellation } from '../../lib/cancellation.ts'
import type { CallerToken, TokenScope } from '../../simulation/account/access/scoped-tokens.ts'
import { contextOf } from '../../simulation/deployments/instance-speed.ts'
import { findModelTarget, type ModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { MediaWork } from '../../simulation/inference/media-work.ts'
import { RETRY_AFTER } from '../../simulation/inference/request-admission.ts'
import type { InferenceHandle, InferenceSpec } from '../../simulation/inference/request-row.ts'
import { hashPromptBlocks, type PromptBlocks } from '../../simulation/load/prefix-cache.ts'
import type { World } from '../../simulation/world.ts'
import { requireFunds } from '../admission.ts'
import { RefusalError, refuse, refuseOverLimit } from '../refusals.ts'
import type { AnswerPart, HandlerResult, ResponseWaiter } from '../results.ts'
import { createCompatErrorBody } from './error-body.ts'

/** What the endpoints of the chat protocol and its media have in common. */
export const COMPAT_INFERENCE = {
  isMirrored: true,
  errorShape: 'compat',
  acceptsKeyHeader: true,
  acceptsScopedTokens: true,
} as const

/** Declared refusals of inference requests. */
export const INFERENCE_REFUSALS = {
  400: 'the model has another task, or the prompt does not fit its context',
  402: 'no funds, the account is suspended, or a scoped token has spent its limit; at the end of the grace period answers of catalog models in progress are cut off',
  403: 'a scoped token does not allow the model',
  404: 'unknown or deprecated model, a deleted deployment, or the name of a deployment that was never ready since its start, or is stopped, failed or parked',
  429: 'too many requests in progress with this token and model (requests_in_flight of the profile), the queue is full, or the deployment sleeps and the GPU limit allows no instance',
  503: 'the deployment of a deploy_id is not running, a deployment stopped while the request waited, or the instance of the answer was lost',
} as const

export const TAGGED_REFUSALS = {
  ...INFERENCE_REFUSALS,
  400: `${INFERENCE_REFUSALS[400]}, or the catalog model reads no images`,
  405: 'the catalog model calls no tools',
} as const

/** Refuses what needs a tag that a model of the catalog does not have. A model with other weights can do everything. */
export function requireTags(world: World, model: string, needs: { tools: boolean; multimodal: boolean }): void {
  const { toolsWithoutTag, imagesWithoutTag } = world.profile.policies
  const tools = needs.tools && toolsWithoutTag === 'refuse'
  const multimodal = needs.multimodal && imagesWithoutTag === 'refuse'
  const target = tools || multimodal ? findModelTarget(world, model) : undefined
  if (target === undefined) return
  const name = target.kind === 'catalog' ? target.model : world.deployments.read(target.deployment).weights.repo
  const tags = world.store.models.get(name)?.tags
  if (tools && tags?.includes('tools') === false) refuse(405, `model ${model} calls no tools: it has no tag tools`)
  if (multimodal && tags?.includes('multimodal') === false)
    refuse(400, `model ${model} reads no images: it has no tag multimodal`)
}

/**
 * Submits a request to a model that is charged by token.
 *
 * @param longestPromptTokens tokens of the longest prompt, which must fit the context
 * @param minAnswerTokens tokens that the context must also have room for
 * @param createSpec creates the work for the model from its context length and target
 * @throws RefusalError, before anything has changed
 */
export function startInference(
  world: World,
  token: CallerToken | undefined,
  model: string,
  task: ModelTask,
  longestPromptTokens: number,
  minAnswerTokens: number,
  createSpec: (context: number, target: ModelTarget) => InferenceSpec,
): InferenceHandle {
  const target = requireTarget(world, token, model, task)
  const context = requireContextLength(world, target, model, longestPromptTokens, minAnswerTokens)
  return submit(world, token, model, target, createSpec(context, target))
}

/** A request to a media or custom model. Default: no tokens, and an answer in one piece. */
export interface MediaSpec extends Pick<InferenceSpec, 'prefix' | 'hash'> {
  /** Its duration and price, from `simulation/inference/media-work.ts`. */
  readonly work: MediaWork
  /** The equal pieces in which the answer is streamed. Default: 1. */
  readonly pieces?: number
  /** Tokens of the input, for models with the pricing type `input_tokens` or `tokens`. */
  readonly promptTokens?: number
}

/**
 * Submits a request to a media or custom model. It is charged only if it is served, by the pricing type of the catalog
 * model. Wait for its end with `waitForWholeAnswer(world, handle, pieces, …)`. Then `handle.cost` is its cost.
 *
 * @param createSpec creates the work for the target
 * @throws RefusalError, before anything has changed
 */
export function startMediaInference(
  world: World,
  token: CallerToken | undefined,
  model: string,
  task: ModelTask,
  createSpec: (target: ModelTarget) => MediaSpec,
): InferenceHandle {
  const target = requireTarget(world, token, model, task)
  const { pieces = 1, promptTokens = 0, ...spec } = createSpec(target)
  return submit(world, token, model, target, { ...spec, promptTokens, answerTokens: 0, longestAnswer: pieces })
}

/**
 * Returns what serves a model, if it accepts a request now.
 *
 * @throws RefusalError for an account without funds, and for a model that is unknown, busy or has another task
 */
function requireTarget(world: World, token: CallerToken | undefined, model: string, task: ModelTask): ModelTarget {
  requireFunds(world)
  const target = findModelTarget(world, model)
  if (token?.scope !== undefined) requireScope(world, token.scope, model, target)
  const rejection = world.inferenceRequests.rejectionFor(model, token?.token_id ?? '', target)
  if (rejection !== undefined || target === undefined) {
    const { status, message, retryAfter } = rejection!
    refuse(status, message, retryAfter === undefined ? undefined : createRetryAfterHeader(retryAfter))
  }
  if (target.task !== task) refuse(400, `model ${model} does ${target.task}, not ${task}`)
  return target
}

function submit(
  world: World,
  token: CallerToken | undefined,
  model: string,
  target: ModelTarget,
  spec: InferenceSpec,
): InferenceHandle {
  const scope = token?.scope?.spendingLimit === undefined ? undefined : token.scope.id
  return world.inferenceRequests.submit(spec, { model, token: token?.token_id ?? '', scope }, target)
}

/** Refuses with 403 a model that a scoped token does not allow, and with 402 a token that has spent its limit. */
function requireScope(world: World, scope: TokenScope, model: string, target: ModelTarget | undefined): void {
  const { models, spendingLimit } = scope
  const isAllowed = models === undefined || models.includes(model) || (target && models.includes(target.name))
  if (!isAllowed) refuse(403, `the scoped token does not allow ${model}: its models are ${models.join(', ')}`)
  if (!world.access.scopedTokens.isSpent(scope)) return
  refuseOverLimit(402, `the scoped token has spent its limit of ${spendingLimit} US dollars`)
}

/**
 * Returns the context length of a model in tokens, for prompt and answer together.
 *
 * @throws RefusalError if the prompt is longer, or leaves no room for the shortest answer
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
    const message = `the prompt has ${longestPromptTokens} tokens, and the context of ${model} is ${context}${noRoomText}`
    refuseOverLimit(400, message, createCompatErrorBody(400, message, { code: 'context_length_exceeded' }))
  }
  return context
}

/** Returns the context length of a model in tokens, for prompt and answer together; null if unknown. */
export function findContextLength({ deployments, store }: World, target: ModelTarget): number | null {
  if (target.kind === 'own') return contextOf(deployments.read(target.deployment))
  return store.models.get(target.model)?.max_tokens ?? null
}

/** The client, which may abort. Transports create the signal on first read, so only requests that wait read it. */
export type AbortSource = Pick<Request, 'signal'>

/** Returns the whole answer when it is complete. */
export function waitForWholeAnswer<Value>(
  world: World,
  handle: InferenceHandle,
  longestAnswer: number,
  waiter: ResponseWaiter,
  client: AbortSource,
  createAnswer: () => HandlerResult<Value>,
): HandlerResult<Value> | Promise<HandlerResult<Value>> {
  waiter.onBegin?.(handle)
  if (waiter.isInstant && handle.isStarted) {
    handle.complete()
    return createAnswer()
  }
  return waitThenAnswer()

  async function waitThenAnswer(): Promise<HandlerResult<Value>> {
    await waitUntilStarted(world, handle, waiter, client)
    if (!waiter.isInstant) {
      const end = handle.firstTokenAt + Math.ceil((Math.max(1, longestAnswer) - 1) * handle.tokenTime)
      // The world may have ended the answer before the client's clock gets there.
      for (let now = waiter.now(); now < end && handle.isStarted; now = waiter.now()) {
        await waitForChange(handle, waiter, end - now, client)
      }
      requireUnbroken(handle)
    }
    handle.complete()
    return createAnswer()
  }
}

/** Returns the beginning of an answer when an instance works on the request; without a promise if it does already. */
export function answerWhenStarted<Value>(
  world: World,
  handle: InferenceHandle,
  waiter: ResponseWaiter,
  client: AbortSource,
  createAnswer: () => HandlerResult<Value>,
): HandlerResult<Value> | Promise<HandlerResult<Value>> {
  if (!handle.isStarted) return waitUntilStarted(world, handle, waiter, client).then(createAnswer)
  waiter.onBegin?.(handle)
  return createAnswer()
}

/** Waits until an instance works on the request. Throws RefusalError if the request is turned away or lost. */
async function waitUntilStarted(
  world: World,
  handle: InferenceHandle,
  waiter: ResponseWaiter,
  client: AbortSource,
): Promise<void> {
  waiter.onBegin?.(handle)
  while (handle.state === 'queued') {
    // Any event may change the request, so look again after the next one.
    const { agenda, clock } = world
    const delay = agenda.size > 0 ? Math.max(0, agenda.nextTime - clock.now) : Number.POSITIVE_INFINITY
    await waitForChange(handle, waiter, delay, client, 'turn')
  }
  // Only the account can start a deployment that was stopped, failed or parked, so a retry does not help.
  if (handle.state === 'turnedAway') refuse(503, handle.reason)
  requireUnbroken(handle)
}

/** Abort reason of a wait whose request changed its state. */
const STATE_CHANGED = 'changed'

/** Waits on the client's clock, or until the request changes its state. If the client aborts, the request is abandoned. */
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
  const change = new Cancellation()
  const abortWait = () => change.abort(signal.reason)
  signal.addEventListener('abort', abortWait, { once: true })
  handle.onChange(() => change.abort(STATE_CHANGED))
  try {
    if (signal.aborted) abortWait()
    await waiter.wait(delay, change, part, handle)
  } catch (error) {
    // A replaced world gives no answer, even if the request got a place in it meanwhile.
    if (handle.state === state || signal.aborted || error instanceof WorldReplaced) {
      // The clock may lag behind the client's.
      if (signal.aborted) waiter.now()
      handle.abandon(0)
      throw signal.aborted ? signal.reason : error
    }
  } finally {
    handle.onChange(undefined)
    signal.removeEventListener('abort', abortWait)
  }
}

/** Throws RefusalError if the request ended before its answer. */
function requireUnbroken({ state, reason }: InferenceHandle): void {
  if (state === 'cutOff') throw new RefusalError(402, `the answer was cut off: ${reason}`)
  if (state !== 'broken') return
  throw new RefusalError(
    503,
    `the instance that answered was lost: ${reason}`,
    createRetryAfterHeader(RETRY_AFTER.place),
  )
}

/** Returns the header that says after how many seconds a retry may succeed. */
export function createRetryAfterHeader(seconds: number): Readonly<Record<string, string>> {
  return { 'retry-after': String(seconds) }
}

/** Returns the blocks of a prompt for the prefix cache of an engine; undefined for shared capacity, which has no engine. */
export function findPromptBlocks(
  { kind, name }: ModelTarget,
  prompt: string,
  promptTokens: number,
): PromptBlocks | undefined {
  return kind === 'own' ? hashPromptBlocks(name, prompt, promptTokens) : undefined
}

/** Returns the name of a request for random draws. `model` is the full name. */
export function hashRequest(model: string, prompt: string): string {
  const { hi, lo } = hash32Pair(`${model}\u0000${prompt}`, 0, 1)
  return `${hi.toString(16)}${lo.toString(16)}`
}
