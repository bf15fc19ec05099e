/** Delivers the results of native inference to their webhooks: real requests, at the times that the world decides. */

import { WorldReplaced } from '../kernel/loop.ts'
import { Cancellation, type CancelSignal, unlessAborted } from '../lib/cancellation.ts'
import { clearRealTimeout, setRealTimeout } from '../lib/real-time.ts'
import type { OperationName } from '../service/client/client.ts'
import type { Api } from '../service/http/service.ts'
import { webhookRefusal } from '../service/native/webhook-address.ts'
import { nextWebhookTime } from '../simulation/inference/webhook-times.ts'
import type { WebhookAttempt, WebhookOutcome } from '../simulation/inference/webhooks.ts'
import type { World } from '../simulation/world.ts'
import type { SimulatorClock } from './clock/simulator-clock.ts'
import type { PerformAction } from './observer.ts'
import type { WebhookOptions } from './webhook-options.ts'

/** Real milliseconds after which an attempt without an answer fails. */
const TIMEOUT_MS = 10_000

/** What the delivery needs of its simulator. */
export interface WebhookHost {
  readonly world: World
  readonly clock: SimulatorClock
  readonly api: Api
  readonly perform: PerformAction
}

export class WebhookDelivery {
  readonly #host: WebhookHost
  readonly #options: WebhookOptions
  readonly #underWay = new Set<Promise<void>>()
  #attachedWorld: World | undefined
  /** Aborted when the world is replaced. */
  #world = new Cancellation()
  /** Aborted when the next attempt may be due earlier. */
  #watch = new Cancellation()

  constructor(host: WebhookHost, options: WebhookOptions = {}) {
    this.#host = host
    this.#options = options
  }

  /** Ends the attempts of the previous world, and sends the results of the present world from now on. */
  attach(): void {
    this.detach()
    this.#world = new Cancellation()
    const { world } = this.#host
    this.#attachedWorld = world
    world.webhooks.sender = {
      send: attempt => this.#send(world, attempt),
      // A step of the world is under way.
      expect: () => queueMicrotask(() => this.watch()),
    }
    // Their outcome went to another simulator.
    for (const attempt of world.webhooks.listUnderWay()) this.#send(world, attempt)
    this.watch()
  }

  /** Ends all attempts, without an outcome. The world it was attached to sends nothing more. */
  detach(): void {
    if (this.#attachedWorld) this.#attachedWorld.webhooks.sender = undefined
    this.#world.abort(DETACHED)
    this.#watch.abort(DETACHED)
  }

  /** Resolves when no attempt is under way. */
  async whenSettled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Waits on the clock as a client does, so that time stops at, or runs to, each attempt. */
  watch(): void {
    this.#watch.abort(DETACHED)
    const { world, clock } = this.#host
    const next = nextWebhookTime(world)
    if (next === Number.POSITIVE_INFINITY || this.#world.aborted) return
    const signal = new Cancellation()
    this.#watch = signal
    clock.hold(Math.max(0, next - clock.elapsed), { signal, isClient: false }).then(
      () => this.watch(),
      (error: unknown) => {
        if (error !== DETACHED && !(error instanceof WorldReplaced)) clock.fail(error)
      },
    )
  }

  #send(world: World, attempt: WebhookAttempt): void {
    const signal = this.#world
    const sent = this.#deliver(world, attempt, signal)
      .then(outcome => this.#recordOutcome(world, attempt, outcome, signal))
      .catch((error: unknown) => this.#host.clock.fail(error))
      .finally(() => this.#underWay.delete(sent))
    this.#underWay.add(sent)
  }

  /** Reports an outcome to the world, at the present time of its clock. */
  async #recordOutcome(
    world: World,
    attempt: WebhookAttempt,
    outcome: WebhookOutcome,
    signal: CancelSignal,
  ): Promise<void> {
    const caughtUp = this.#host.clock.catchUp()
    if (caughtUp instanceof Promise) await caughtUp
    if (signal.aborted) return
    const { ordinal, use, attempt: nth } = attempt
    this.#host.perform(
      () => ({ do: 'settleWebhook', attempt: { ordinal, use, attempt: nth }, outcome }),
      () => world.webhooks.recordOutcome(attempt, outcome),
    )
  }

  async #deliver(world: World, attempt: WebhookAttempt, replaced: CancelSignal): Promise<WebhookOutcome> {
    const { allow = [], deliver = fetchWebhook } = this.#options
    const reason = webhookRefusal(attempt.url, allow)
    // A snapshot can bring an address that this simulator does not allow.
    if (reason !== undefined) return { reason }
    const body = this.#host.api.createWebhookText(world, attempt)
    const abort = new AbortController()
    const onReplaced = () => abort.abort(DETACHED)
    replaced.addEventListener('abort', onReplaced, { once: true })
    const onTimeout = () => abort.abort(new Error(`no answer within ${TIMEOUT_MS / 1000} s`))
    const timer = setRealTimeout(onTimeout, TIMEOUT_MS, 'held')
    try {
      const { status } = await unlessAborted(
        deliver(attempt.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
          redirect: 'manual',
          signal: abort.signal,
        }),
        abort.signal,
      )
      return { status }
    } catch (error) {
      return { reason: describeFailure(error) }
    } finally {
      clearRealTimeout(timer)
      replaced.removeEventListener('abort', onReplaced)
    }
  }
}

/** Operations whose requests may have a webhook. */
export const NATIVE_OPERATIONS: ReadonlySet<string> = new Set<OperationName>([
  'createInference',
  'createDeploymentInference',
])

const DETACHED = new Error('the world was replaced')

/** Sends a request with the global `fetch` of the moment, which a test runner can intercept. */
async function fetchWebhook(url: string, init: RequestInit): Promise<{ readonly status: number }> {
  const { status, body } = await fetch(url, init)
  // The answer is ignored, and an unread body would keep its connection.
  await body?.cancel()
  return { status }
}

/** Returns the reason of a failure. The cause of a failed `fetch` says more than its message. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  const code = cause instanceof Error ? (cause as Error & { readonly code?: unknown }).code : undefined
  return typeof code === 'string' ? code : error.message
}
