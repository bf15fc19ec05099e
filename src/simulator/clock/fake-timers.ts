/**
 * Drives the fake timers of a test runner in step with a world. Vitest, Jest and sinon install the same clock, and
 * leave it on the functions that they fake.
 */
import type { Micros } from '../../kernel/duration.ts'

interface FakeTimer {
  readonly callAt?: number
}

/** The used part of a clock of @sinonjs/fake-timers. */
export interface FakeClock {
  readonly now: number
  readonly performance?: { now(): number }
  setTimeout(callback: () => void, delay: number): unknown
  clearTimeout(timer: unknown): void
  /** Fires the timer that is due first, and goes to its time. */
  next(): number
  countTimers(): number
  /**
   * The waiting timers: a map in new versions of the library, an object in earlier ones. The documentation does not promise
   * this field, so it may be missing.
   */
  readonly timers?: ReadonlyMap<unknown, FakeTimer> | Readonly<Record<string, FakeTimer>>
  /** Whether its owner installs another one during a move: each start of a client that `explore` runs has its own. */
  readonly isReplaceable?: true
}

/** Longest delay of a timer in milliseconds. A longer one fires at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** Where a fake clock can be. A spy around the first hides it (`jest.spyOn`), and a test may fake the third alone. */
export const TIMER_NAMES = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const

/** The result of a step: one timer of the client has fired, or none was due and the timers are at the limit. */
export type TimerStep = 'fired' | 'idle'

/**
 * The fake timers of a test runner. Every call detects them again, because tests install and remove them in any order.
 *
 * They follow the world's time: from their first detection on, a millisecond of one clock is a millisecond of the
 * other. Setting the system time (`setSystemTime`) moves neither.
 */
export class FakeTimers {
  #clock: FakeClock | undefined
  #elapsedAtBase = 0
  #base: Micros = 0
  #hasWarnedUndrivable = false

  /** Returns whether fake timers are installed. `now` is the world's time, from which new timers count. */
  detect(now: Micros): boolean {
    const clock = findFakeClock()
    if (clock === this.#clock) return clock !== undefined
    if (this.#clock !== undefined && clock === undefined) warnOfOrphans(this.#clock)
    this.#clock = clock
    if (clock === undefined) return false
    this.#base = now
    this.#elapsedAtBase = elapsedOf(clock)
    return true
  }

  /** Makes both clocks count from their present times, after a move of the world alone. */
  rebase(now: Micros): void {
    if (this.#clock === undefined) return
    this.#base = now
    this.#elapsedAtBase = elapsedOf(this.#clock)
  }

  /** Forgets the times of both clocks, after a reset of the world. */
  reset(): void {
    this.#clock = undefined
  }

  /** Number of waiting timers, of the client and of other users of the fake clock. */
  get pendingCount(): number {
    return this.#clock?.countTimers() ?? 0
  }

  /** The time of the world by the fake clock. */
  get targetTime(): Micros {
    if (this.#clock === undefined) return 0
    return this.#base + Math.floor((elapsedOf(this.#clock) - this.#elapsedAtBase) * 1000)
  }

  /**
   * Rejects fakes under which a client could never become idle, and warns about those that cannot be driven.
   *
   * @throws Error when `process.nextTick` or `queueMicrotask` is faked: promises of fetch would never settle
   */
  assertDrivable(): void {
    for (const [name, fake] of [
      ['process.nextTick', fakeClockOf(globalThis.process?.nextTick)],
      ['queueMicrotask', fakeClockOf(globalThis.queueMicrotask)],
    ] as const) {
      if (fake === undefined) continue
      throw new Error(
        `Failed to move time: ${name} is faked, so no request of the client could ever end. ` +
          "Fake only what the client waits with: vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] }), " +
          "or in Jest jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] }).",
      )
    }
    if (this.#clock !== undefined || this.#hasWarnedUndrivable) return
    const reason = undrivableReason()
    if (reason === undefined) return
    this.#hasWarnedUndrivable = true
    warn(reason)
  }

  /** The time of the world at which the first timer is due; undefined if it is unknown. */
  get nextDue(): Micros | undefined {
    const timers = this.#clock?.timers
    if (this.#clock === undefined || timers === undefined) return undefined
    let first = Number.POSITIVE_INFINITY
    // Not `instanceof`: the map of Jest is one of another realm.
    const waiting = typeof timers.values === 'function' ? timers.values() : Object.values(timers)
    for (const { callAt = Number.NaN } of waiting) first = Math.min(first, callAt)
    return Number.isFinite(first) ? this.targetTime + Math.floor((first - this.#clock.now) * 1000) : undefined
  }

  /**
   * Goes to the timer that is due first, at most to `limit` in the world's time, and fires it: one timer a step. A
   * client's timer at the limit itself fires before other waits that end at the limit.
   */
  step(limit: Micros): TimerStep {
    const clock = this.#clock
    if (clock === undefined) return 'idle'
    for (;;) {
      const ms = Math.floor((limit - this.targetTime) / 1000)
      if (ms < 0) return 'idle'
      if (ms === 0 && clock.countTimers() === 0) return 'idle'
      let isAtLimit = false
      const sentinel = clock.setTimeout(
        () => {
          isAtLimit = true
        },
        Math.min(ms, MAX_DELAY_MS),
      )
      try {
        clock.next()
      } finally {
        clock.clearTimeout(sentinel)
      }
      if (!isAtLimit) return 'fired'
      if (ms <= MAX_DELAY_MS) return 'idle'
    }
  }
}

/** Returns the clock of the fake timers that are installed now. */
export function findFakeClock(): FakeClock | undefined {
  for (const name of TIMER_NAMES) {
    const clock = fakeClockOf(globalThis[name])
    if (clock !== undefined) return clock
  }
  return undefined
}

/** Returns why a client may wait for ever if the fake timers cannot be driven. Undefined: it will not. */
function undrivableReason(): string | undefined {
  if (fakeClockOf(globalThis.Date) !== undefined) {
    return (
      'Only Date is faked, so a client that waits with setTimeout waits for real while the world moves on. ' +
      'Fake setTimeout too, or give the client sim.clock.sleep.'
    )
  }
  if (globalThis.setTimeout?.name === 'bound #createTimer') {
    return (
      'The timers are those of mock.timers of node:test, which the simulator cannot move, so a client that waits ' +
      'with them waits until you tick them. Use install() of @sinonjs/fake-timers, or give the client sim.clock.sleep.'
    )
  }
  return undefined
}

function fakeClockOf(faked: unknown): FakeClock | undefined {
  return (faked as { readonly clock?: FakeClock } | undefined)?.clock
}

/** Not `now`, which `setSystemTime` moves. */
function elapsedOf(clock: FakeClock): number {
  return clock.performance?.now() ?? clock.now
}

function warnOfOrphans(clock: FakeClock): void {
  const timers = clock.countTimers()
  if (timers === 0) return
  warn(
    `Real timers were restored while ${timers} fake ${timers === 1 ? 'timer was' : 'timers were'} waiting: ` +
      'clients that wait for them wait for ever. End the client first, then restore the timers.',
  )
}

/** Prints a warning for the user of the process. */
export function warn(message: string): void {
  const { process } = globalThis
  if (typeof process?.emitWarning === 'function') process.emitWarning(message, 'ModelhostSimWarning')
  else console.warn(message)
}
