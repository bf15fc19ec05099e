/**
 * Moving time for clients that wait: the public clock. The kernel's advance is synchronous; the public one also lets
 * whoever it woke go on before the next step.
 */

import { EVENTS, HOUSEKEEPING } from '../cluster/events.ts'
import { eventsToNextChange, type Polled, unfinished } from '../cluster/unfinished.ts'
import type { World } from '../cluster/world.ts'
import { LONGEST_LIFE } from '../kernel/clock.ts'
import { type Duration, type Micros, micros } from '../kernel/duration.ts'
import { WorldReplaced } from '../kernel/world-replaced.ts'
import { type Awaited, type Began, began, type Happened, happenedSince } from './happened.ts'
import type { ClockHost, ClockOptions, Holding } from './host.ts'
import { FakeTimers, warn } from './lockstep.ts'
import { demandOptions, demandPredicate, momentToCome, withinLife } from './moves.ts'
import { Pauses } from './pauses.ts'
import { Quiet } from './quiet.ts'
import { type ClockMode, type ClockSetting, type Drive, driveOf, settingOf } from './setting.ts'
import { type Sleeper, Sleepers } from './sleepers.ts'
import { Slices } from './slices.ts'
import { forget, soon } from './turns.ts'
import { UntilError } from './until-error.ts'
import { type WaitingRequest, Waits } from './waits.ts'

/**
 * The clock of a simulator.
 *
 * @example
 * await sim.clock.advance('10m')
 * await sim.clock.until(() => deployment.status === 'running', { within: '15m' })
 */
export class SimulatorClock {
  readonly #host: ClockHost
  readonly #drivesTimers: boolean
  readonly #timers = new FakeTimers()
  readonly #quiet: Quiet
  readonly #slices: Slices
  #drive: Drive
  /** Where the followed clock and the world stood when time was moved last. */
  #followed = { world: 0, now: 0 }
  readonly #pauses = new Pauses()
  #saidNothingToFollow = false
  #jump: unknown
  readonly #sleepers = new Sleepers()
  readonly #waits: Waits
  #queue: Promise<unknown> = Promise.resolve()
  #moves = 0
  /** The errors that `fail` was given in the move by hand that is under way: the first one at most. */
  #errors: unknown[] | undefined
  /** Tells who waits for a predicate that an answer to it may be held back. */
  #held = () => {}

  constructor(host: ClockHost, setting: ClockSetting, options: ClockOptions = {}) {
    this.#host = host
    this.#drivesTimers = options.timers !== 'ignore'
    this.#quiet = new Quiet(host, this.#timers)
    this.#slices = new Slices(this.#movable())
    const clock = this
    this.#waits = new Waits({
      get world() {
        return host.world
      },
      get mode() {
        return clock.mode
      },
      get pausedBy() {
        return clock.pausedBy
      },
      get shown() {
        return clock.pausedBy.length > 0 ? clock.elapsed : clock.due
      },
    })
    this.#drive = driveOf(setting, this.elapsed)
    this.#rebase()
    this.sleep = this.sleep.bind(this)
    if (this.#drivesTimers && this.#timers.look(this.elapsed)) this.#quiet.watch()
  }

  get mode(): ClockMode {
    return this.#drive.mode
  }

  /** How time moves, as `set` takes it. */
  get setting(): ClockSetting {
    return settingOf(this.#drive)
  }

  /** Simulated seconds in a real second; undefined when the clock is not scaled. */
  get speed(): number | undefined {
    return this.#drive.mode === 'scaled' ? this.#drive.pacer.speed : undefined
  }

  /** Who holds the time, by name; empty while it moves as its mode says. */
  get pausedBy(): readonly string[] {
    return this.#pauses.owners
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

  /** The requests whose answers wait for time. */
  get waiting(): readonly WaitingRequest[] {
    return this.#waits.list()
  }

  /** Whether time is being moved, so that whoever waits for it only has to sleep. */
  get isMoving(): boolean {
    return this.#moves > 0
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
    return this.#byHand(() => this.#moveTo(withinLife(this.elapsed + delta)))
  }

  /** Moves time to a moment: ISO 8601 with offset, or a Date. Rejects with RangeError for one that has passed. */
  async advanceTo(moment: string | Date): Promise<Happened> {
    const target = momentToCome(this.#host.world.clock, moment)
    return this.#byHand(() => this.#moveTo(target))
  }

  /**
   * Moves time to the next thing that happens, or to the next sleeper; with `visible` to the next change that a client
   * could see. `events` is 0 when nothing is planned; with `within`, time rests there when nothing comes before.
   */
  async next(
    options: { readonly visible?: boolean | undefined; readonly within?: Duration | undefined } = {},
  ): Promise<Happened> {
    demandOptions('next', options, ['visible', 'within'])
    const within = options.within === undefined ? Number.POSITIVE_INFINITY : micros(options.within)
    return this.#byHand(async () => {
      const limit = within === Number.POSITIVE_INFINITY ? within : withinLife(this.elapsed + within)
      const start = began(this.#host.world)
      await this.#settle()
      const { world } = this.#host
      if (options.visible) {
        await this.#toNextChange(limit)
        await this.#settle()
        return this.#end(start)
      }
      const last = world.journal.last
      // Some looks of the simulation at itself find nothing to do; nobody else would call them events.
      while (world.journal.last === last) {
        const wake = this.#sleepers.next
        if (await this.#stepTimers(Math.min(wake, world.agenda.nextTime, limit))) break
        if (wake <= limit && wake <= world.agenda.nextTime) {
          if (wake < Number.POSITIVE_INFINITY) await this.#runTo(wake)
          break
        }
        if (world.needsTokenizer) await this.#host.prepare()
        if (world.next(limit)) continue
        if (limit < Number.POSITIVE_INFINITY) await this.#runTo(limit)
        break
      }
      this.#rebase()
      await this.#settle()
      return this.#end(start)
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
    demandPredicate(predicate)
    demandOptions('until', options, ['within'])
    const within = micros(options.within ?? '24h')
    return this.#byHand(async () => {
      const limit = withinLife(this.elapsed + within)
      const start = began(this.#host.world)
      await this.#settle()
      for (;;) {
        if (await this.#asked(predicate, limit)) return this.#end(start)
        this.#sameWorld(start.world)
        if (!(await this.#toNextChange(limit))) break
      }
      throw UntilError.after(within, start.world)
    })
  }

  /** Resolves when time has been moved past `duration` from now: a client's sleep on this clock. */
  sleep(duration: Duration): Promise<void> {
    const at = this.elapsed + micros(duration)
    return new Promise((wake, reject) => {
      this.#sleepers.add({ at, wake, reject })
      this.#waited()
    })
  }

  /**
   * Waits as the client of a delayed answer does: until time has come that far, its signal is aborted, or the world is
   * gone. A scaled clock comes that far by itself; an infinite delay never ends by time.
   */
  hold(delay: Micros, { signal, wait, isInside = false }: Holding): Promise<void> {
    const at = this.elapsed + delay
    return new Promise((resolve, reject) => {
      let look: unknown
      const endWait = wait && this.#waits.begin(wait, at)
      const end = (settle: () => void) => {
        endWait?.()
        forget(look)
        signal.removeEventListener('abort', abort)
        this.#sleepers.remove(sleeper)
        leave()
        settle()
      }
      const abort = () => end(() => reject(signal.reason))
      const leave = this.#quiet.park(isInside)
      const sleeper: Sleeper = {
        at,
        wake: () => end(resolve),
        reject: error => end(() => reject(error)),
        looks: wait?.call !== undefined,
      }
      this.#sleepers.add(sleeper)
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort)
      // What comes to no end by itself must not keep a timer either.
      const pace = () => {
        this.catchUp()
        const { speed } = this
        if (speed === undefined || at === Number.POSITIVE_INFINITY || !this.#sleepers.has(sleeper)) return
        look = soon(pace, Math.ceil((at - this.elapsed) / 1000 / speed) + 1, 'held')
      }
      pace()
      this.#waited()
      this.#held()
    })
  }

  /** What a predicate says; where an answer that it awaits is held back, time is moved to it. */
  async #asked(predicate: () => boolean | Promise<boolean>, limit: Micros): Promise<boolean> {
    let isHeld = false
    let tell = () => {}
    const held = new Promise<void>(resolve => {
      tell = resolve
    })
    this.#held = () => {
      isHeld = true
      tell()
    }
    let isOver = false
    const outcome = Promise.resolve(predicate()).finally(() => {
      isOver = true
    })
    await Promise.race([outcome, held])
    while (isHeld && !isOver) {
      await this.#settle()
      const wake = this.#sleepers.next
      if (isOver || wake > limit) break
      await this.#runTo(wake)
      await this.#settle()
    }
    if (isOver || !isHeld) return outcome
    // The answer comes too late, and nobody will be there to hear how the predicate ends.
    outcome.catch(() => {})
    return false
  }

  /** Switches how time moves, without a jump: the world first comes to where the old mode has it by now. */
  set(setting: ClockSetting): void {
    const drive = driveOf(setting, this.due)
    if (!this.#host.world.needsTokenizer) this.#catchUpNow()
    this.#drive = drive
    this.#dropJump()
    this.#goOn()
  }

  /**
   * Holds the time where it is, whatever the mode; moves by hand still move it. Returns the way to let go.
   *
   * @param owner who holds it, for whoever wonders why time stands
   * @example const resume = sim.clock.pause('debugger')
   */
  pause(owner: string): () => void {
    if (!this.#pauses.isHeld && !this.#host.world.needsTokenizer) this.#catchUpNow()
    const release = this.#pauses.hold(owner)
    this.#dropJump()
    return () => {
      if (release()) this.#goOn()
    }
  }

  /** Lets go of what `owner` holds. Throws RangeError when they hold nothing; says so when somebody else still does. */
  resume(owner: string): void {
    if (this.#pauses.release(owner)) this.#goOn()
  }

  #goOn(): void {
    this.#rebase()
    if (this.#drive.mode === 'idle') this.#armJump(this.#drive.after)
    // Whoever waits moves such a clock himself, and could not while it was held.
    if (this.#drive.mode === 'on-poll') this.#sleepers.rouse()
  }

  /** Where the clock's mode says the world should be by now; where it is, when time moves by hand. */
  get due(): Micros {
    return Math.max(this.elapsed, Math.min(LONGEST_LIFE, this.#target()))
  }

  #target(): Micros {
    const drive = this.#drive
    if (this.#pauses.isHeld) {
      if (drive.mode !== 'manual') this.#pauses.asked()
      return this.elapsed
    }
    if (drive.mode === 'scaled') return drive.pacer.target
    if (drive.mode === 'follow' && drive.now !== undefined) {
      return this.#followed.world + Math.floor((drive.now() - this.#followed.now) * 1000)
    }
    if (this.#drivesTimers && this.#timers.look(this.elapsed)) {
      this.#quiet.watch()
      return this.#timers.target
    }
    if (drive.mode === 'follow' && !this.#saidNothingToFollow) {
      this.#saidNothingToFollow = true
      warn(
        'The clock follows fake timers and none are installed, so time stands. ' +
          "Install them (vi.useFakeTimers()), or give a clock: { mode: 'follow', now: () => … }.",
      )
    }
    return this.elapsed
  }

  /** A move by hand: the mode goes on from where the world is now. */
  #rebase(): void {
    const drive = this.#drive
    if (drive.mode === 'scaled') drive.pacer.rebase(this.elapsed)
    if (drive.mode === 'follow' && drive.now !== undefined) this.#followed = { world: this.elapsed, now: drive.now() }
    // Both clocks count from one base as long as they are in step, so that rounding never adds up.
    if (this.#timers.look(this.elapsed) && Math.abs(this.elapsed - this.#timers.target) >= 1000) {
      this.#timers.rebase(this.elapsed)
    }
  }

  /**
   * A look at something unfinished was answered: an on-poll clock moves to its next change of status, or by its step.
   * Nothing moves where nothing is planned.
   */
  async polled(polled: Polled): Promise<void> {
    const drive = this.#drive
    if (drive.mode !== 'on-poll' || this.#pauses.isHeld) return
    await this.#inTurn(async () => {
      await this.#host.prepare()
      const { world } = this.#host
      if (drive.step !== undefined) {
        if (unfinished(world, polled).size > 0) this.#fire(this.elapsed + drive.step)
        return
      }
      for (let events = eventsToNextChange(world, polled); events > 0; events--) world.next()
      this.#sleepers.wake(() => this.elapsed)
    })
  }

  /** A request ended: an idle clock waits for the next one, and jumps when none comes. */
  answered(): void {
    if (this.#drive.mode === 'idle') this.#armJump(this.#drive.after)
  }

  /** Somebody waits for time: the jump that brings it is one that the process stays alive for. */
  #waited(): void {
    this.#dropJump()
    this.answered()
  }

  #armJump(after: number): void {
    if (this.#jump !== undefined || this.#pauses.isHeld) return
    const { activity } = this.#host
    this.#jump = soon(
      () => {
        this.#jump = undefined
        if (this.#drive.mode !== 'idle') return
        const quiet = this.#host.activity === activity && this.#quiet.isEveryoneServed
        if (!quiet) this.#armJump(after)
        else if (Number.isFinite(this.#nextWork())) {
          this.#toWork().then(
            () => this.answered(),
            error => warn(`The idle clock stopped: ${error instanceof Error ? error.message : String(error)}`),
          )
        }
      },
      after,
      Number.isFinite(this.#sleepers.next) ? 'held' : undefined,
    )
  }

  #dropJump(): void {
    if (this.#jump !== undefined) forget(this.#jump)
    this.#jump = undefined
  }

  #nextWork(): Micros {
    const work = this.#host.world.agenda.nextTimeOf(kind => !HOUSEKEEPING.has(EVENTS[kind]!.name))
    return Math.min(work, this.#sleepers.next)
  }

  /** Jumps from work to work until a client could see something new or is woken, or there is none. */
  #toWork(): Promise<void> {
    return this.#inTurn(() =>
      this.#slices.move(async breathe => {
        const { world } = this.#host
        const seen = world.visibleChanges
        for (;;) {
          const target = this.#nextWork()
          if (!Number.isFinite(target) || world.visibleChanges !== seen) return
          // Somebody took hold of it on the way, or moves it otherwise now.
          if (this.#pauses.isHeld || this.#drive.mode !== 'idle') return
          const wake = this.#sleepers.next
          this.#fire(target)
          if (wake <= target) return
          const pause = breathe()
          if (pause) await pause
          this.#sameWorld(world)
        }
      }),
    )
  }

  /** Brings a world up to where its clock says: at once, unless a slice or a tokenizer is in the way. */
  catchUp(): void | Promise<void> {
    const { underWay } = this.#slices
    if (underWay) return underWay.then(() => this.catchUp())
    const { due } = this
    if (due === this.elapsed) return
    if (this.#host.world.needsTokenizer) {
      return this.#host.prepare().then(() => {
        this.#fire(due)
      })
    }
    this.#fire(due)
  }

  /** Ends a sliced move early, where it is: the server is closing and its client shall have an answer. */
  interrupt(): void {
    this.#slices.interrupt()
  }

  /** Rejects whoever sleeps or is moving time: the world they did it in is gone. */
  reset(): void {
    const message = 'Failed to sleep on: the simulator was reset. Start clients after reset().'
    this.#sleepers.reject(() => new WorldReplaced(message))
    this.#timers.forget()
    this.#quiet.unwatch()
    this.#rebase()
  }

  /** The world is another one: time moves, and is held, as it was in that one. Whoever waits in this one is told. */
  restore(setting: ClockSetting, pausedBy: readonly string[]): void {
    this.#drive = driveOf(setting, this.elapsed)
    this.#pauses.replace(pausedBy)
    this.reset()
    this.#dropJump()
    if (this.#drive.mode === 'idle') this.#armJump(this.#drive.after)
  }

  /** The same as `advance`, for a server: in slices, so that other worlds and health go on. */
  advanceInSlices(duration: Duration): Promise<Happened> {
    const delta = micros(duration)
    return this.#byHand(() =>
      this.#slices.move(breathe => this.#slices.runTo(withinLife(this.elapsed + delta), breathe)),
    )
  }

  /** The same as `advanceTo`, for a server. */
  advanceToInSlices(target: Micros): Promise<Happened> {
    return this.#byHand(() => this.#slices.move(breathe => this.#slices.runTo(target, breathe)))
  }

  /** The same as `until`, for a server: in slices, and giving up is an outcome. */
  untilInSlices(
    predicate: () => boolean | Promise<boolean>,
    options: { readonly within?: Duration | undefined } = {},
  ): Promise<Awaited> {
    const within = micros(options.within ?? '24h')
    return this.#byHand(() =>
      this.#slices.move(async breathe => {
        const limit = withinLife(this.elapsed + within)
        const start = began(this.#host.world)
        let reached = await predicate()
        while (!reached && (await this.#slices.toNextChange(limit, breathe))) reached = await predicate()
        return { reached, happened: this.#end(start) }
      }),
    )
  }

  /**
   * The same as `next`, for a server: to the next event, or with `visible` to the next change that a client could see.
   * With `within`, time rests there when nothing comes before, and it was not reached.
   */
  nextInSlices(
    options: { readonly visible?: boolean | undefined; readonly within?: Duration | undefined } = {},
  ): Promise<Awaited> {
    const within = options.within === undefined ? undefined : micros(options.within)
    return this.#byHand(() =>
      this.#slices.move(async breathe => {
        const limit = within === undefined ? Number.POSITIVE_INFINITY : withinLife(this.elapsed + within)
        const start = began(this.#host.world)
        let reached = false
        if (options.visible) reached = await this.#slices.toNextChange(limit, breathe)
        else {
          reached = this.#nextThing(limit)
          if (!reached && within !== undefined) this.#fire(limit)
        }
        this.#sleepers.wake(() => this.elapsed)
        return { reached, happened: this.#end(start) }
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

  /** What moves in slices is this clock, in its own ways. */
  #movable(): ConstructorParameters<typeof Slices>[0] {
    const host = this.#host
    return {
      get world() {
        return host.world
      },
      prepare: () => host.prepare(),
      catchUp: () => this.#catchUpNow(),
      fire: target => this.#fire(target),
      moved: () => this.#rebase(),
      demandSame: world => this.#sameWorld(world),
    }
  }

  async #moveTo(target: Micros): Promise<Happened> {
    const start = began(this.#host.world)
    await this.#settle()
    for (;;) {
      this.#sameWorld(start.world)
      const wake = this.#sleepers.next
      if (await this.#stepTimers(Math.min(wake, target))) continue
      if (wake > target) break
      await this.#runTo(wake)
      await this.#settle()
    }
    await this.#runTo(target)
    this.#rebase()
    return this.#end(start)
  }

  /**
   * Lets the test runner's fake timers come as far as `limit`: true when one of them was due before, was fired, and its
   * client is quiet again with the world at its time; false when the world may go to `limit`.
   */
  async #stepTimers(limit: Micros): Promise<boolean> {
    if (!this.#drivesTimers || !this.#timers.look(this.elapsed)) return false
    if (limit === Number.POSITIVE_INFINITY && this.#timers.waiting === 0) return false
    // The world comes first, so that what the timer's callback reads of it is of its own time.
    const { due } = this.#timers
    if (due !== undefined && due <= limit && due > this.elapsed) {
      await this.#host.prepare()
      this.#host.world.runTo(due)
    }
    if (this.#timers.step(limit) === 'rested') return false
    await this.#runTo(Math.max(this.elapsed, this.#timers.target))
    await this.#settle()
    return true
  }

  /** Steps to the next change a client could see, or a sleeper's waking; false when there is none up to `limit`. */
  async #toNextChange(limit: Micros): Promise<boolean> {
    const { world } = this.#host
    const seen = world.visibleChanges
    while (world.visibleChanges === seen) {
      const wake = this.#sleepers.next
      if (await this.#stepTimers(Math.min(wake, world.agenda.nextTime, limit))) {
        this.#sameWorld(world)
        this.#rebase()
        return true
      }
      if (wake < Number.POSITIVE_INFINITY && wake <= limit && wake <= world.agenda.nextTime) {
        await this.#runTo(wake)
        await this.#settle()
        this.#rebase()
        return true
      }
      if (world.needsTokenizer) await this.#host.prepare()
      if (!world.next(limit)) {
        if (limit < Number.POSITIVE_INFINITY) await this.#runTo(limit)
        this.#rebase()
        return false
      }
    }
    this.#rebase()
    return true
  }

  async #runTo(target: Micros): Promise<void> {
    if (this.#host.world.needsTokenizer) await this.#host.prepare()
    this.#fire(target)
  }

  #catchUpNow(): void {
    const { due } = this
    if (due > this.elapsed) this.#fire(due)
  }

  #fire(target: Micros): void {
    const { world } = this.#host
    if (target > world.clock.now || world.agenda.nextTime <= target) world.runTo(Math.max(target, world.clock.now))
    this.#sleepers.wake(() => this.elapsed)
  }

  /** Waits until clients have nothing left to do but wait. */
  async #settle(): Promise<void> {
    await this.#host.prepare()
    this.#catchUpNow()
    if (this.#drivesTimers) {
      this.#timers.demandDrivable()
      if (this.#timers.look(this.elapsed)) this.#quiet.watch()
    }
    await this.#quiet.settled()
  }

  /** A reset in the middle of a move: the move belongs to a world that is gone. */
  #sameWorld(world: World): void {
    if (world === this.#host.world) return
    throw new WorldReplaced(
      'Failed to move time on: the simulator was reset in the middle. Await a move before you reset.',
    )
  }

  #end(since: Began): Happened {
    this.#sameWorld(since.world)
    return happenedSince(since)
  }

  /**
   * Rejects the move by hand that is under way with an error, once it is complete; the first error counts. Without a
   * move by hand the error is an uncaught exception.
   */
  fail(error: unknown): void {
    if (this.#errors?.length === 0) this.#errors.push(error)
    if (this.#errors !== undefined) return
    queueMicrotask(() => {
      throw error
    })
  }

  /** Runs a move that somebody awaits in turn. Rejects with the first error that `fail` was given meanwhile. */
  #byHand<T>(move: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const errors: unknown[] = []
      this.#errors = errors
      try {
        const moved = await move()
        if (errors.length > 0) throw errors[0]
        return moved
      } catch (error) {
        throw errors.length > 0 ? errors[0] : error
      } finally {
        this.#errors = undefined
      }
    })
  }

  /** One move at a time: a second one queues behind the first. */
  #inTurn<T>(move: () => Promise<T>): Promise<T> {
    const { world } = this.#host
    const result = this.#queue.then(async () => {
      this.#sameWorld(world)
      this.#moves++
      try {
        return await move()
      } finally {
        this.#moves--
      }
    })
    this.#queue = result.catch(() => {})
    return result
  }
}
