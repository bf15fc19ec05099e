/** What chat, completions and embeddings have in common: the way of a request to an instance and of its answer back. */

import { RETRY_AFTER } from '../cluster/inference.ts'
import type { InferenceCall, InferenceSpec } from '../cluster/inference-row.ts'
import { type Target, targetOf } from '../cluster/targets.ts'
import type { World } from '../cluster/world.ts'
import { hash32 } from '../kernel/random.ts'
import { WorldReplaced } from '../kernel/world-replaced.ts'
import type { ApiToken, ModelTask } from '../store/records.ts'
import { demandFunds } from './admission.ts'
import { type Answer, type AnswerPart, type Patience, Refused, refuse } from './endpoint.ts'

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
 * @param longestPrompt tokens that must have room in the context
 * @param shortestAnswer tokens that must have room behind them
 * @param ask what to ask of the model, once its context is known and what answers for it
 * @throws Refused, before anything has changed
 */
export function takeOn(
  world: World,
  token: ApiToken | undefined,
  model: string,
  task: ModelTask,
  longestPrompt: number,
  shortestAnswer: number,
  ask: (context: number, target: Target) => Omit<InferenceSpec, 'token' | 'model'>,
): InferenceCall {
  demandFunds(world)
  const target = targetOf(world, model)
  const caller = token?.token_id ?? ''
  const turned = world.inference.refusal(model, caller, target)
  if (turned !== undefined || target === undefined) {
    const { status, message, retryAfter } = turned!
    refuse(status, message, retryAfter === undefined ? undefined : comeBackIn(retryAfter))
  }
  if (target.task !== task) refuse(400, `model ${model} does ${target.task}, not ${task}`)
  const context = contextFor(world, target, model, longestPrompt, shortestAnswer)
  return world.inference.begin({ ...ask(context, target), model, token: caller }, target)
}

/**
 * Tokens that a model has room for, prompt and answer together.
 *
 * @throws Refused for a prompt that is longer, or leaves no room for the shortest answer
 */
export function contextFor(
  world: World,
  target: Target,
  model: string,
  longestPrompt: number,
  shortestAnswer: number,
): number {
  const context = contextOf(world, target) ?? Number.POSITIVE_INFINITY
  if (longestPrompt + shortestAnswer > context) {
    const full = longestPrompt > context ? '' : ': there is no room for an answer'
    refuse(400, `the prompt has ${longestPrompt} tokens, and the context of ${model} is ${context}${full}`)
  }
  return context
}

/** Tokens that a model has room for, prompt and answer together; null where nobody says. */
export function contextOf({ deployments, store }: World, target: Target): number | null {
  if (target.kind === 'own') return deployments.read(target.deployment).weights.context
  return store.models.get(target.model)?.max_tokens ?? null
}

/** Who asked, and may leave. A door makes the signal when it is read for the first time: only who has to wait looks. */
export type Client = Pick<Request, 'signal'>

/** The whole answer, when it is there. */
export function whole<Value>(
  world: World,
  call: InferenceCall,
  longest: number,
  patience: Patience,
  client: Client,
  answer: () => Answer<Value>,
): Answer<Value> | Promise<Answer<Value>> {
  if (patience.isInstant && call.isStarted) {
    call.served()
    return answer()
  }
  return wholeLater()

  async function wholeLater(): Promise<Answer<Value>> {
    await started(world, call, patience, client)
    if (!patience.isInstant) {
      const end = call.firstTokenAt + Math.ceil((Math.max(1, longest) - 1) * call.tokenTime)
      // A client may be slower than its world, for which the answer is over then.
      for (let now = patience.now(); now < end && call.isStarted; now = patience.now()) {
        await waited(call, patience, end - now, client)
      }
      demandUnbroken(call)
    }
    call.served()
    return answer()
  }
}

/** Waits until an instance works on a request. Throws Refused when none ever will. */
export async function started(world: World, call: InferenceCall, patience: Patience, client: Client): Promise<void> {
  while (call.state === 'queued') {
    // Whatever happens next in the world may be what it waits for.
    const { agenda, clock } = world
    const delay = agenda.size > 0 ? Math.max(0, agenda.nextTime - clock.now) : Number.POSITIVE_INFINITY
    await waited(call, patience, delay, client, 'turn')
  }
  if (call.state === 'turnedAway') throw new Refused(503, call.reason, comeBackIn(RETRY_AFTER.start))
  demandUnbroken(call)
}

/** Why a wait ends early: what is waited for came on. */
const CHANGED = 'changed'

/** Waits on the client's clock, or until the request gets another state; a client that gives up leaves. */
export async function waited(
  call: InferenceCall,
  patience: Patience,
  delay: number,
  client: Client,
  part: AnswerPart = 'head',
): Promise<void> {
  if (delay <= 0 && call.state !== 'queued') return
  const { state } = call
  const { signal } = client
  const change = new AbortController()
  const leave = () => change.abort(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  // With a reason of our own: without one each change would make an error, and a stack with it.
  call.onChange(() => change.abort(CHANGED))
  try {
    if (signal.aborted) leave()
    await patience.wait(delay, change.signal, part, call)
  } catch (error) {
    // A world that is gone brings no answer, even if the request has got a place in it meanwhile.
    if (call.state === state || signal.aborted || error instanceof WorldReplaced) {
      call.leave(0)
      throw signal.aborted ? signal.reason : error
    }
  } finally {
    call.onChange(undefined)
    signal.removeEventListener('abort', leave)
  }
}

/** Throws Refused for a request that ended before its answer did. */
function demandUnbroken({ state, reason }: InferenceCall): void {
  if (state === 'cutOff') throw new Refused(402, `the answer was cut off: ${reason}`)
  if (state !== 'broken') return
  throw new Refused(503, `the instance that answered was lost: ${reason}`, comeBackIn(RETRY_AFTER.place))
}

/** The header of a refusal that says when another try may have better luck. */
export function comeBackIn(seconds: number): Readonly<Record<string, string>> {
  return { 'retry-after': String(seconds) }
}

/** What a request is known by to chance, by the whole name of its model. */
export function requestHash(model: string, prompt: string): string {
  const text = `${model}\u0000${prompt}`
  return `${hash32(text).toString(16)}${hash32(text, 1).toString(16)}`
}
