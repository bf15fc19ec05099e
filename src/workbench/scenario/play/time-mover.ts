/** The moves of a scenario's clock: they stop for the timeline and for the temporal assertions. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Duration, formatDuration, type Micros, micros } from '../../../kernel/duration.ts'
import { type Move, type Predicate, performMove, type StepDriver } from '../../../simulator/clock/moves/moves.ts'
import type { MoveResult } from '../../../simulator/clock/moves/result.ts'
import { UntilError } from '../../../simulator/clock/moves/until-error.ts'
import type { ScenarioEnvironment } from './environment.ts'
import type { TemporalAssertions } from './temporal-assertions.ts'
import { callContext, type DueStep, elapsedInScenario, type Timeline } from './timeline.ts'

/** The predicate that makes the present call. */
const predicateContext = new AsyncLocalStorage<{ isOver: boolean }>()

/**
 * Moves the clock of an environment for a script. A move stops at planned steps and at deadlines of assertions. If
 * there are assertions, it also stops at each visible change. Without both, the move is that of the environment.
 */
export class TimeMover {
  readonly #environment: ScenarioEnvironment
  readonly #timeline: Timeline
  readonly #assertions: TemporalAssertions
  readonly #runStep: (step: DueStep) => Promise<void>
  #queue: Promise<unknown> = Promise.resolve()
  /** Moves that were requested and have not ended. */
  movesInProgress = 0

  constructor(
    environment: ScenarioEnvironment,
    timeline: Timeline,
    assertions: TemporalAssertions,
    runStep: (step: DueStep) => Promise<void>,
  ) {
    this.#environment = environment
    this.#timeline = timeline
    this.#assertions = assertions
    this.#runStep = runStep
  }

  advance(duration: Duration): Promise<MoveResult> {
    const span = micros(duration)
    return this.#inTurn(() => {
      const { clock } = this.#environment
      return this.#isUnconstrained ? clock.advance(duration) : this.#until(clock.elapsed + span)
    })
  }

  advanceTo(moment: string | Date): Promise<MoveResult> {
    return this.#inTurn(() => {
      const { clock } = this.#environment
      const target = elapsedInScenario(clock, moment)
      // The clock rejects an invalid time and a time in the past.
      return this.#isUnconstrained || !(target >= clock.elapsed) ? clock.advanceTo(moment) : this.#until(target)
    })
  }

  next(
    options: { readonly visible?: boolean | undefined; readonly within?: Duration | undefined } = {},
  ): Promise<MoveResult> {
    return this.#inTurn(async () => {
      const { clock } = this.#environment
      if (this.#isUnconstrained) return clock.next(options)
      const within = options.within === undefined ? Number.POSITIVE_INFINITY : micros(options.within)
      const stop = Math.min(this.#nextStop, clock.elapsed + within)
      const result = await clock.next({
        ...options,
        ...(stop < Number.POSITIVE_INFINITY && { within: `${stop - clock.elapsed}us` }),
      })
      await this.#processDue()
      return result
    })
  }

  until(predicate: Predicate, options: { readonly within?: Duration | undefined } = {}): Promise<MoveResult> {
    const within = micros(options.within ?? '24h')
    return this.#inTurn(async () => {
      const { clock } = this.#environment
      if (this.#isUnconstrained) return clock.until(predicate, options)
      let reached = false
      const result = await this.#until(clock.elapsed + within, async () => {
        reached = await predicate()
        return reached
      })
      if (reached) return result
      throw new UntilError(
        `Failed to reach the condition within ${formatDuration(within)}: it does not hold at ${clock.iso}.`,
      )
    })
  }

  /**
   * Moves time for an awaited answer: by `span` at most, and no further than to the next planned step or watched
   * change, because the answer may be there then. If time is moving already, it waits for that move.
   */
  passTime(span: Micros): Promise<unknown> {
    const predicateState = predicateContext.getStore()
    // The move that evaluates the predicate waits for this answer itself.
    if (predicateState !== undefined && !predicateState.isOver) return this.#passTimeNow(span)
    if (this.movesInProgress > 0) return this.#environment.waitForTime(span, this.#queue)
    return this.#inTurn(() => this.#passTimeNow(span))
  }

  async #passTimeNow(span: Micros): Promise<void> {
    const { clock } = this.#environment
    const stop = Math.min(clock.elapsed + span, this.#nextStop)
    const within = `${Math.max(0, stop - clock.elapsed)}us`
    await (this.#assertions.hasAny ? clock.next({ visible: true, within }) : clock.advance(within))
    if (this.#isUnconstrained) return
    if (clock.elapsed >= stop) await clock.advance('0us')
    await this.#processDue()
  }

  /** Whether there are no planned steps and no assertions. */
  get #isUnconstrained(): boolean {
    return !this.#assertions.hasAny && this.#timeline.next === Number.POSITIVE_INFINITY
  }

  /** The time at which a move has to stop next. */
  get #nextStop(): Micros {
    return Math.min(this.#timeline.next, this.#assertions.deadline)
  }

  async #until(limit: Micros, predicate?: Predicate): Promise<MoveResult> {
    const { clock } = this.#environment
    const from = clock.iso
    const results: MoveResult[] = []
    await performMove(this.#moveThroughStops(limit, predicate), this.#driver(results))
    return sumMoveResults(from, clock.iso, results)
  }

  /**
   * Moves to `limit` and stops at each planned step, each deadline and, if something watches them, each visible change.
   */
  *#moveThroughStops(limit: Micros, predicate: Predicate | undefined): Move {
    const { clock } = this.#environment
    yield { kind: 'to', target: clock.elapsed }
    for (;;) {
      yield { kind: 'idle' }
      if (predicate && (yield { kind: 'await', promise: evaluate(predicate) })) return true
      if (clock.elapsed >= limit) return false
      const stop = Math.min(limit, this.#nextStop)
      const stopsAtChanges = predicate !== undefined || this.#assertions.hasAny
      yield stopsAtChanges ? { kind: 'next', visible: true, limit: stop } : { kind: 'to', target: stop }
      // The other events of that time, before the steps at it.
      if (clock.elapsed >= stop) yield { kind: 'to', target: clock.elapsed }
    }
  }

  /** Returns a driver that adds the result of each step to `results`. */
  #driver(results: MoveResult[]): StepDriver {
    const { clock } = this.#environment
    const spanTo = (time: Micros) => `${Math.max(0, time - clock.elapsed)}us`
    const add = async (move: Promise<MoveResult>) => {
      results.push(await move)
      return true
    }
    return {
      whenIdle: async () => {
        await this.#processDue()
        return true
      },
      runTo: target => add(clock.advance(spanTo(target))),
      runToNext: (visible, limit) => add(clock.next({ visible, within: spanTo(limit) })),
    }
  }

  /** Evaluates the assertions, and runs the steps that are due. */
  async #processDue(): Promise<void> {
    const { clock } = this.#environment
    await this.#assertions.evaluate(this.#assertions.deadline <= clock.elapsed)
    for (let step = this.#timeline.takeDue(); step; step = this.#timeline.takeDue()) {
      await this.#runStep(step)
      await this.#assertions.evaluate()
    }
  }

  /** Runs a move in its turn. */
  #inTurn<T>(move: () => Promise<T>): Promise<T> {
    const inside = callContext.getStore()
    if (inside && !inside.isOver) {
      const why =
        inside.kind === 'step'
          ? 'time does not move during a step. Plan another step for later'
          : 'a condition must not change the world. Move time in the script'
      return Promise.reject(new Error(`Failed to move time in '${inside.name}': ${why}.`))
    }
    this.movesInProgress++
    const result = this.#queue.then(move).finally(() => {
      this.movesInProgress--
    })
    this.#queue = result.catch(() => {})
    return result
  }
}

/** Evaluates a predicate. The move that evaluates it moves time for what the predicate awaits. */
async function evaluate(predicate: Predicate): Promise<boolean> {
  const now = { isOver: false }
  try {
    return await predicateContext.run(now, async () => predicate())
  } finally {
    now.isOver = true
  }
}

function sumMoveResults(from: string, to: string, parts: readonly MoveResult[]): MoveResult {
  const counts: Record<string, number> = {}
  for (const result of parts) {
    for (const [kind, count] of Object.entries(result.counts)) counts[kind] = (counts[kind] ?? 0) + count
  }
  const transitions = parts.flatMap(result => result.transitions)
  const failedEvents = parts.flatMap(result => result.failedEvents ?? [])
  const events = parts.reduce((sum, part) => sum + part.events, 0)
  return { from, to, counts, events, transitions, ...(failedEvents.length > 0 && { failedEvents }) }
}
