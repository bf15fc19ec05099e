/** The public clock of a simulator: its mode, its holds, its moves, and the clients that sleep on it. */

import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import { WorldReplaced } from '../../kernel/loop.ts'
import { Cancellation } from '../../lib/cancellation.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { clearRealTimeout, setRealTimeout } from '../../lib/real-time.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import { forecastRequests } from '../../simulation/reporting/forecast.ts'
import { eventsToNextChange, inProgress, type PolledResource } from '../../simulation/reporting/progress.ts'
import type { ClockHost, ClockOptions, HoldOptions } from './host.ts'
import { IdleJumps } from './idle-jumps.ts'
import { assertPredicate, requireWithinMaxAge, toFutureTime } from './moves/arguments.ts'
import { ClientMoves } from './moves/client-moves.ts'
import {
  type Move,
  type MovingClients,
  moveTo,
  moveToNextOnce,
  moveUntil,
  NO_LIMIT,
  type Predicate,
  performMove,
} from './moves/moves.ts'
import { PredicateWait } from './moves/predicate-wait.ts'
import type { BoundedMoveResult, MoveResult } from './moves/result.ts'
import { MoveRunner } from './moves/runner.ts'
import { SlicedMoves } from './moves/sliced-moves.ts'
import { UntilError } from './moves/until-error.ts'
import { PendingRequests, type PendingRequestView } from './pending-requests.ts'
import { type ClockMode, type ClockSetting, readSetting, toSetting } from './settings.ts'
import type { Sleeper } from './sleepers.ts'
import { WorldTime } from './world-time.ts'

interface WithinOption {
  readonly within?: Duration | undefined
}

interface NextOptions extends WithinOption {
  readonly visible?: boolean | undefined
}

/**
 * The clock of a simulator.
 *
 * @example
 * await sim.clock.advance('10m')
 * await sim.clock.until(() => deployment.status === 'running', { within: '15m' })
 */
export class SimulatorClock {
  readonly #time: WorldTime
  readonly #moves: MoveRunner
  readonly #clientMoves: ClientMoves
  readonly #slicedMoves: SlicedMoves
  readonly #predicateWait: PredicateWait
  readonly #idleJumps: IdleJumps
  readonly #pendingRequests: PendingRequests
  /** The visible changes of the world when an on-poll clock last woke the pending requests. */
  #changesAtWake = 0

  constructor(host: ClockHost, setting: ClockSetting, options: ClockOptions = {}) {
    const time = new WorldTime(host, options.timers !== 'ignore')
    this.#time = time
    this.#clientMoves = new ClientMoves(time)
    this.#slicedMoves = new SlicedMoves(time)
    this.#moves = new MoveRunner(time)
    this.#predicateWait = new PredicateWait(time, this.#moves.queue)
    this.#idleJumps = new IdleJumps(time, move =>
      this.#moves.enqueue(() => this.#slicedMoves.run(() => performMove(move(), this.#slicedMoves))),
    )
    this.#pendingRequests = new PendingRequests(time)
    time.drive = readSetting(setting, this.elapsed)
    time.rebase()
    this.sleep = this.sleep.bind(this)
    if (time.detectTimers()) time.quiescence.watch()
  }

  get mode(): ClockMode {
    return this.#time.drive.mode
  }

  /** The setting, in the form that `set` accepts. */
  get setting(): ClockSetting {
    return toSetting(this.#time.drive)
  }

  /** Simulated seconds in a real second; undefined when the clock is not scaled. */
  get speed(): number | undefined {
    const { drive } = this.#time
    return drive.mode === 'scaled' ? drive.pacer.speed : undefined
  }

  /** Names of the owners that hold the clock. Empty: it moves by its mode. */
  get pausedBy(): readonly string[] {
    return this.#time.holds.owners
  }

  /** The world's time. */
  get now(): Date {
    const { clock } = this.#time.world
    return new Date(clock.epochMs + Math.floor(clock.now / 1000))
  }

  /** The world's time in the format of the wire: ISO 8601 with microseconds and offset. */
  get iso(): string {
    return this.#time.world.clock.iso()
  }

  /** Microseconds since the epoch of the world. */
  get elapsed(): Micros {
    return this.#time.elapsed
  }

  /** Returns the time at which the mode has the world by now. For a manual clock that is its present time. */
  get due(): Micros {
    return this.#time.due
  }

  /** The requests whose answers wait for time. */
  get pendingRequests(): readonly PendingRequestView[] {
    return this.#pendingRequests.list()
  }

  /** Whether a move of time is in progress. A client that waits for time then only has to sleep. */
  get isMoving(): boolean {
    return this.#moves.queue.isMoving
  }

  /** Microseconds until the next event is due; undefined if the agenda is empty. */
  get nextIn(): Micros | undefined {
    const { agenda, clock } = this.#time.world
    return agenda.size > 0 ? Math.max(0, agenda.nextTime - clock.now) : undefined
  }

  /**
   * Moves time by a duration. The events on the way fire in order, and sleeping clients wake in between.
   *
   * Rejects with RangeError for an invalid duration, and with EventCapError for too many events.
   */
  async advance(duration: Duration): Promise<MoveResult> {
    const delta = micros(duration)
    return this.#moves.run(this.#clientMoves, clients => moveTo(clients, this.#endAfter(delta)))
  }

  /** Moves time to a time: ISO 8601 with offset, or a Date. Rejects with RangeError for a time in the past. */
  async advanceTo(time: string | Date): Promise<MoveResult> {
    const target = toFutureTime(this.#time.world.clock, time)
    return this.#moves.run(this.#clientMoves, clients => moveTo(clients, target))
  }

  /**
   * Moves time to the next journal entry or the next sleeping client. With `visible`, an entry counts only if a client
   * can see its change. If the agenda is empty, `events` of the result is 0. `within` limits the move.
   */
  async next(options: NextOptions = {}): Promise<MoveResult> {
    assertKnownKeys(options, ['visible', 'within'], 'Failed to call clock.next')
    return this.#moves.run(this.#clientMoves, this.#planNext(options))
  }

  /**
   * Moves time until `predicate` holds. It is evaluated now, and after every event with a change that a client can see.
   * The predicate may await answers and moves of this clock.
   *
   * @throws UntilError with the last journal entries, if it does not hold `within` that time. Default: 24h.
   */
  async until(predicate: Predicate, options: WithinOption = {}): Promise<MoveResult> {
    assertPredicate(predicate)
    assertKnownKeys(options, ['within'], 'Failed to call clock.until')
    const within = micros(options.within ?? '24h')
    const evaluate = (limit: Micros) => this.#predicateWait.evaluate(predicate, limit)
    return this.#moves.run(
      this.#clientMoves,
      clients => moveUntil(clients, evaluate, this.#endAfter(within)),
      ({ reached, result }) => {
        if (!reached) throw UntilError.after(within, this.#time.world)
        return result
      },
    )
  }

  /** The same as `advance` for a server: in time slices, without waiting for clients. It ends early when `client` leaves. */
  async advanceInSlices(duration: Duration, client?: AbortSignal): Promise<MoveResult> {
    const delta = micros(duration)
    return this.#moves.run(this.#slicedMoves, clients => moveTo(clients, this.#endAfter(delta)), undefined, client)
  }

  /** The same as `advanceTo` for a server. */
  async advanceToInSlices(target: Micros, client?: AbortSignal): Promise<MoveResult> {
    return this.#moves.run(this.#slicedMoves, clients => moveTo(clients, target), undefined, client)
  }

  /** The same as `next` for a server. `reached` of the result is false if `within` ends first. */
  async nextInSlices(options: NextOptions = {}, client?: AbortSignal): Promise<BoundedMoveResult> {
    return this.#moves.run(this.#slicedMoves, this.#planNext(options), outcome => outcome, client)
  }

  /** The same as `until` for a server. If the predicate does not hold in time, `reached` of the result is false. */
  async untilInSlices(
    predicate: Predicate,
    { within = '24h' }: WithinOption = {},
    client?: AbortSignal,
  ): Promise<BoundedMoveResult> {
    const span = micros(within)
    return this.#moves.run(
      this.#slicedMoves,
      clients => moveUntil(clients, () => evaluateOnce(predicate), this.#endAfter(span)),
      outcome => outcome,
      client,
    )
  }

  #planNext({ visible = false, within }: NextOptions): (clients: MovingClients) => Move {
    const span = within === undefined ? NO_LIMIT : micros(within)
    return clients => moveToNextOnce(clients, visible, span === NO_LIMIT ? NO_LIMIT : this.#endAfter(span))
  }

  #endAfter(span: Micros): Micros {
    return requireWithinMaxAge(this.elapsed + span)
  }

  /** Resolves when time has moved by `duration` from now: a client's sleep on this clock. */
  sleep(duration: Duration): Promise<void> {
    const delay = micros(duration)
    this.catchUpNow()
    return this.hold(delay, { signal: new Cancellation(), isClient: false })
  }

  /**
   * Waits for time as the client of a delayed answer: until `delay` has passed, its signal is aborted, or the world is
   * replaced. An infinite delay never ends by time.
   *
   * @param delay microseconds
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
        this.catchUp()
        const { drive } = this.#time
        if (drive.mode !== 'scaled' || at === Number.POSITIVE_INFINITY || !sleepers.has(sleeper)) return
        const realMs = (at - this.#time.elapsed) / 1000 / drive.pacer.speed
        timer = setRealTimeout(scheduleCatchUp, Math.ceil(realMs) + 1, 'held')
      }
      scheduleCatchUp()
      this.#onWaitBegan()
    })
  }

  #onWaitBegan(): void {
    // A jump that a client waits for keeps the process alive.
    this.#idleJumps.cancel()
    this.#idleJumps.schedule()
    this.#predicateWait.onWaitBegan()
  }

  /** Changes the mode without a jump: the world first moves to the present time of the old mode. */
  set(setting: ClockSetting): void {
    const drive = readSetting(setting, this.due)
    this.catchUpNow()
    this.#time.drive = drive
    this.#idleJumps.cancel()
    this.#time.host.onSet?.(setting)
    this.#resumeDrive()
  }

  /**
   * Holds the time in every mode. Manual moves still move it. Returns a function that ends the hold.
   *
   * @param owner the name that the clock shows for the hold
   * @example const resume = sim.clock.pause('debugger')
   */
  pause(owner: string): () => void {
    if (!this.#time.holds.isHeld) this.catchUpNow()
    const release = this.#time.holds.hold(owner)
    this.#idleJumps.cancel()
    return () => {
      if (release()) this.#resumeDrive()
    }
  }

  /** Ends a hold of `owner`. Throws RangeError if it has no hold. Warns if another owner still holds the clock. */
  resume(owner: string): void {
    if (this.#time.holds.release(owner)) this.#resumeDrive()
  }

  #resumeDrive(): void {
    this.#time.rebase()
    this.#idleJumps.schedule()
    // Pollers move an on-poll clock, and they could not move it during the hold.
    if (this.mode === 'on-poll') this.#time.sleepers.wakePollers()
  }

  /**
   * Moves an on-poll clock after an answer about a resource in progress: to its next change of status, or by the step
   * of the mode. Without such a change the time stays.
   */
  async onPolled(polled: PolledResource): Promise<void> {
    const { drive, holds, host } = this.#time
    if (drive.mode !== 'on-poll' || holds.isHeld) return
    await this.#moves.enqueue(async () => {
      await host.prepare()
      const { world } = host
      if (drive.step !== undefined) {
        if (inProgress(world, polled).size > 0) this.#time.fire(this.elapsed + drive.step)
        return
      }
      for (let events = eventsToNextChange(world, polled); events > 0; events--) world.next()
      this.#time.wakeSleepers()
    })
  }

  /** Returns when an instance begins a queued request. Undefined: no event within two days brings one. */
  async findStartTime(call: InferenceHandle): Promise<Micros | undefined> {
    await this.#time.host.prepare()
    return call.state === 'queued' ? forecastRequests(this.#time.world, [call])[0]!.until : this.elapsed
  }

  /** Reports the end of a request. An idle clock jumps if the next one is late; an on-poll clock wakes pending requests. */
  onAnswered(): void {
    if (this.mode === 'idle') this.#idleJumps.schedule()
    const { holds, world, sleepers } = this.#time
    if (this.mode !== 'on-poll' || holds.isHeld || world.visibleChanges === this.#changesAtWake) return
    // A command may have brought an instance nearer.
    this.#changesAtWake = world.visibleChanges
    sleepers.wakePollers()
  }

  /** Moves a world to the present time of its clock, unless that takes a tokenizer that is not loaded yet. */
  catchUpNow(): void {
    if (!this.isMoving && !this.#time.world.needsTokenizer) this.#time.catchUp()
  }

  /** Moves a world to the present time of its clock: at once, or after a sliced move or the loading of a tokenizer. */
  catchUp(): void | Promise<void> {
    const { currentMove } = this.#slicedMoves
    if (currentMove) return currentMove.then(() => this.catchUp())
    const { due, elapsed, world } = this.#time
    if (due === elapsed) return
    if (world.needsTokenizer) {
      return this.#time.host.prepare().then(() => {
        this.#time.fire(due)
      })
    }
    this.#time.fire(due)
  }

  /** Ends a sliced move early, at its present time. A server that closes calls it, so that the client gets an answer. */
  interrupt(): void {
    this.#slicedMoves.interrupt()
  }

  /** Rejects the sleeps and moves in progress, because their world was replaced. */
  reset(how: 'reset' | 'restored' | 'disposed' = 'reset'): void {
    const message = `Failed to sleep on: the simulator was ${how}. End clients before, or start them after that.`
    this.#time.replacement = how
    this.#time.sleepers.reject(() => new WorldReplaced(message))
    this.#time.timers.reset()
    this.#time.quiescence.unwatch()
    this.#time.rebase()
  }

  /** Rejects waits, and makes the clock manual: a disposed simulator does not move by itself. */
  dispose(): void {
    this.#time.drive = { mode: 'manual' }
    this.#idleJumps.cancel()
    this.reset('disposed')
  }

  /** Applies a setting and holds to a replaced world. Waits in the old world are rejected. */
  restore(setting: ClockSetting, pausedBy: readonly string[]): void {
    this.#time.drive = readSetting(setting, this.elapsed)
    this.#time.holds.replace(pausedBy)
    this.reset('restored')
    this.#idleJumps.cancel()
    this.#idleJumps.schedule()
  }

  /**
   * Rejects the current manual move with an error when the move is complete. Without such a move the error is uncaught,
   * unless it `isReported`.
   */
  fail(error: unknown, isReported = false): void {
    this.#moves.fail(error, isReported)
  }
}

function* evaluateOnce(predicate: Predicate): Move {
  return yield { kind: 'await', promise: Promise.resolve(predicate()) }
}
