/**
 * Moving time for clients that wait: the public clock. The kernel's advance is synchronous; the public one also lets
 * whoever it woke go on before the next step. With kernel/pacer.ts the only file that may name timers.
 */
import type { World } from './cluster/world.ts'
import { type Duration, type Micros, micros, readable } from './kernel/duration.ts'
import { traceLine } from './kernel/journal.ts'
import { nearest } from './kernel/nearest.ts'
import { monotonicMs, Pacer } from './kernel/pacer.ts'

const MODES = ['manual', 'scaled'] as const
/** How time moves: by hand, or with a real clock times a speed. */
export type ClockMode = (typeof MODES)[number]

/** A clock as a user asks for it. */
export type ClockSetting = ClockMode | { readonly mode: ClockMode; readonly speed?: number }

/** What an advance did. */
export interface Happened {
  /** Time before and after, ISO 8601. */
  readonly from: string
  readonly to: string
  /** Events that happened. */
  readonly events: number
  /** The same by kind, as in `{ 'instance.ready': 1 }`. */
  readonly counts: Readonly<Record<string, number>>
}

/** The speed of a scaled clock unless told otherwise: an hour in a minute. */
export const DEFAULT_SPEED = 60
/** How long one slice of an advance may hold a server's process. */
const SLICE_MS = 20
/** Turns of the event loop without a sign of the client after which it counts as waiting. */
const QUIET_TURNS = 3
/** Real time without a sign of life after which a request in flight is taken for stuck. */
const STUCK_MS = 2000

/** What came of an `until` that may give up. */
export interface Awaited {
  /** Whether the condition held in time. */
  readonly reached: boolean
  readonly happened: Happened
}

/** `until` gave up. */
export class UntilError extends Error {
  override readonly name = 'UntilError'
}

interface Sleeper {
  readonly at: Micros
  readonly wake: () => void
  readonly reject: (error: Error) => void
}

/** Where a move of time began. */
interface Began {
  readonly world: World
  readonly from: string
  readonly counts: ReadonlyMap<string, number>
}

/** What the clock needs of the simulator it belongs to. */
export interface ClockHost {
  readonly world: World
  /** Loads what the world needs before it can move. */
  prepare(): Promise<void>
  /** Counts the signs of life of clients: requests that entered, bodies that were read. */
  readonly activity: number
  /** Requests that entered and are not answered yet, each as method and path. */
  readonly inFlight: readonly string[]
}

/**
 * The clock of a simulator.
 *
 * @example
 * await sim.clock.advance('10m')
 * await sim.clock.until(() => deployment.status === 'running', { within: '15m' })
 */
export class SimulatorClock {
  readonly #host: ClockHost
  #pacer: Pacer | undefined
  #sleepers: readonly Sleeper[] = []
  #queue: Promise<unknown> = Promise.resolve()
  #slicing: Promise<void> | undefined
  #interrupted = false

  constructor(host: ClockHost, setting: ClockSetting) {
    this.#host = host
    const { mode, speed } = readSetting(setting)
    if (mode === 'scaled') this.#pacer = new Pacer(speed, 0)
    this.sleep = this.sleep.bind(this)
  }

  get mode(): ClockMode {
    return this.#pacer ? 'scaled' : 'manual'
  }

  /** Simulated seconds in a real second; undefined when time moves by hand. */
  get speed(): number | undefined {
    return this.#pacer?.speed
  }

  /** The world's time. */
  get now(): Date {
    const { clock } = this.#host.world
    return new Date(clock.epochMs + Math.floor(clock.now / 1000))
  }

  /** The world's time as the wire writes it: ISO 8601 with microseconds and offset. */
  get iso(): string {
    return this.#host.world.clock.iso()
  }

  /** Microseconds since the epoch of the world. */
  get elapsed(): Micros {
    return this.#host.world.clock.now
  }

  /** How long until the next event is due, in microseconds; undefined when nothing is planned. */
  get nextIn(): Micros | undefined {
    const { agenda, clock } = this.#host.world
    return agenda.size > 0 ? Math.max(0, agenda.nextTime - clock.now) : undefined
  }

  /**
   * Moves time on; everything due on the way happens, in order, and clients that sleep are woken in between.
   *
   * Rejects with RangeError for a duration that is none, and with EventCapError when too much happens.
   */
  async advance(duration: Duration): Promise<Happened> {
    const delta = micros(duration)
    return this.#inTurn(() => this.#moveTo(this.elapsed + delta))
  }

  /** Moves time to a moment: ISO 8601 with offset, or a Date. Rejects with RangeError for one that has passed. */
  async advanceTo(moment: string | Date): Promise<Happened> {
    const { clock } = this.#host.world
    const target = moment instanceof Date ? (moment.getTime() - clock.epochMs) * 1000 : clock.fromIso(moment)
    if (!Number.isFinite(target)) {
      throw new RangeError(
        `Failed to advance to ${JSON.stringify(moment)}: no time. Give ISO 8601 with an offset, as in '2026-01-02T00:00:00Z'.`,
      )
    }
    if (target < clock.now) {
      throw new RangeError(
        `Failed to advance to ${String(moment)}: it is ${clock.iso()} already, and time never goes back.`,
      )
    }
    return this.#inTurn(() => this.#moveTo(target))
  }

  /** Moves time to the next thing that happens, or to the next sleeper; `events` is 0 when nothing is planned. */
  async next(): Promise<Happened> {
    return this.#inTurn(async () => {
      const began = this.#begin()
      await this.#settle()
      const { world } = this.#host
      const last = world.journal.last
      // Some looks of the simulation at itself find nothing to do; nobody else would call them events.
      while (world.journal.last === last) {
        const wake = this.#sleepers[0]?.at ?? Number.POSITIVE_INFINITY
        if (wake <= world.agenda.nextTime) {
          if (wake < Number.POSITIVE_INFINITY) await this.#runTo(wake)
          break
        }
        if (world.needsTokenizer) await this.#host.prepare()
        if (!world.next()) break
      }
      this.#pacer?.rebase(this.elapsed)
      await this.#settle()
      return this.#end(began)
    })
  }

  /**
   * Moves time until `predicate` holds: looked at now, and after every event that changes something a client could see.
   *
   * @throws UntilError when it does not hold `within` that time, with what happened last
   */
  async until(
    predicate: () => boolean | Promise<boolean>,
    options: { readonly within?: Duration | undefined } = {},
  ): Promise<Happened> {
    const within = micros(options.within ?? '24h')
    return this.#inTurn(async () => {
      const began = this.#begin()
      const limit = this.elapsed + within
      await this.#settle()
      for (;;) {
        if (await predicate()) return this.#end(began)
        this.#sameWorld(began.world)
        if (!(await this.#toNextChange(limit))) break
      }
      throw new UntilError(this.#gaveUp(within))
    })
  }

  /** Resolves when time has been moved past `duration` from now: a client's sleep on this clock. */
  sleep(duration: Duration): Promise<void> {
    const at = this.elapsed + micros(duration)
    return new Promise((wake, reject) => {
      const place = this.#sleepers.findIndex(other => other.at > at)
      const sleeper: Sleeper = { at, wake, reject }
      this.#sleepers =
        place < 0
          ? [...this.#sleepers, sleeper]
          : [...this.#sleepers.slice(0, place), sleeper, ...this.#sleepers.slice(place)]
    })
  }

  /** Switches how time moves, without a jump. */
  set(setting: ClockSetting): void {
    const { mode, speed } = readSetting(setting)
    if (mode === 'manual') this.#pacer = undefined
    else if (this.#pacer) this.#pacer.setSpeed(speed)
    else this.#pacer = new Pacer(speed, this.elapsed)
  }

  /** Where a scaled clock says the world should be by now; where it is, when time moves by hand. */
  get due(): Micros {
    return this.#pacer ? Math.max(this.#pacer.target, this.elapsed) : this.elapsed
  }

  /** Brings a world on a scaled clock up to date: at once, unless a slice or a tokenizer is in the way. */
  catchUp(): void | Promise<void> {
    if (this.#slicing) return this.#slicing.then(() => this.catchUp())
    if (!this.#pacer) return
    const { due } = this
    if (this.#host.world.needsTokenizer) {
      return this.#host.prepare().then(() => {
        this.#fire(due)
      })
    }
    this.#fire(due)
  }

  /** Ends a sliced move early, where it is: the server is closing and its client shall have an answer. */
  interrupt(): void {
    this.#interrupted = true
  }

  /** Rejects whoever sleeps or is moving time: the world they did it in is gone. */
  reset(): void {
    const sleepers = this.#sleepers
    this.#sleepers = []
    for (const { reject } of sleepers) {
      reject(new Error('Failed to sleep on: the simulator was reset. Start clients after reset().'))
    }
    this.#pacer?.rebase(this.elapsed)
  }

  /** The same as `advance`, for a server: in slices, so that other worlds and health go on. */
  advanceInSlices(duration: Duration): Promise<Happened> {
    const delta = micros(duration)
    return this.#inTurn(() => this.#holding(breathe => this.#runInSlices(() => this.elapsed + delta, breathe)))
  }

  /** The same as `advanceTo`, for a server. */
  advanceToInSlices(target: Micros): Promise<Happened> {
    return this.#inTurn(() => this.#holding(breathe => this.#runInSlices(() => target, breathe)))
  }

  /** The same as `until`, for a server: in slices, and giving up is an outcome. */
  untilInSlices(
    predicate: () => boolean | Promise<boolean>,
    options: { readonly within?: Duration | undefined } = {},
  ): Promise<Awaited> {
    const within = micros(options.within ?? '24h')
    return this.#inTurn(() =>
      this.#holding(async breathe => {
        const began = this.#begin()
        const limit = this.elapsed + within
        let reached = await predicate()
        while (!reached && (await this.#changeInSlices(limit, breathe))) reached = await predicate()
        return { reached, happened: this.#end(began) }
      }),
    )
  }

  /**
   * The same as `next`, for a server: to the next event, or with `visible` to the next change that a client could see.
   * With `within`, time rests there when nothing comes before.
   */
  nextInSlices(
    options: { readonly visible?: boolean | undefined; readonly within?: Duration | undefined } = {},
  ): Promise<Happened> {
    const within = options.within === undefined ? undefined : micros(options.within)
    return this.#inTurn(() =>
      this.#holding(async breathe => {
        const began = this.#begin()
        const limit = within === undefined ? Number.POSITIVE_INFINITY : this.elapsed + within
        if (options.visible) await this.#changeInSlices(limit, breathe)
        else if (!this.#nextThing(limit) && within !== undefined) this.#fire(limit)
        this.#fire(this.elapsed)
        return this.#end(began)
      }),
    )
  }

  /** Fires up to and including the next event that leaves a trace; false when none comes up to `limit`. */
  #nextThing(limit: Micros): boolean {
    const { world } = this.#host
    const last = world.journal.last
    while (world.next(limit)) if (world.journal.last !== last) return true
    return false
  }

  /** Holds the world's queue while `move` runs; `breathe` lets the process go on where a slice is over. */
  async #holding<T>(move: (breathe: () => Promise<void> | undefined) => Promise<T>): Promise<T> {
    await this.#host.prepare()
    let release = () => {}
    this.#slicing = new Promise(resolve => {
      release = resolve
    })
    let since = monotonicMs()
    const breathe = () => {
      if (monotonicMs() - since < SLICE_MS) return undefined
      return turn().then(() => {
        since = monotonicMs()
      })
    }
    try {
      this.#catchUpNow()
      return await move(breathe)
    } finally {
      this.#pacer?.rebase(this.elapsed)
      this.#slicing = undefined
      release()
    }
  }

  async #runInSlices(target: () => Micros, breathe: () => Promise<void> | undefined): Promise<Happened> {
    const began = this.#begin()
    const end = target()
    while (this.#host.world.next(end)) {
      const pause = breathe()
      if (pause) await pause
      this.#sameWorld(began.world)
      if (this.#interrupted) return this.#end(began)
    }
    this.#fire(end)
    return this.#end(began)
  }

  /** Goes to the next change that a client could see; false, with time at `limit`, when none comes. */
  async #changeInSlices(limit: Micros, breathe: () => Promise<void> | undefined): Promise<boolean> {
    const seen = this.#host.world.visibleChanges
    while (this.#host.world.visibleChanges === seen) {
      if (!this.#host.world.next(limit)) {
        if (limit < Number.POSITIVE_INFINITY) this.#fire(limit)
        return false
      }
      const pause = breathe()
      if (pause) await pause
      if (this.#interrupted) return false
    }
    return true
  }

  async #moveTo(target: Micros): Promise<Happened> {
    const began = this.#begin()
    await this.#settle()
    for (;;) {
      this.#sameWorld(began.world)
      const wake = this.#sleepers[0]?.at ?? Number.POSITIVE_INFINITY
      if (wake > target) break
      await this.#runTo(wake)
      await this.#settle()
    }
    await this.#runTo(target)
    this.#pacer?.rebase(this.elapsed)
    return this.#end(began)
  }

  /** Steps to the next change a client could see, or a sleeper's waking; false when there is none up to `limit`. */
  async #toNextChange(limit: Micros): Promise<boolean> {
    const { world } = this.#host
    const seen = world.visibleChanges
    while (world.visibleChanges === seen) {
      const wake = this.#sleepers[0]?.at ?? Number.POSITIVE_INFINITY
      if (wake <= limit && wake <= world.agenda.nextTime) {
        await this.#runTo(wake)
        await this.#settle()
        this.#pacer?.rebase(this.elapsed)
        return true
      }
      if (world.needsTokenizer) await this.#host.prepare()
      if (!world.next(limit)) {
        await this.#runTo(limit)
        this.#pacer?.rebase(this.elapsed)
        return false
      }
    }
    this.#pacer?.rebase(this.elapsed)
    return true
  }

  async #runTo(target: Micros): Promise<void> {
    if (this.#host.world.needsTokenizer) await this.#host.prepare()
    this.#fire(target)
  }

  #catchUpNow(): void {
    if (this.#pacer) this.#fire(this.due)
  }

  #fire(target: Micros): void {
    const { world } = this.#host
    if (target > world.clock.now || world.agenda.nextTime <= target) world.runTo(Math.max(target, world.clock.now))
    while (this.#sleepers.length > 0 && this.#sleepers[0]!.at <= this.elapsed) {
      const [first, ...rest] = this.#sleepers
      this.#sleepers = rest
      first!.wake()
    }
  }

  /** Waits until clients have nothing left to do but wait. */
  async #settle(): Promise<void> {
    await this.#host.prepare()
    this.#catchUpNow()
    let calm = 0
    let seen = this.#host.activity
    let since = monotonicMs()
    while (calm < QUIET_TURNS) {
      await turn()
      const { activity, inFlight } = this.#host
      calm = activity === seen && inFlight.length === 0 ? calm + 1 : 0
      if (activity !== seen) since = monotonicMs()
      // A process that got no time for a while is not a client that hangs.
      else if (inFlight.length > 0 && monotonicMs() - since > STUCK_MS) {
        throw new Error(
          `Failed to move time: ${inFlight.join(', ')} has been in flight for ${STUCK_MS / 1000} s without a sign of life. ` +
            'End its body, or await its answer before you move time.',
        )
      }
      seen = activity
    }
  }

  #begin(): Began {
    const { world } = this.#host
    return { world, from: this.iso, counts: new Map(world.journal.counts) }
  }

  /** A reset in the middle of a move: the move belongs to a world that is gone. */
  #sameWorld(world: World): void {
    if (world === this.#host.world) return
    throw new Error('Failed to move time on: the simulator was reset in the middle. Await a move before you reset.')
  }

  #end(began: Began): Happened {
    this.#sameWorld(began.world)
    const counts: Record<string, number> = {}
    let events = 0
    for (const [kind, count] of this.#host.world.journal.counts) {
      const more = count - (began.counts.get(kind) ?? 0)
      if (more === 0) continue
      counts[kind] = more
      events += more
    }
    return { from: began.from, to: this.iso, events, counts }
  }

  #gaveUp(within: Micros): string {
    const { world } = this.#host
    const last = world
      .history()
      .filter(entry => entry.kind !== 'request')
      .slice(-5)
      .map(entry => `\n  ${traceLine(entry)}`)
      .join('')
    return (
      `Failed to reach the condition within ${readable(within)}: it does not hold at ${this.iso}. ` +
      `Allow more with { within }, or see what happened last (seed ${world.seed}):${last || '\n  nothing'}`
    )
  }

  /** One move at a time: a second one queues behind the first. */
  #inTurn<T>(move: () => Promise<T>): Promise<T> {
    const { world } = this.#host
    const result = this.#queue.then(() => {
      this.#sameWorld(world)
      return move()
    })
    this.#queue = result.catch(() => {})
    return result
  }
}

/** Reads a clock setting. Throws RangeError for a mode that does not exist or a speed that is none. */
export function readSetting(setting: ClockSetting): { mode: ClockMode; speed: number } {
  const { mode, speed = DEFAULT_SPEED } = typeof setting === 'string' ? { mode: setting } : setting
  if (mode !== 'manual' && mode !== 'scaled') {
    const meant = nearest(String(mode), MODES)
    throw new RangeError(
      `Failed to set the clock: there is no mode '${String(mode)}'. ` +
        (meant ? `Did you mean '${meant}'?` : "Modes are 'manual' and 'scaled'."),
    )
  }
  if (!Number.isFinite(speed) || speed <= 0 || speed > 1e6) {
    throw new RangeError(
      `Failed to set the clock: a speed of ${String(speed)} is none. Give a number above 0 and up to 1,000,000.`,
    )
  }
  return { mode, speed }
}

/** Waits for real time to pass, without keeping the process alive: how long a server that closes is patient. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => {
    const timer: unknown = realTimeout(() => resolve(), milliseconds)
    if (typeof timer === 'object') (timer as { unref?(): void }).unref?.()
  })
}

// Captured at import: a test runner's fake timers must not stop the turns that wait for a client.
const realImmediate: ((callback: () => void) => unknown) | undefined = globalThis.setImmediate
const realTimeout = globalThis.setTimeout

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise(resolve => {
    if (realImmediate) realImmediate(() => resolve())
    else realTimeout(() => resolve(), 0)
  })
}
