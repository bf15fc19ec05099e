/**
 * The fake timers of a test runner, driven in step with a world, and what a client has in flight while they stand.
 * Vitest, Jest and sinon install the same clock, and leave it on the faked `setTimeout`.
 */
import type { Micros } from './kernel/duration.ts'

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
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** What came of a step of the fake timers: one timer of the client's was fired, or none was due and they rest at the limit. */
export type Step = 'fired' | 'rested'

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
  #saidDateOnly = false

  /** Whether there are any now. `now` is the world's time, where both clocks stand when they are new. */
  look(now: Micros): boolean {
    const found = clockOf(globalThis.setTimeout)
    if (found === this.#clock) return found !== undefined
    if (this.#clock !== undefined && found === undefined) warnOfOrphans(this.#clock)
    this.#clock = found
    if (found === undefined) return false
    this.#base = now
    this.#elapsedAtBase = elapsedOf(found)
    return true
  }

  /** The world was moved and the fake clock was not: they go on from here. */
  rebase(now: Micros): void {
    if (this.#clock === undefined) return
    this.#base = now
    this.#elapsedAtBase = elapsedOf(this.#clock)
  }

  /** Forgets where the clocks stood: the world began anew. */
  forget(): void {
    this.#clock = undefined
  }

  /** Timers that wait, of the client and of whoever else uses the fake clock. */
  get waiting(): number {
    return this.#clock?.countTimers() ?? 0
  }

  /** Where the world should be by the fake clock. */
  get target(): Micros {
    if (this.#clock === undefined) return 0
    return this.#base + Math.floor((elapsedOf(this.#clock) - this.#elapsedAtBase) * 1000)
  }

  /**
   * Refuses fakes under which nobody could wait for a client, and warns of those that cannot be driven.
   *
   * @throws Error when `process.nextTick` or `queueMicrotask` is faked: promises of fetch would never settle
   */
  demandDrivable(): void {
    for (const [name, fake] of [
      ['process.nextTick', clockOf(globalThis.process?.nextTick)],
      ['queueMicrotask', clockOf(globalThis.queueMicrotask)],
    ] as const) {
      if (fake === undefined) continue
      throw new Error(
        `Failed to move time: ${name} is faked, so no request of the client could ever end. ` +
          "Fake only what the client waits with: vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] }), " +
          "or in Jest jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] }).",
      )
    }
    if (this.#clock === undefined && clockOf(globalThis.Date) !== undefined && !this.#saidDateOnly) {
      this.#saidDateOnly = true
      warn(
        'Only Date is faked, so a client that waits with setTimeout waits for real while the world moves on. ' +
          'Fake setTimeout too, or give the client sim.clock.sleep.',
      )
    }
  }

  /** Where the world should be when the timer that is due first is fired; undefined when that can not be told. */
  get due(): Micros | undefined {
    if (this.#clock?.timers === undefined) return undefined
    let first = Number.POSITIVE_INFINITY
    for (const id in this.#clock.timers) first = Math.min(first, this.#clock.timers[id]!.callAt ?? Number.NaN)
    return Number.isFinite(first) ? this.target + Math.floor((first - this.#clock.now) * 1000) : undefined
  }

  /**
   * Goes to the timer that is due first, at most to `limit` in the world's time, and fires it: one timer a step. A
   * client's timer at the limit itself comes before whatever waits for the limit.
   */
  step(limit: Micros): Step {
    const clock = this.#clock
    if (clock === undefined) return 'rested'
    for (;;) {
      const ms = Math.floor((limit - this.target) / 1000)
      if (ms < 0) return 'rested'
      if (ms === 0 && clock.countTimers() === 0) return 'rested'
      let reached = false
      const sentinel = clock.setTimeout(
        () => {
          reached = true
        },
        Math.min(ms, LONGEST_DELAY_MS),
      )
      try {
        clock.next()
      } finally {
        clock.clearTimeout(sentinel)
      }
      if (!reached) return 'fired'
      if (ms <= LONGEST_DELAY_MS) return 'rested'
    }
  }
}

function clockOf(faked: unknown): FakeClock | undefined {
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

// Several copies of this package in one process watch the same global fetch.
const WATCH = Symbol.for('modelhost-sim.fetchWatch')

/** What went through one wrapper of `fetch` and is not over. */
interface Watched {
  readonly inner: typeof fetch
  /** Whoever wants to know; without anybody the wrapper only passes on. */
  readonly watchers: Set<object>
  readonly calls: Set<{ readonly name: string }>
  /** Grows with each call that begins or ends, and each body that is read. */
  activity: number
}

type WatchedFetch = typeof fetch & { readonly [WATCH]?: Watched }

/** Calls of the global `fetch` from the call to the end of the body, seen from outside of whatever intercepts them. */
export class FetchWatch {
  #watched: readonly Watched[] = []

  /**
   * Puts itself around the global `fetch`, again where somebody replaced it meanwhile. True when it is new there: calls
   * that were under way before are not seen.
   */
  attach(): boolean {
    const fetch = globalThis.fetch as WatchedFetch | undefined
    if (fetch === undefined) return false
    const watched = fetch[WATCH] ?? wrap(fetch)
    if (this.#watched.includes(watched)) return false
    watched.watchers.add(this)
    this.#watched = [...this.#watched, watched]
    return true
  }

  /** Lets go of it; the last to let go takes the wrapper off, unless somebody put another around it. */
  detach(): void {
    for (const watched of this.#watched) {
      watched.watchers.delete(this)
      const outermost = (globalThis.fetch as WatchedFetch | undefined)?.[WATCH] === watched
      if (watched.watchers.size === 0 && outermost) globalThis.fetch = watched.inner
    }
    this.#watched = []
  }

  get activity(): number {
    return this.#watched.reduce((sum, { activity }) => sum + activity, 0)
  }

  /** What is in flight, each as method and address. */
  get inFlight(): readonly string[] {
    return this.#watched.flatMap(({ calls }) => [...calls].map(({ name }) => name))
  }
}

function wrap(inner: typeof fetch): Watched {
  const watched: Watched = { inner, watchers: new Set(), calls: new Set(), activity: 0 }
  const during = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const call = { name }
    watched.calls.add(call)
    watched.activity++
    try {
      return await work()
    } finally {
      watched.calls.delete(call)
      watched.activity++
    }
  }
  const fetch = async (...args: Parameters<typeof globalThis.fetch>): Promise<Response> => {
    if (watched.watchers.size === 0) return inner(...args)
    const name = nameOf(args)
    const response = await during(name, () => inner(...args))
    for (const reads of ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const) {
      const read = (response as unknown as Record<string, (() => Promise<unknown>) | undefined>)[reads]
      if (read === undefined) continue
      Object.defineProperty(response, reads, {
        configurable: true,
        value: () => during(`the body of ${name}`, () => read.call(response)),
      })
    }
    return response
  }
  globalThis.fetch = Object.assign(fetch, { [WATCH]: watched })
  return watched
}

function nameOf([input, init]: Parameters<typeof fetch>): string {
  const isRequest = typeof input === 'object' && 'url' in input
  const method = init?.method ?? (isRequest ? input.method : 'GET')
  return `${method.toUpperCase()} ${isRequest ? input.url : String(input)}`
}
