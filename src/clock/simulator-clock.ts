/**
 * Moving time for clients that wait: the public clock. The kernel's advance is synchronous; the public one also lets
 * whoever it woke go on before the next step.
 */

import { MAX_WORLD_AGE } from '../kernel/clock.ts'
import { type Duration, type Micros, micros } from '../kernel/duration.ts'
import { WorldReplaced } from '../kernel/world-replaced.ts'
import { assertKnownKeys } from '../lib/known-keys.ts'
import { clearRealTimeout, setRealTimeout } from '../lib/real-time.ts'
import { EVENTS, HOUSEKEEPING_EVENTS } from '../simulation/events.ts'
import { eventsToNextChange, inProgress, type PolledResource } from '../simulation/reporting/progress.ts'
import type { World } from '../simulation/world.ts'
import { FakeTimers, warn } from './fake-timers.ts'
import { ClockHolds } from './holds.ts'
import type { ClockHost, ClockOptions, HoldOptions } from './host.ts'
import { assertPredicate, requireWithinMaxAge, toFutureTime } from './move-arguments.ts'
import { type BoundedMoveResult, type MoveResult, type MoveStart, moveResultSince, startMove } from './move-result.ts'
import { Quiescence } from './quiescence.ts'
import { type ClockDrive, type ClockMode, type ClockSetting, readSetting, toSetting } from './settings.ts'
import { type Sleeper, Sleepers } from './sleepers.ts'
import { Slices } from './time-slices.ts'
import { UntilError } from './until-error.ts'
import { PendingRequests, type PendingRequestView } from './waiting-requests.ts'

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
  readonly #quiescence: Quiescence
  readonly #slices: Slices
  #drive: ClockDrive
  /** Where the followed clock and the world stood when time was moved last. */
  #followBase = { world: 0, now: 0 }
  readonly #holds = new ClockHolds()
  #hasWarnedNothingToFollow = false
  #jumpTimer: unknown
  readonly #sleepers = new Sleepers()
  readonly #pendingRequests: PendingRequests
  #queue: Promise<unknown> = Promise.resolve()
  #activeMoves = 0
  /** The errors that `fail` was given in the move by hand that is under way: the first one at most. */
  #errors: unknown[] | undefined
  /** Tells who waits for a predicate that an answer to it may be held back. */
  #onAnswerHeld = () => {}

  constructor(host: ClockHost, setting: ClockSetting, options: ClockOptions = {}) {
    this.#host = host
    this.#drivesTimers = options.timers !== 'ignore'
    this.#quiescence = new Quiescence(host, this.#timers)
    this.#slices = new Slices(this.#movableClock())
    const clock = this
    this.#pendingRequests = new PendingRequests({
      get world() {
        return host.world
      },
      get mode() {
        return clock.mode
      },
      get pausedBy() {
        return clock.pausedBy
      },
      get currentTime() {
        return clock.pausedBy.length > 0 ? clock.elapsed : clock.due
      },
    })
    this.#drive = readSetting(setting, this.elapsed)
    this.#rebase()
    this.sleep = this.sleep.bind(this)
    if (this.#drivesTimers && this.#timers.detect(this.elapsed)) this.#quiescence.watch()
  }

  get mode(): ClockMode {
    return this.#drive.mode
  }

  /** How time moves, as `set` takes it. */
  get setting(): ClockSetting {
    return toSetting(this.#drive)
  }

  /** Simulated seconds in a real second; undefined when the clock is not scaled. */
  get speed(): number | undefined {
    return this.#drive.mode === 'scaled' ? this.#drive.pacer.speed : undefined
  }

  /** Who holds the time, by name; empty while it moves as its mode says. */
  get pausedBy(): readonly string[] {
    return this.#holds.owners
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
  get pendingRequests(): readonly PendingRequestView[] {
    return this.#pendingRequests.list()
  }

  /** Whether time is being moved, so that whoever waits for it only has to sleep. */
  get isMoving(): boolean {
    return this.#activeMoves > 0
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
  async advance(duration: Duration): Promise<MoveResult> {
    const delta = micros(duration)
    return this.#byHand(() => this.#moveTo(requireWithinMaxAge(this.elapsed + delta)))
  }

  /** Moves time to a moment: ISO 8601 with offset, or a Date. Rejects with RangeError for one that has passed. */
  async advanceTo(time: string | Date): Promise<MoveResult> {
    const target = toFutureTime(this.#host.world.clock, time)
    return this.#byHand(() => this.#moveTo(target))
  }

  /**
   * Moves time to the next thing that happens, or to the next sleeper; with `visible` to the next change that a client
   * could see. `events` is 0 when nothing is planned; with `within`, time rests there when nothing comes before.
   */
  async next(
    options: { readonly visible?: boolean | undefined; readonly within?: Duration | undefined } = {},
  ): Promise<MoveResult> {
    assertKnownKeys(options, ['visible', 'within'], 'Failed to call clock.next')
    const within = options.within === undefined ? Number.POSITIVE_INFINITY : micros(options.within)
    return this.#byHand(async () => {
      const limit = within === Number.POSITIVE_INFINITY ? within : requireWithinMaxAge(this.elapsed + within)
      const start = startMove(this.#host.world)
      await this.#whenIdle()
      const { world } = this.#host
      if (options.visible) {
        await this.#toNextChange(limit)
        await this.#whenIdle()
        return this.#finishMove(start)
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
      await this.#whenIdle()
      return this.#finishMove(start)
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
  ): Promise<MoveResult> {
    assertPredicate(predicate)
    assertKnownKeys(options, ['within'], 'Failed to call clock.until')
    const within = micros(options.within ?? '24h')
    return this.#byHand(async () => {
      const limit = requireWithinMaxAge(this.elapsed + within)
      const start = startMove(this.#host.world)
      await this.#whenIdle()
      for (;;) {
        if (await this.#evaluate(predicate, limit)) return this.#finishMove(start)
        this.#assertSameWorld(start.world)
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
      this.#onWaitBegan()
    })
  }

  /**
   * Waits as the client of a delayed answer does: until time has come that far, its signal is aborted, or the world is
   * gone. A scaled clock comes that far by itself; an infinite delay never ends by time.
   */
  hold(delay: Micros, { signal, request, isInFlight = false }: HoldOptions): Promise<void> {
    const at = this.elapsed + delay
    return new Promise((resolve, reject) => {
      let timer: unknown
      const endWait = request && this.#pendingRequests.begin(request, at)
      const end = (callback: () => void) => {
        endWait?.()
        clearRealTimeout(timer)
        signal.removeEventListener('abort', abort)
        this.#sleepers.remove(sleeper)
        unpark()
        callback()
      }
      const abort = () => end(() => reject(signal.reason))
      const unpark = this.#quiescence.park(isInFlight)
      const sleeper: Sleeper = {
        at,
        wake: () => end(resolve),
        reject: error => end(() => reject(error)),
        isPoller: request?.call !== undefined,
      }
      this.#sleepers.add(sleeper)
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort)
      // What comes to no end by itself must not keep a timer either.
      const scheduleCatchUp = () => {
        this.catchUp()
        const { speed } = this
        if (speed === undefined || at === Number.POSITIVE_INFINITY || !this.#sleepers.has(sleeper)) return
        timer = setRealTimeout(scheduleCatchUp, Math.ceil((at - this.elapsed) / 1000 / speed) + 1, 'held')
      }
      scheduleCatchUp()
      this.#onWaitBegan()
      this.#onAnswerHeld()
    })
  }

  /** What a predicate says; where an answer that it awaits is held back, time is moved to it. */
  async #evaluate(predicate: () => boolean | Promise<boolean>, limit: Micros): Promise<boolean> {
    let isHeld = false
    let resolveHeld = () => {}
    const held = new Promise<void>(resolve => {
      resolveHeld = resolve
    })
    this.#onAnswerHeld = () => {
      isHeld = true
      resolveHeld()
    }
    let isDone = false
    const outcome = Promise.resolve(predicate()).finally(() => {
      isDone = true
    })
    await Promise.race([outcome, held])
    while (isHeld && !isDone) {
      await this.#whenIdle()
      const wake = this.#sleepers.next
      if (isDone || wake > limit) break
      await this.#runTo(wake)
      await this.#whenIdle()
    }
    if (isDone || !isHeld) return outcome
    // The answer comes too late, and nobody will be there to hear how the predicate ends.
    outcome.catch(() => {})
    return false
  }

  /** Switches how time moves, without a jump: the world first comes to where the old mode has it by now. */
  set(setting: ClockSetting): void {
    const drive = readSetting(setting, this.due)
    if (!this.#host.world.needsTokenizer) this.#catchUpNow()
    this.#drive = drive
    this.#cancelJump()
    this.#resumeDrive()
  }

  /**
   * Holds the time where it is, whatever the mode; moves by hand still move it. Returns the way to let go.
   *
   * @param owner who holds it, for whoever wonders why time stands
   * @example const resume = sim.clock.pause('debugger')
   */
  pause(owner: string): () => void {
    if (!this.#holds.isHeld && !this.#host.world.needsTokenizer) this.#catchUpNow()
    const release = this.#holds.hold(owner)
    this.#cancelJump()
    return () => {
      if (release()) this.#resumeDrive()
    }
  }

  /** Lets go of what `owner` holds. Throws RangeError when they hold nothing; says so when somebody else still does. */
  resume(owner: string): void {
    if (this.#holds.release(owner)) this.#resumeDrive()
  }

  #resumeDrive(): void {
    this.#rebase()
    if (this.#drive.mode === 'idle') this.#scheduleJump(this.#drive.after)
    // Whoever waits moves such a clock himself, and could not while it was held.
    if (this.#drive.mode === 'on-poll') this.#sleepers.wakePollers()
  }

  /** Where the clock's mode says the world should be by now; where it is, when time moves by hand. */
  get due(): Micros {
    return Math.max(this.elapsed, Math.min(MAX_WORLD_AGE, this.#driveTarget()))
  }

  #driveTarget(): Micros {
    const drive = this.#drive
    if (this.#holds.isHeld) {
      if (drive.mode !== 'manual') this.#holds.warnIfLong()
      return this.elapsed
    }
    if (drive.mode === 'scaled') return drive.pacer.target
    if (drive.mode === 'follow' && drive.now !== undefined) {
      return this.#followBase.world + Math.floor((drive.now() - this.#followBase.now) * 1000)
    }
    if (this.#drivesTimers && this.#timers.detect(this.elapsed)) {
      this.#quiescence.watch()
      return this.#timers.targetTime
    }
    if (drive.mode === 'follow' && !this.#hasWarnedNothingToFollow) {
      this.#hasWarnedNothingToFollow = true
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
    if (drive.mode === 'follow' && drive.now !== undefined) this.#followBase = { world: this.elapsed, now: drive.now() }
    // Both clocks count from one base as long as they are in step, so that rounding never adds up.
    if (this.#timers.detect(this.elapsed) && Math.abs(this.elapsed - this.#timers.targetTime) >= 1000) {
      this.#timers.rebase(this.elapsed)
    }
  }

  /**
   * A look at something unfinished was answered: an on-poll clock moves to its next change of status, or by its step.
   * Nothing moves where nothing is planned.
   */
  async onPolled(polled: PolledResource): Promise<void> {
    const drive = this.#drive
    if (drive.mode !== 'on-poll' || this.#holds.isHeld) return
    await this.#enqueue(async () => {
      await this.#host.prepare()
      const { world } = this.#host
      if (drive.step !== undefined) {
        if (inProgress(world, polled).size > 0) this.#fire(this.elapsed + drive.step)
        return
      }
      for (let events = eventsToNextChange(world, polled); events > 0; events--) world.next()
      this.#sleepers.wake(() => this.elapsed)
    })
  }

  /** A request ended: an idle clock waits for the next one, and jumps when none comes. */
  onAnswered(): void {
    if (this.#drive.mode === 'idle') this.#scheduleJump(this.#drive.after)
  }

  /** Somebody waits for time: the jump that brings it is one that the process stays alive for. */
  #onWaitBegan(): void {
    this.#cancelJump()
    this.onAnswered()
  }

  #scheduleJump(after: number): void {
    if (this.#jumpTimer !== undefined || this.#holds.isHeld) return
    const { activity } = this.#host
    this.#jumpTimer = setRealTimeout(
      () => {
        this.#jumpTimer = undefined
        if (this.#drive.mode !== 'idle') return
        const isQuiet = this.#host.activity === activity && this.#quiescence.isEveryRequestServed
        if (!isQuiet) this.#scheduleJump(after)
        else if (Number.isFinite(this.#nextWorkTime())) {
          this.#jumpToWork().then(
            () => this.onAnswered(),
            error => warn(`The idle clock stopped: ${error instanceof Error ? error.message : String(error)}`),
          )
        }
      },
      after,
      Number.isFinite(this.#sleepers.next) ? 'held' : undefined,
    )
  }

  #cancelJump(): void {
    if (this.#jumpTimer !== undefined) clearRealTimeout(this.#jumpTimer)
    this.#jumpTimer = undefined
  }

  #nextWorkTime(): Micros {
    const work = this.#host.world.agenda.nextTimeMatching(kind => !HOUSEKEEPING_EVENTS.has(EVENTS[kind]!.name))
    return Math.min(work, this.#sleepers.next)
  }

  /** Jumps from work to work until a client could see something new or is woken, or there is none. */
  #jumpToWork(): Promise<void> {
    return this.#enqueue(() =>
      this.#slices.move(async yieldIfDue => {
        const { world } = this.#host
        const changesBefore = world.visibleChanges
        for (;;) {
          const target = this.#nextWorkTime()
          if (!Number.isFinite(target) || world.visibleChanges !== changesBefore) return
          // Somebody took hold of it on the way, or moves it otherwise now.
          if (this.#holds.isHeld || this.#drive.mode !== 'idle') return
          const wake = this.#sleepers.next
          this.#fire(target)
          if (wake <= target) return
          const yielded = yieldIfDue()
          if (yielded) await yielded
          this.#assertSameWorld(world)
        }
      }),
    )
  }

  /** Brings a world up to where its clock says: at once, unless a slice or a tokenizer is in the way. */
  catchUp(): void | Promise<void> {
    const { currentMove } = this.#slices
    if (currentMove) return currentMove.then(() => this.catchUp())
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
    this.#timers.reset()
    this.#quiescence.unwatch()
    this.#rebase()
  }

  /** The world is another one: time moves, and is held, as it was in that one. Whoever waits in this one is told. */
  restore(setting: ClockSetting, pausedBy: readonly string[]): void {
    this.#drive = readSetting(setting, this.elapsed)
    this.#holds.replace(pausedBy)
    this.reset()
    this.#cancelJump()
    if (this.#drive.mode === 'idle') this.#scheduleJump(this.#drive.after)
  }

  /** The same as `advance`, for a server: in slices, so that other worlds and health go on. */
  advanceInSlices(duration: Duration): Promise<MoveResult> {
    const delta = micros(duration)
    return this.#byHand(() =>
      this.#slices.move(yieldIfDue => this.#slices.runTo(requireWithinMaxAge(this.elapsed + delta), yieldIfDue)),
    )
  }

  /** The same as `advanceTo`, for a server. */
  advanceToInSlices(target: Micros): Promise<MoveResult> {
    return this.#byHand(() => this.#slices.move(yieldIfDue => this.#slices.runTo(target, yieldIfDue)))
  }

  /** The same as `until`, for a server: in slices, and giving up is an outcome. */
  untilInSlices(
    predicate: () => boolean | Promise<boolean>,
    options: { readonly within?: Duration | undefined } = {},
  ): Promise<BoundedMoveResult> {
    const within = micros(options.within ?? '24h')
    return this.#byHand(() =>
      this.#slices.move(async yieldIfDue => {
        const limit = requireWithinMaxAge(this.elapsed + within)
        const start = startMove(this.#host.world)
        let reached = await predicate()
        while (!reached && (await this.#slices.toNextChange(limit, yieldIfDue))) reached = await predicate()
        return { reached, result: this.#finishMove(start) }
      }),
    )
  }

  /**
   * The same as `next`, for a server: to the next event, or with `visible` to the next change that a client could see.
   * With `within`, time rests there when nothing comes before, and it was not reached.
   */
  nextInSlices(
    options: { readonly visible?: boolean | undefined; readonly within?: Duration | undefined } = {},
  ): Promise<BoundedMoveResult> {
    const within = options.within === undefined ? undefined : micros(options.within)
    return this.#byHand(() =>
      this.#slices.move(async yieldIfDue => {
        const limit = within === undefined ? Number.POSITIVE_INFINITY : requireWithinMaxAge(this.elapsed + within)
        const start = startMove(this.#host.world)
        let reached = false
        if (options.visible) reached = await this.#slices.toNextChange(limit, yieldIfDue)
        else {
          reached = this.#runToNextEntry(limit)
          if (!reached && within !== undefined) this.#fire(limit)
        }
        this.#sleepers.wake(() => this.elapsed)
        return { reached, result: this.#finishMove(start) }
      }),
    )
  }

  /** Fires up to and including the next event that leaves a trace; false when none comes up to `limit`. */
  #runToNextEntry(limit: Micros): boolean {
    const { world } = this.#host
    const last = world.journal.last
    while (world.next(limit)) if (world.journal.last !== last) return true
    return false
  }

  /** What moves in slices is this clock, in its own ways. */
  #movableClock(): ConstructorParameters<typeof Slices>[0] {
    const host = this.#host
    return {
      get world() {
        return host.world
      },
      prepare: () => host.prepare(),
      catchUp: () => this.#catchUpNow(),
      fire: target => this.#fire(target),
      onMoved: () => this.#rebase(),
      assertSameWorld: world => this.#assertSameWorld(world),
    }
  }

  async #moveTo(target: Micros): Promise<MoveResult> {
    const start = startMove(this.#host.world)
    await this.#whenIdle()
    for (;;) {
      this.#assertSameWorld(start.world)
      const wake = this.#sleepers.next
      if (await this.#stepTimers(Math.min(wake, target))) continue
      if (wake > target) break
      await this.#runTo(wake)
      await this.#whenIdle()
    }
    await this.#runTo(target)
    this.#rebase()
    return this.#finishMove(start)
  }

  /**
   * Lets the test runner's fake timers come as far as `limit`: true when one of them was due before, was fired, and its
   * client is quiet again with the world at its time; false when the world may go to `limit`.
   */
  async #stepTimers(limit: Micros): Promise<boolean> {
    if (!this.#drivesTimers || !this.#timers.detect(this.elapsed)) return false
    if (limit === Number.POSITIVE_INFINITY && this.#timers.pendingCount === 0) return false
    // The world comes first, so that what the timer's callback reads of it is of its own time.
    const { nextDue: due } = this.#timers
    if (due !== undefined && due <= limit && due > this.elapsed) {
      await this.#host.prepare()
      this.#host.world.runTo(due)
    }
    if (this.#timers.step(limit) === 'rested') return false
    await this.#runTo(Math.max(this.elapsed, this.#timers.targetTime))
    await this.#whenIdle()
    return true
  }

  /** Steps to the next change a client could see, or a sleeper's waking; false when there is none up to `limit`. */
  async #toNextChange(limit: Micros): Promise<boolean> {
    const { world } = this.#host
    const changesBefore = world.visibleChanges
    while (world.visibleChanges === changesBefore) {
      const wake = this.#sleepers.next
      if (await this.#stepTimers(Math.min(wake, world.agenda.nextTime, limit))) {
        this.#assertSameWorld(world)
        this.#rebase()
        return true
      }
      if (wake < Number.POSITIVE_INFINITY && wake <= limit && wake <= world.agenda.nextTime) {
        await this.#runTo(wake)
        await this.#whenIdle()
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
  async #whenIdle(): Promise<void> {
    await this.#host.prepare()
    this.#catchUpNow()
    if (this.#drivesTimers) {
      this.#timers.assertDrivable()
      if (this.#timers.detect(this.elapsed)) this.#quiescence.watch()
    }
    await this.#quiescence.whenIdle()
  }

  /** A reset in the middle of a move: the move belongs to a world that is gone. */
  #assertSameWorld(world: World): void {
    if (world === this.#host.world) return
    throw new WorldReplaced(
      'Failed to move time on: the simulator was reset in the middle. Await a move before you reset.',
    )
  }

  #finishMove(start: MoveStart): MoveResult {
    this.#assertSameWorld(start.world)
    return moveResultSince(start)
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
    return this.#enqueue(async () => {
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
  #enqueue<T>(move: () => Promise<T>): Promise<T> {
    const { world } = this.#host
    const result = this.#queue.then(async () => {
      this.#assertSameWorld(world)
      this.#activeMoves++
      try {
        return await move()
      } finally {
        this.#activeMoves--
      }
    })
    this.#queue = result.catch(() => {})
    return result
  }
}
