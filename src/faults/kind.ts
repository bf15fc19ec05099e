import type * as z from 'zod'
import type { AnyEndpoint } from '../api/endpoint.ts'
import type { Passage, Proceed } from '../api/pipeline.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Micros } from '../kernel/duration.ts'
import type { Journal } from '../kernel/journal.ts'
import type { Chance } from '../kernel/random.ts'
import { isStream } from './broken.ts'

/** What faults know of a world: its time, its chance, its journal, and that it can be gone back to. */
export interface FaultyWorld {
  readonly clock: Clock
  readonly chance: Chance
  readonly journal: Journal
  readonly lineAnswers: unknown
  answerLinesAs(world: FaultyWorld): void
  beforeMove: (() => void) | undefined
  fork(): FaultyWorld
  runTo(target: Micros): number
}

/** A request that a fault befalls. */
export interface Hit {
  readonly passage: Passage<FaultyWorld>
  /** Lets the request reach its endpoint; what it does there is caused by the fault's hit. */
  readonly proceed: Proceed<FaultyWorld>
  /** Puts a request that never reaches its endpoint into the journal. */
  record(status: number): void
  /** A number in [0, 1), drawn for this rule and this request; `nth` tells several from each other. */
  draw(nth?: number): number
  /** The world as it was so long ago. */
  past(lag: Micros): FaultyWorld
}

/** What is wrong with a fault for what it is on: where in it, and what would do. */
export interface Misfit {
  readonly path: readonly string[]
  readonly reason: string
}

/** A kind of fault: what it takes, what it can befall, what it does. */
export interface Kind<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema
  /** Whether an operation can have it; every one can unless said. */
  befalls?(fault: z.output<Schema>, endpoint: AnyEndpoint): boolean
  /** What it befalls, for the error where an operation cannot have it. */
  readonly befallsOnly?: string
  /** Why none of these operations can have it, where more can be said than what it befalls. */
  misfit?(fault: z.output<Schema>, endpoints: readonly AnyEndpoint[]): Misfit | undefined
  act(fault: z.output<Schema>, hit: Hit): Response | Promise<Response>
}

/** Declares a kind of fault. */
export function kind<Schema extends z.ZodObject>(declared: Kind<Schema>): Kind<Schema> {
  return declared
}

/** Answers in the endpoint's place; with `effect: 'done'` when the endpoint has done its work, whatever it answered. */
export function inPlace(
  effect: 'none' | 'done',
  hit: Hit,
  status: number,
  answer: () => Response,
): Response | Promise<Response> {
  if (effect === 'none') {
    hit.record(status)
    return answer()
  }
  const replaced = (unheard: Response) => {
    // Of a stream that nobody hears the rest is not made.
    if (isStream(unheard)) unheard.body?.cancel()
    return answer()
  }
  const done = hit.proceed()
  return done instanceof Promise ? done.then(replaced) : replaced(done)
}
