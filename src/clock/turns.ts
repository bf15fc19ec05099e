/** Turns of the event loop and real time, whatever a test runner has faked: for whoever waits for a client. */
import { monotonicMs } from '../kernel/pacer.ts'

// Captured at import: fake timers must not stop the turns that wait for a client. Where they stand already, a message to
// oneself is a turn that nobody fakes.
const realImmediate: ((callback: () => void) => unknown) | undefined = unfaked(globalThis.setImmediate)
const realTimeout: ((callback: () => void, ms: number) => unknown) | undefined = unfaked(globalThis.setTimeout)
const realClear = globalThis.clearTimeout

/** The longest that a timer waits; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1

function unfaked<Timer>(timer: Timer | undefined): Timer | undefined {
  return typeof timer === 'function' && 'clock' in timer ? undefined : timer
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise(resolve => {
    if (realImmediate) realImmediate(() => resolve())
    else if (realTimeout) realTimeout(() => resolve(), 0)
    else messageToOneself(resolve)
  })
}

function messageToOneself(heard: () => void): void {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    heard()
  }
  port2.postMessage(null)
}

/**
 * Calls `then` after real time; what it returns is for `forget`.
 *
 * @param hold `held` keeps the process alive for it
 */
export function soon(then: () => void, milliseconds: number, hold?: 'held'): unknown {
  if (realTimeout === undefined) return polled(then, milliseconds)
  const timer = realTimeout(then, Math.min(LONGEST_MS, milliseconds))
  if (hold === undefined && typeof timer === 'object') (timer as { unref?(): void }).unref?.()
  return timer
}

/** Does not call it after all. */
export function forget(timer: unknown): void {
  if (timer instanceof Polled) timer.isOver = true
  else realClear(timer as ReturnType<typeof setTimeout>)
}

class Polled {
  isOver = false
}

function polled(then: () => void, milliseconds: number): Polled {
  const timer = new Polled()
  const until = monotonicMs() + milliseconds
  const look = () => {
    if (timer.isOver) return
    if (monotonicMs() >= until) then()
    else messageToOneself(look)
  }
  messageToOneself(look)
  return timer
}

/** Waits for real time to pass, without keeping the process alive: how long a server that closes is patient. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => {
    soon(resolve, milliseconds)
  })
}

/**
 * Waits for real time to pass, or for a signal to be aborted; says whether it was not.
 *
 * @example if (await patience(500, clientLeft)) answer()
 */
export function patience(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve(false)
    const timer = soon(() => {
      signal.removeEventListener('abort', leave)
      resolve(true)
    }, milliseconds)
    const leave = () => {
      forget(timer)
      resolve(false)
    }
    signal.addEventListener('abort', leave, { once: true })
  })
}
