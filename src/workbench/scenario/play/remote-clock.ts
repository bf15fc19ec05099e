/** The clock of a world of a running server. It performs the same moves as the clock of this process. */

import { type Duration, formatDuration, type Micros, micros } from '../../../kernel/duration.ts'
import { eventLoopTurn } from '../../../lib/real-time.ts'
import {
  type Move,
  type MovingClients,
  moveTo,
  moveToNextOnce,
  moveUntil,
  NO_LIMIT,
  type Predicate,
  performMove,
  type StepDriver,
} from '../../../simulator/clock/moves/moves.ts'
import { PredicateWait } from '../../../simulator/clock/moves/predicate-wait.ts'
import { MoveQueue } from '../../../simulator/clock/moves/queue.ts'
import {
  type FailedEvent,
  type MoveResult,
  type Transition,
  toFailedEvent,
  toTransition,
} from '../../../simulator/clock/moves/result.ts'
import { UntilError } from '../../../simulator/clock/moves/until-error.ts'
import { type Sleeper, Sleepers } from '../../../simulator/clock/sleepers.ts'
import type { ScenarioClock } from './environment.ts'
import { describeUnmovedSleep } from './local.ts'
import type { RemoteWorld } from './remote-world.ts'

/** Turns of the event loop without activity of the script after which it counts as waiting. */
const QUIET_TURNS = 3

interface ScriptSleeper extends Sleeper {
  readonly duration: Duration
}

/** The requests of a script, by which the clock sees whether it waits. */
export interface ScriptActivity {
  /** Grows with each request that begins or ends. */
  readonly count: number
  readonly requestsInFlight: number
}

interface NextOptions {
  readonly visible?: boolean | undefined
  readonly within?: Duration | undefined
}

export class RemoteClock implements ScenarioClock {
  readonly #world: RemoteWorld
  readonly #activity: ScriptActivity
  readonly #sleepers = new Sleepers<ScriptSleeper>()
  readonly #queue = new MoveQueue()
  readonly #clients: MovingClients
  readonly #predicateWait: PredicateWait
  readonly #driver: StepDriver = {
    whenIdle: () => this.#whenScriptIdle(),
    runTo: target => this.#runTo(target),
    runToNext: (visible, limit) => this.#runToNext(visible, limit),
  }
  #requestedMoves = 0

  constructor(world: RemoteWorld, activity: ScriptActivity) {
    this.#world = world
    this.#activity = activity
    const sleepers = this.#sleepers
    this.#clients = {
      get now() {
        return world.clock.now
      },
      get nextWake() {
        return sleepers.next
      },
    }
    this.#predicateWait = new PredicateWait(this.#clients, this.#queue)
  }

  get now(): Date {
    const { epochMs, now } = this.#world.clock
    return new Date(epochMs + Math.floor(now / 1000))
  }

  get iso(): string {
    return this.#world.clock.iso()
  }

  get elapsed(): Micros {
    return this.#world.clock.now
  }

  /** Whether a move was requested that has not ended. */
  get isMoving(): boolean {
    return this.#requestedMoves > 0
  }

  /** The sleep that the script waits for, if it waits for one. */
  get waitReason(): string | undefined {
    const { first } = this.#sleepers
    return first && describeUnmovedSleep(first.duration, first.at - this.elapsed)
  }

  async advance(duration: Duration): Promise<MoveResult> {
    const delta = micros(duration)
    return this.#run(() => moveTo(this.#clients, this.elapsed + delta))
  }

  async advanceTo(moment: string | Date): Promise<MoveResult> {
    const to = moment instanceof Date ? moment.toISOString() : moment
    const target = this.#world.clock.elapsedAt(to)
    // The server rejects an invalid time and a time in the past.
    if (!(target >= this.elapsed)) return this.#inTurn(() => this.#world.requestMove('/clock/advance', { to }))
    return this.#run(() => moveTo(this.#clients, target))
  }

  async next({ visible = false, within }: NextOptions = {}): Promise<MoveResult> {
    const span = within === undefined ? NO_LIMIT : micros(within)
    return this.#run(() => moveToNextOnce(this.#clients, visible, this.elapsed + span))
  }

  async until(predicate: Predicate, { within = '24h' }: { readonly within?: Duration | undefined } = {}) {
    const span = micros(within)
    const evaluate = (limit: Micros) => this.#predicateWait.evaluate(predicate, limit)
    return this.#inTurn(async () => {
      const move = moveUntil(this.#clients, evaluate, this.elapsed + span)
      if (await performMove(move, this.#driver)) return
      throw new UntilError(
        `Failed to reach the condition within ${formatDuration(span)}: it does not hold at ${this.iso}. ` +
          'Allow more with { within }.',
      )
    })
  }

  async sleep(duration: Duration): Promise<void> {
    await this.#addSleeper(this.elapsed + micros(duration), duration).woken
  }

  /** Moves time to `target` beside a move in progress, for an answer that this move waits for. */
  async moveBeside(target: Micros): Promise<void> {
    await performMove(moveTo(this.#clients, target), this.#driver)
  }

  /** Waits for time that another call moves, until it has moved by `span` or `over` is settled. */
  async waitForTime(span: Micros, over: Promise<unknown>): Promise<void> {
    const { sleeper, woken } = this.#addSleeper(this.elapsed + span, `${span}us`)
    await Promise.race([woken, over])
    this.#sleepers.remove(sleeper)
  }

  #addSleeper(at: Micros, duration: Duration): { readonly sleeper: ScriptSleeper; readonly woken: Promise<void> } {
    let wake = () => {}
    const woken = new Promise<void>(resolve => {
      wake = resolve
    })
    const sleeper = { at, duration, wake, reject: () => {} }
    this.#sleepers.add(sleeper)
    this.#predicateWait.onWaitBegan()
    return { sleeper, woken }
  }

  async #runTo(target: Micros): Promise<true> {
    await this.#world.requestMove('/clock/advance', { by: `${Math.max(0, target - this.elapsed)}us` })
    this.#sleepers.wake(() => this.elapsed)
    return true
  }

  async #runToNext(visible: boolean, limit: Micros): Promise<boolean> {
    const within = limit === NO_LIMIT ? {} : { within: `${limit - this.elapsed}us` }
    const { reached } = await this.#world.requestMove('/clock/next', { visible, ...within })
    return reached
  }

  /** Resolves when the script waits for time. */
  async #whenScriptIdle(): Promise<true> {
    let quietTurns = 0
    let lastCount = this.#activity.count
    while (quietTurns < QUIET_TURNS) {
      await eventLoopTurn()
      const { count, requestsInFlight } = this.#activity
      quietTurns = count === lastCount && requestsInFlight === 0 ? quietTurns + 1 : 0
      lastCount = count
    }
    return true
  }

  #run(plan: () => Move): Promise<MoveResult> {
    return this.#inTurn(() => performMove(plan(), this.#driver))
  }

  /** Runs a move in its turn. Returns its result. */
  async #inTurn(move: () => Promise<unknown>): Promise<MoveResult> {
    this.#requestedMoves++
    try {
      return await this.#queue.enqueue(async () => {
        const world = this.#world
        const from = this.iso
        await world.inOrder(() => world.readJournal())
        const seq = world.lastReadSeq
        await move()
        await world.inOrder(() => world.readJournal())
        return this.#moveResultSince(seq, from)
      })
    } finally {
      this.#requestedMoves--
    }
  }

  #moveResultSince(seq: number, from: string): MoveResult {
    const { entries, clock } = this.#world
    const counts: Record<string, number> = {}
    const transitions: Transition[] = []
    const failedEvents: FailedEvent[] = []
    let events = 0
    for (let i = entries.length - 1; i >= 0; i--) {
      const entry = entries[i]!
      // Notes have no number. Entries that were read before the move have a lower one.
      if (entry.seq > 0 && entry.seq <= seq) break
      if (entry.seq === 0 || entry.kind === 'request') continue
      counts[entry.kind] = (counts[entry.kind] ?? 0) + 1
      events++
      const transition = toTransition(entry, clock)
      if (transition) transitions.unshift(transition)
      const failedEvent = toFailedEvent(entry, clock)
      if (failedEvent) failedEvents.unshift(failedEvent)
    }
    const failures = failedEvents.length > 0 && { failedEvents }
    return { from, to: clock.iso(), events, counts, transitions, ...failures }
  }
}
