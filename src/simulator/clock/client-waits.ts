/** The waits of clients for the time of a world: sleeps, and answers that are held until time has moved. */

import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import { clearRealTimeout, setRealTimeout } from '../../lib/real-time.ts'
import type { HoldOptions } from './host.ts'
import { PendingRequests, type PendingRequestView } from './pending-requests.ts'
import type { Sleeper } from './sleepers.ts'
import type { WorldTime } from './world-time.ts'

interface WaitHooks {
  /** Moves the world to the present time of its clock. */
  catchUp(): void
  /** Reports the start of a wait. */
  onBegan(): void
}

export class ClientWaits {
  readonly #time: WorldTime
  readonly #hooks: WaitHooks
  readonly #pendingRequests: PendingRequests

  constructor(time: WorldTime, hooks: WaitHooks) {
    this.#time = time
    this.#hooks = hooks
    this.#pendingRequests = new PendingRequests({
      get world() {
        return time.world
      },
      get mode() {
        return time.drive.mode
      },
      get pausedBy() {
        return time.holds.owners
      },
      get currentTime() {
        return time.holds.isHeld ? time.elapsed : time.due
      },
    })
  }

  /** The requests whose answers wait for time. */
  get pendingRequests(): readonly PendingRequestView[] {
    return this.#pendingRequests.list()
  }

  /** Resolves when time has moved by `duration` from now. */
  sleep(duration: Duration): Promise<void> {
    const at = this.#time.elapsed + micros(duration)
    return new Promise((wake, reject) => {
      this.#time.sleepers.add({ at, wake, reject })
      this.#hooks.onBegan()
    })
  }

  /**
   * Waits until time has moved by `delay`. Rejects when the signal is aborted or the world is replaced.
   *
   * @param delay microseconds; Infinity never ends by time
   */
  hold(delay: Micros, { signal, request, isInFlight = false, isClient = true }: HoldOptions): Promise<void> {
    const { sleepers, quiescence, elapsed } = this.#time
    const at = elapsed + delay
    return new Promise((resolve, reject) => {
      let timer: unknown
      const endWait = request && this.#pendingRequests.begin(request, at)
      const end = (callback: () => void) => {
        endWait?.()
        clearRealTimeout(timer)
        signal.removeEventListener('abort', abort)
        sleepers.remove(sleeper)
        unpark()
        callback()
      }
      const abort = () => end(() => reject(signal.reason))
      const unpark = isClient ? quiescence.park(isInFlight) : () => {}
      const sleeper: Sleeper = {
        at,
        wake: () => end(resolve),
        reject: error => end(() => reject(error)),
        isPoller: request?.call !== undefined,
      }
      sleepers.add(sleeper)
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort)
      // A wait that time never ends must not keep a timer either.
      const scheduleCatchUp = () => {
        this.#hooks.catchUp()
        const { drive } = this.#time
        if (drive.mode !== 'scaled' || at === Number.POSITIVE_INFINITY || !sleepers.has(sleeper)) return
        const realMs = (at - this.#time.elapsed) / 1000 / drive.pacer.speed
        timer = setRealTimeout(scheduleCatchUp, Math.ceil(realMs) + 1, 'held')
      }
      scheduleCatchUp()
      this.#hooks.onBegan()
    })
  }
}
