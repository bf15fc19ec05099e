/**
 * The fake timers of a test runner, driven in step with a world. Vitest, Jest and sinon install the same clock, and leave
 * it on the functions that they fake.
 */
import type { Micros } from '../kernel/duration.ts'

/** What is needed of a clock of @sinonjs/fake-timers. */
interface FakeClock {
  readonly now: number
  readonly performance?: { now(): number }
  setTimeout(callback: () => void, delay: number): unknown
  clearTimeout(timer: unknown): void
  /** Fires the one timer that is due first, and goes to its time. */
  next(): number
  countTimers(): number
  /** Those that wait; not promised by its documentation, so it may be missing. */
  readonly timers?: Readonly<Record<string, { readonly callAt?: number }>>
}

/** The longest delay that a timer keeps; a longer one fires at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** What came of a step of the fake timers: one timer of the client's was fired, or none was due and they rest at the limit. */
export type TimerStep = 'fired' | 'rested'

/**
 * A test runner's fake timers, looked for at every call, because tests install and remove them in any order.
 *
 * Their time is the world's: where they are first seen, both clocks stand; from there on a millisecond of one is a
 * millisecond of the other. Moving the system time (`setSystemTime`) moves neither.
 */
export class FakeTimers {
  #clock: FakeClock | undefined
  #elapsedAtBase = 0
  #base: Micros = 0
  #hasWarnedUndrivable = false

  /** Whether there are any now. `now` is the world's time, where both clocks stand when they are new. */
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

  /** The world was moved and the fake clock was not: they go on from here. */
  rebase(now: Micros): void {
    if (this.#clock === undefined) return
    this.#base = now
    this.#elapsedAtBase = elapsedOf(this.#clock)
  }

  /** Forgets where the clocks stood: the world began anew. */
  reset(): void {
    this.#clock = undefined
  }

  /** Timers that wait, of the client and of whoever else uses the fake clock. */
  get pendingCount(): number {
    return this.#clock?.countTimers() ?? 0
  }

  /** Where the world should be by the fake clock. */
  get targetTime(): Micros {
    if (this.#clock === undefined) return 0
    return this.#base + Math.floor((elapsedOf(this.#clock) - this.#elapsedAtBase) * 1000)
  }

  /**
   * Refuses fakes under which nobody could wait for a client, and warns of those that cannot be driven.
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

  /** Where the world should be when the timer that is due first is fired; undefined when that can not be told. */
  get nextDue(): Micros | undefined {
    if (this.#clock?.timers === undefined) return undefined
    let first = Number.POSITIVE_INFINITY
    for (const id in this.#clock.timers) first = Math.min(first, this.#clock.timers[id]!.callAt ?? Number.NaN)
    return Number.isFinite(first) ? this.targetTime + Math.floor((first - this.#clock.now) * 1000) : undefined
  }

  /**
   * Goes to the timer that is due first, at most to `limit` in the world's time, and fires it: one timer a step. A
   * client's timer at the limit itself comes before whatever waits for the limit.
   */
  step(limit: Micros): TimerStep {
    const clock = this.#clock
    if (clock === undefined) return 'rested'
    for (;;) {
      const ms = Math.floor((limit - this.targetTime) / 1000)
      if (ms < 0) return 'rested'
      if (ms === 0 && clock.countTimers() === 0) return 'rested'
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
      if (ms <= MAX_DELAY_MS) return 'rested'
    }
  }
}

/** A spy around `setTimeout` hides the clock on it (`jest.spyOn`), and whoever polls with an interval may fake that alone. */
function findFakeClock(): FakeClock | undefined {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis
  return fakeClockOf(setTimeout) ?? fakeClockOf(clearTimeout) ?? fakeClockOf(setInterval) ?? fakeClockOf(clearInterval)
}

/** Why a client may wait for ever though no fakes are found that could be driven; undefined when nothing says so. */
function undrivableReason(): string | undefined {
  if (fakeClockOf(globalThis.Date) !== undefined) {
    return (
      'Only Date is faked, so a client that waits with setTimeout waits for real while the world moves on. ' +
      'Fake setTimeout too, or give the client sim.clock.sleep.'
    )
  }
  if (globalThis.setTimeout?.name === 'bound #createTimer') {
    return (
      'The timers are those of mock.timers of node:test, which nothing outside can move in step, so a client that waits ' +
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
      'whoever waits for them waits for ever. End the client first, then restore the timers.',
  )
}

/** Says something to whoever runs the process, where it does not belong into an answer or an error. */
export function warn(message: string): void {
  const { process } = globalThis
  if (typeof process?.emitWarning === 'function') process.emitWarning(message, 'ModelhostSimWarning')
  else console.warn(message)
}
