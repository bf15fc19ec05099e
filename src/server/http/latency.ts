/** How HTTP clients wait for responses of models. */
import type { Micros } from '../../kernel/duration.ts'
import { delayUnlessAborted, monotonicMs } from '../../lib/real-time.ts'
import type { HoldingWaiter, WaiterClock } from '../../service/http/incoming-request.ts'
import type { ResponseWaiter } from '../../service/results.ts'

/** How long a delayed response takes: as long as it says, that divided by the speed of the clock, or no time. */
export type Latency = 'real' | 'scaled' | 'instant'

/** Waits real time for a response that takes simulated time, once an instance works on it. */
class RealTimeWaiter implements ResponseWaiter {
  readonly isInstant = false
  readonly #inner: ResponseWaiter
  readonly #clock: WaiterClock
  // Set on first use: before that the world may have been behind.
  #base: { readonly world: Micros; readonly ms: number } | undefined

  constructor(inner: ResponseWaiter, clock: WaiterClock) {
    this.#inner = inner
    this.#clock = clock
  }

  now(): Micros {
    this.#base ??= { world: this.#clock.elapsed, ms: monotonicMs() }
    return this.#base.world + Math.floor((monotonicMs() - this.#base.ms) * 1000)
  }

  async wait(...[delay, signal, part, call]: Parameters<ResponseWaiter['wait']>): Promise<void> {
    if (part !== 'turn') {
      if (!(await delayUnlessAborted(Math.max(1, delay / 1000), signal))) throw signal.reason
      return
    }
    try {
      // Only simulated time gives the request its turn with an instance.
      await this.#inner.wait(delay, signal, part, call)
    } finally {
      // A move by hand may have passed the whole response by now.
      if (call.isStarted) this.#base = { world: call.startedAt, ms: monotonicMs() }
    }
  }
}

/** Returns the waiter for a latency. Default: the waiter of the simulator. */
export function createLatencyWaiter(
  latency: Latency | undefined,
  defaultWaiter: HoldingWaiter,
  clock: WaiterClock,
): ResponseWaiter {
  if (latency === undefined) return defaultWaiter
  if (latency === 'real') return new RealTimeWaiter(defaultWaiter, clock)
  // On the simulated clock, or not at all.
  return {
    isInstant: latency === 'instant' || clock.speed === undefined,
    now: () => defaultWaiter.now(),
    wait: (...args) => defaultWaiter.wait(...args),
  }
}
