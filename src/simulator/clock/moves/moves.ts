/**
 * The moves of time, as sequences of steps. A move knows in which order time, clients and predicates take turns.
 * A driver performs the steps: on a world with clients, or on a world in time slices.
 */

import type { Micros } from '../../../kernel/duration.ts'

/** One piece of a move. It is answered with a boolean. */
export type MoveStep =
  /** Waits until clients have nothing left to do but wait for time. */
  | { readonly kind: 'idle' }
  /** Fires everything up to `target`. False: a client acted before, so the move has to look again. */
  | { readonly kind: 'to'; readonly target: Micros }
  /** Fires up to the next journal entry, or the next visible change. False: `limit` comes first. */
  | { readonly kind: 'next'; readonly visible: boolean; readonly limit: Micros }
  /** Awaits a promise and answers with its value. */
  | { readonly kind: 'await'; readonly promise: Promise<boolean> }

/** A move of time. Its value is true if it reached its goal. */
export type Move = Generator<MoveStep, boolean, boolean>

/** The clients of a world, for which a move has to stop. */
export interface MovingClients {
  /** World time in microseconds. */
  readonly elapsed: Micros
  /** Time at which the first sleeping client wakes. Infinity: no client sleeps. */
  readonly nextWake: Micros
}

export type Predicate = () => boolean | Promise<boolean>

export const NO_LIMIT = Number.POSITIVE_INFINITY

const IDLE = { kind: 'idle' } as const

/** Moves time to `target` and wakes each sleeping client at its own time. */
export function* moveTo(clients: MovingClients, target: Micros): Move {
  yield IDLE
  for (;;) {
    const wake = clients.nextWake
    const isThere = yield { kind: 'to', target: Math.min(wake, target) }
    if (!isThere) continue
    if (wake > target) return true
    yield IDLE
  }
}

/**
 * Moves time to the next journal entry or visible change, or to the first sleeping client. False: `limit` comes first.
 */
export function* moveToNext(clients: MovingClients, visible: boolean, limit: Micros): Move {
  const wake = clients.nextWake
  if (wake === NO_LIMIT || wake > limit) return yield { kind: 'next', visible, limit }
  // A client wakes before any event of the same time.
  if (wake > clients.elapsed && (yield { kind: 'next', visible, limit: wake - 1 })) return true
  yield { kind: 'to', target: wake }
  yield IDLE
  return true
}

/** The same as `moveToNext`, between two waits for clients. */
export function* moveToNextOnce(clients: MovingClients, visible: boolean, limit: Micros): Move {
  yield IDLE
  const reached = yield* moveToNext(clients, visible, limit)
  yield IDLE
  return reached
}

/**
 * Moves time until a predicate holds. It is evaluated now and after each visible change. False: `limit` comes first.
 */
export function* moveUntil(clients: MovingClients, evaluate: (limit: Micros) => Move, limit: Micros): Move {
  yield IDLE
  for (;;) {
    if (yield* evaluate(limit)) return true
    // What grows with time, such as a cost, changes without an event: it is looked at once more at the limit.
    if (!(yield* moveToNext(clients, true, limit))) return Number.isFinite(limit) && (yield* evaluate(limit))
  }
}

/** Performs each kind of step on one kind of world, and answers as `MoveStep` says. */
export interface StepDriver {
  whenIdle(): boolean | Promise<boolean>
  runTo(target: Micros): boolean | Promise<boolean>
  runToNext(visible: boolean, limit: Micros): boolean | Promise<boolean>
  /** Whether moves have to end where they are. */
  isStopped?(): boolean
}

/**
 * Performs the steps of a move until it ends, or the driver is stopped after a step. Returns the value of the move.
 *
 * @param beforeStep an error of it is an error of the step
 */
export async function performMove(move: Move, driver: StepDriver, beforeStep: () => void = () => {}): Promise<boolean> {
  let state = move.next(false)
  while (!state.done) {
    let answer: boolean
    try {
      beforeStep()
      const outcome = performStep(state.value, driver)
      answer = typeof outcome === 'boolean' ? outcome : await outcome
    } catch (error) {
      state = move.throw(error)
      continue
    }
    state = driver.isStopped?.() ? move.return(false) : move.next(answer)
  }
  return state.value
}

function performStep(step: MoveStep, driver: StepDriver): boolean | Promise<boolean> {
  switch (step.kind) {
    case 'idle':
      return driver.whenIdle()
    case 'to':
      return driver.runTo(step.target)
    case 'next':
      return driver.runToNext(step.visible, step.limit)
    case 'await':
      return step.promise
  }
}
