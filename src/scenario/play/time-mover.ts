/** How a scenario moves time: past its own timeline, and past every change that it watches. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { MoveResult } from '../../clock/move-result.ts'
import { UntilError } from '../../clock/until-error.ts'
import { type Duration, formatDuration, type Micros, micros } from '../../kernel/duration.ts'
import type { ScenarioEnvironment } from './environment.ts'
import type { TemporalAssertions } from './temporal-assertions.ts'
import { callContext, type DueStep, elapsedInScenario, type Timeline } from './timeline.ts'

type Predicate = () => boolean | Promise<boolean>

/** The predicate of a move that the present call is made by. */
const predicateContext = new AsyncLocalStorage<{ isOver: boolean }>()

/**
 * The clock of a stage as a script moves it. A move rests at the moments of planned steps and at the deadlines of what
 * is watched, and where something is watched at every visible change; with neither it is the stage's own.
 */
export class TimeMover {
  readonly #environment: ScenarioEnvironment
  readonly #timeline: Timeline
  readonly #assertions: TemporalAssertions
  readonly #runStep: (step: DueStep) => Promise<void>
  #queue: Promise<unknown> = Promise.resolve()
  /** Moves that are asked for and not over. */
  movesInProgress = 0

  constructor(
    stage: ScenarioEnvironment,
    timeline: Timeline,
    watches: TemporalAssertions,
    runStep: (step: DueStep) => Promise<void>,
  ) {
    this.#environment = stage
    this.#timeline = timeline
    this.#assertions = watches
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
      // What is no time, or has passed, is the clock's own to refuse.
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
      const happened = await clock.next({
        ...options,
        ...(stop < Number.POSITIVE_INFINITY && { within: `${stop - clock.elapsed}us` }),
      })
      await this.#processDue()
      return happened
    })
  }

  until(predicate: Predicate, options: { readonly within?: Duration | undefined } = {}): Promise<MoveResult> {
    const within = micros(options.within ?? '24h')
    return this.#inTurn(async () => {
      const { clock } = this.#environment
      if (this.#isUnconstrained) return clock.until(predicate, options)
      let reached = false
      const happened = await this.#until(clock.elapsed + within, async () => {
        reached = await predicate()
        return reached
      })
      if (reached) return happened
      throw new UntilError(
        `Failed to reach the condition within ${formatDuration(within)}: it does not hold at ${clock.iso}.`,
      )
    })
  }

  /**
   * Moves time for an answer that is awaited: so far at most, and no further than to the next step that is planned or
   * change that is watched, for the answer may be there then. While time is moved already it waits for that to end.
   */
  passTime(span: Micros): Promise<unknown> {
    const predicateState = predicateContext.getStore()
    // A move that asks whether it has come far enough waits for the answer itself.
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

  /** Nothing planned and nothing watched: a move is the stage's own. */
  get #isUnconstrained(): boolean {
    return !this.#assertions.hasAny && this.#timeline.next === Number.POSITIVE_INFINITY
  }

  /** Where a move has to rest next. */
  get #nextStop(): Micros {
    return Math.min(this.#timeline.next, this.#assertions.deadline)
  }

  async #until(limit: Micros, predicate?: Predicate): Promise<MoveResult> {
    const { clock } = this.#environment
    const from = clock.iso
    const parts: MoveResult[] = [await clock.advance('0us')]
    for (;;) {
      await this.#processDue()
      if (predicate && (await asked(predicate))) break
      if (clock.elapsed >= limit) break
      const stop = Math.min(limit, this.#nextStop)
      const within = `${Math.max(0, stop - clock.elapsed)}us`
      const steps = predicate !== undefined || this.#assertions.hasAny
      parts.push(await (steps ? clock.next({ visible: true, within }) : clock.advance(within)))
      // The rest of that moment, before anything is done at it.
      if (clock.elapsed >= stop) parts.push(await clock.advance('0us'))
    }
    return sumMoveResults(from, clock.iso, parts)
  }

  /** Looks, and does what is due by now. */
  async #processDue(): Promise<void> {
    const { clock } = this.#environment
    await this.#assertions.evaluate(this.#assertions.deadline <= clock.elapsed)
    for (let step = this.#timeline.takeDue(); step; step = this.#timeline.takeDue()) {
      await this.#runStep(step)
      await this.#assertions.evaluate()
    }
  }

  /** One move at a time: a second one waits for the first. */
  #inTurn<T>(move: () => Promise<T>): Promise<T> {
    const inside = callContext.getStore()
    if (inside && !inside.isOver) {
      const why =
        inside.kind === 'step'
          ? 'time stands while a step is done. Plan another step for later'
          : 'a look must not change what it looks at. Move time in the script'
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

/** What a predicate says; what it awaits on the way is for the move that asks it to bring. */
async function asked(predicate: Predicate): Promise<boolean> {
  const now = { isOver: false }
  try {
    return await predicateContext.run(now, async () => predicate())
  } finally {
    now.isOver = true
  }
}

function sumMoveResults(from: string, to: string, parts: readonly MoveResult[]): MoveResult {
  const counts: Record<string, number> = {}
  for (const happened of parts) {
    for (const [kind, count] of Object.entries(happened.counts)) counts[kind] = (counts[kind] ?? 0) + count
  }
  const transitions = parts.flatMap(happened => happened.transitions)
  return { from, to, counts, events: parts.reduce((sum, { events }) => sum + events, 0), transitions }
}
