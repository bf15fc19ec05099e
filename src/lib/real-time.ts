/** The real clock, real timers and turns of the event loop, also under the fake timers of a test runner. */
import type { CancelSignal } from './cancellation.ts'

// Captured at import, so that fake timers do not stop the real clock. If they are already installed, the uptime of the
// process serves, which they do not fake.
const realNow: () => number =
  'clock' in performance.now && typeof process === 'object'
    ? () => process.uptime() * 1000
    : performance.now.bind(performance)

/** Returns milliseconds of a real clock that never goes back. It measures durations and never reaches an answer. */
export function monotonicMs(): number {
  return realNow()
}

/** Returns the wall-clock time in milliseconds since 1970; used only by `--epoch now`. */
export function wallMs(): number {
  return Date.now()
}

// Captured at import: fake timers must not stop the turns that wait for a client. If they are already installed, a
// message to the own port makes the turn, which they do not fake.
const realImmediate: ((callback: () => void) => unknown) | undefined = unlessFaked(globalThis.setImmediate)
const realTimeout: ((callback: () => void, ms: number) => unknown) | undefined = unlessFaked(globalThis.setTimeout)
const realClearTimeout = globalThis.clearTimeout

/** Longest delay of a timer. A longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

function unlessFaked<Timer>(timer: Timer | undefined): Timer | undefined {
  return typeof timer === 'function' && 'clock' in timer ? undefined : timer
}

/** Resolves after one turn of the event loop. */
export function eventLoopTurn(): Promise<void> {
  return new Promise(resolve => {
    if (realImmediate) realImmediate(() => resolve())
    // Browsers delay nested timers by 4 ms each, and messages not at all.
    else if (typeof MessageChannel === 'function') postToSelf(resolve)
    else realTimeout!(() => resolve(), 0)
  })
}

function postToSelf(callback: () => void): void {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    callback()
  }
  port2.postMessage(null)
}

/**
 * Calls a function after real time. Returns a timer for `clearRealTimeout`.
 *
 * @param keepAlive `held` keeps the process alive until then
 */
export function setRealTimeout(callback: () => void, milliseconds: number, keepAlive?: 'held'): unknown {
  // The script of the control room is built without messages, since it has no fake timers.
  if (typeof MessageChannel === 'function' && realTimeout === undefined) return startPolledTimer(callback, milliseconds)
  const timer = realTimeout!(callback, Math.min(MAX_TIMER_MS, milliseconds))
  if (keepAlive === undefined && typeof timer === 'object') (timer as { unref?(): void }).unref?.()
  return timer
}

/** Cancels a timer. */
export function clearRealTimeout(timer: unknown): void {
  if (typeof MessageChannel === 'function' && timer instanceof PolledTimer) timer.isCancelled = true
  else realClearTimeout(timer as ReturnType<typeof setTimeout>)
}

class PolledTimer {
  isCancelled = false
}

function startPolledTimer(callback: () => void, milliseconds: number): PolledTimer {
  const timer = new PolledTimer()
  const deadline = monotonicMs() + milliseconds
  const poll = () => {
    if (timer.isCancelled) return
    if (monotonicMs() >= deadline) callback()
    else postToSelf(poll)
  }
  postToSelf(poll)
  return timer
}

/** Resolves after real time, without keeping the process alive. A server that closes waits with it. */
export function realDelay(milliseconds: number): Promise<void> {
  return new Promise(resolve => {
    setRealTimeout(resolve, milliseconds)
  })
}

/**
 * Waits for real time or for the abort of a signal. Resolves to true if the signal was not aborted.
 *
 * @example if (await delayUnlessAborted(500, clientLeft)) answer()
 */
export function delayUnlessAborted(milliseconds: number, signal: CancelSignal): Promise<boolean> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve(false)
    const timer = setRealTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve(true)
    }, milliseconds)
    const onAbort = () => {
      clearRealTimeout(timer)
      resolve(false)
    }
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

/** Returns the processor seconds and the resident bytes of this process; undefined outside of Node. */
export function processUsage(): { readonly cpuSeconds: number; readonly residentBytes: number } | undefined {
  if (typeof process !== 'object' || typeof process.cpuUsage !== 'function') return undefined
  const { user, system } = process.cpuUsage()
  return { cpuSeconds: (user + system) / 1e6, residentBytes: process.memoryUsage.rss() }
}
