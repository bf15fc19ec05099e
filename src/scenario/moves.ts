/** How a scenario moves time: past its own timeline, and past every change that it watches. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Happened } from '../clock/happened.ts'
import { UntilError } from '../clock/until-error.ts'
import { type Duration, type Micros, micros, readable } from '../kernel/duration.ts'
import type { Stage } from './stage.ts'
import { type DueStep, elapsedAt, part, type Timeline } from './timeline.ts'
import type { Watches } from './watches.ts'

type Predicate = () => boolean | Promise<boolean>

/** The predicate of a move that the present call is made by. */
const asking = new AsyncLocalStorage<{ isOver: boolean }>()

/**
 * The clock of a stage as a script moves it. A move rests at the moments of planned steps and at the deadlines of what
 * is watched, and where something is watched at every visible change; with neither it is the stage's own.
 */
export class Moves {
  readonly #stage: Stage
  readonly #timeline: Timeline
  readonly #watches: Watches
  readonly #runStep: (step: DueStep) => Promise<void>
  #tail: Promise<unknown> = Promise.resolve()
  /** Moves that are asked for and not over. */
  underWay = 0

  constructor(stage: Stage, timeline: Timeline, watches: Watches, runStep: (step: DueStep) => Promise<void>) {
    this.#stage = stage
    this.#timeline = timeline
    this.#watches = watches
    this.#runStep = runStep
  }

  advance(duration: Duration): Promise<Happened> {
    const span = micros(duration)
    return this.#inTurn(() => {
      const { clock } = this.#stage
      return this.#isPlain ? clock.advance(duration) : this.#until(clock.elapsed + span)
    })
  }

  advanceTo(moment: string | Date): Promise<Happened> {
    return this.#inTurn(() => {
      const { clock } = this.#stage
      const target = elapsedAt(clock, moment)
      // What is no time, or has passed, is the clock's own to refuse.
      return this.#isPlain || !(target >= clock.elapsed) ? clock.advanceTo(moment) : this.#until(target)
    })
  }

  next(
    options: { readonly visible?: boolean | undefined; readonly within?: Duration | undefined } = {},
  ): Promise<Happened> {
    return this.#inTurn(async () => {
      const { clock } = this.#stage
      if (this.#isPlain) return clock.next(options)
      const within = options.within === undefined ? Number.POSITIVE_INFINITY : micros(options.within)
      const stop = Math.min(this.#rest, clock.elapsed + within)
      const happened = await clock.next({
        ...options,
        ...(stop < Number.POSITIVE_INFINITY && { within: `${stop - clock.elapsed}us` }),
      })
      await this.#arrive()
      return happened
    })
  }

  until(predicate: Predicate, options: { readonly within?: Duration | undefined } = {}): Promise<Happened> {
    const within = micros(options.within ?? '24h')
    return this.#inTurn(async () => {
      const { clock } = this.#stage
      if (this.#isPlain) return clock.until(predicate, options)
      let reached = false
      const happened = await this.#until(clock.elapsed + within, async () => {
        reached = await predicate()
        return reached
      })
      if (reached) return happened
      throw new UntilError(
        `Failed to reach the condition within ${readable(within)}: it does not hold at ${clock.iso}.`,
      )
    })
  }

  /**
   * Moves time for an answer that is awaited: so far at most, and no further than to the next step that is planned or
   * change that is watched, for the answer may be there then. While time is moved already it waits for that to end.
   */
  pass(span: Micros): Promise<unknown> {
    const asked = asking.getStore()
    // A move that asks whether it has come far enough waits for the answer itself.
    if (asked !== undefined && !asked.isOver) return this.#passNow(span)
    if (this.underWay > 0) return this.#stage.meanwhile(span, this.#tail)
    return this.#inTurn(() => this.#passNow(span))
  }

  async #passNow(span: Micros): Promise<void> {
    const { clock } = this.#stage
    const stop = Math.min(clock.elapsed + span, this.#rest)
    const within = `${Math.max(0, stop - clock.elapsed)}us`
    await (this.#watches.any ? clock.next({ visible: true, within }) : clock.advance(within))
    if (this.#isPlain) return
    if (clock.elapsed >= stop) await clock.advance('0us')
    await this.#arrive()
  }

  /** Nothing planned and nothing watched: a move is the stage's own. */
  get #isPlain(): boolean {
    return !this.#watches.any && this.#timeline.next === Number.POSITIVE_INFINITY
  }

  /** Where a move has to rest next. */
  get #rest(): Micros {
    return Math.min(this.#timeline.next, this.#watches.deadline)
  }

  async #until(limit: Micros, predicate?: Predicate): Promise<Happened> {
    const { clock } = this.#stage
    const from = clock.iso
    const parts: Happened[] = [await clock.advance('0us')]
    for (;;) {
      await this.#arrive()
      if (predicate && (await asked(predicate))) break
      if (clock.elapsed >= limit) break
      const stop = Math.min(limit, this.#rest)
      const within = `${Math.max(0, stop - clock.elapsed)}us`
      const steps = predicate !== undefined || this.#watches.any
      parts.push(await (steps ? clock.next({ visible: true, within }) : clock.advance(within)))
      // The rest of that moment, before anything is done at it.
      if (clock.elapsed >= stop) parts.push(await clock.advance('0us'))
    }
    return summed(from, clock.iso, parts)
  }

  /** Looks, and does what is due by now. */
  async #arrive(): Promise<void> {
    const { clock } = this.#stage
    await this.#watches.look(this.#watches.deadline <= clock.elapsed)
    for (let step = this.#timeline.take(); step; step = this.#timeline.take()) {
      await this.#runStep(step)
      await this.#watches.look()
    }
  }

  /** One move at a time: a second one waits for the first. */
  #inTurn<T>(move: () => Promise<T>): Promise<T> {
    const inside = part.getStore()
    if (inside && !inside.isOver) {
      const why =
        inside.kind === 'step'
          ? 'time stands while a step is done. Plan another step for later'
          : 'a look must not change what it looks at. Move time in the script'
      return Promise.reject(new Error(`Failed to move time in '${inside.name}': ${why}.`))
    }
    this.underWay++
    const result = this.#tail.then(move).finally(() => {
      this.underWay--
    })
    this.#tail = result.catch(() => {})
    return result
  }
}

/** What a predicate says; what it awaits on the way is for the move that asks it to bring. */
async function asked(predicate: Predicate): Promise<boolean> {
  const now = { isOver: false }
  try {
    return await asking.run(now, async () => predicate())
  } finally {
    now.isOver = true
  }
}

function summed(from: string, to: string, parts: readonly Happened[]): Happened {
  const counts: Record<string, number> = {}
  for (const happened of parts) {
    for (const [kind, count] of Object.entries(happened.counts)) counts[kind] = (counts[kind] ?? 0) + count
  }
  const transitions = parts.flatMap(happened => happened.transitions)
  return { from, to, counts, events: parts.reduce((sum, { events }) => sum + events, 0), transitions }
}
