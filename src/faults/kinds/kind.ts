import type * as z from 'zod'
import type { Clock } from '../../kernel/clock.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { Journal } from '../../kernel/journal.ts'
import type { Chance } from '../../kernel/random.ts'
import type { AnyEndpoint } from '../../service/endpoint.ts'
import type { Next, RequestContext } from '../../service/http/request-context.ts'
import { isEventStream } from '../broken-response.ts'

/** What faults know of a world: its time, its chance, its journal, and that it can be gone back to. */
export interface FaultWorld {
  readonly clock: Clock
  readonly chance: Chance
  readonly journal: Journal
  readonly lineAnswerer: unknown
  inheritLineAnswerer(world: FaultWorld): void
  onBeforeMove: (() => void) | undefined
  fork(): FaultWorld
  runTo(target: Micros): number
}

/** A request that a fault befalls. */
export interface FaultHit {
  readonly passage: RequestContext<FaultWorld>
  /** Lets the request reach its endpoint; what it does there is caused by the fault's hit. */
  readonly proceed: Next<FaultWorld>
  /** Puts a request that never reaches its endpoint into the journal. */
  record(status: number): void
  /** A number in [0, 1), drawn for this rule and this request; `nth` tells several from each other. */
  draw(nth?: number): number
  /** The world as it was so long ago. */
  worldBefore(lag: Micros): FaultWorld
}

/** What is wrong with a fault for what it is on: where in it, and what would do. */
export interface Mismatch {
  readonly path: readonly string[]
  readonly reason: string
}

/** A kind of fault: what it takes, what it can befall, what it does. */
export interface FaultKind<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema
  /** Whether an operation can have it; every one can unless said. */
  appliesTo?(fault: z.output<Schema>, endpoint: AnyEndpoint): boolean
  /** What it befalls, for the error where an operation cannot have it. */
  readonly scope?: string
  /** Why none of these operations can have it, where more can be said than what it befalls. */
  explainMismatch?(fault: z.output<Schema>, endpoints: readonly AnyEndpoint[]): Mismatch | undefined
  act(fault: z.output<Schema>, hit: FaultHit): Response | Promise<Response>
}

/** Declares a kind of fault. */
export function defineFaultKind<Schema extends z.ZodObject>(definition: FaultKind<Schema>): FaultKind<Schema> {
  return definition
}

/** Answers in the endpoint's place; with `effect: 'done'` when the endpoint has done its work, whatever it answered. */
export function answerInstead(
  effect: 'none' | 'done',
  hit: FaultHit,
  status: number,
  answer: () => Response,
): Response | Promise<Response> {
  if (effect === 'none') {
    hit.record(status)
    return answer()
  }
  const replace = (discarded: Response) => {
    // Of a stream that nobody hears the rest is not made.
    if (isEventStream(discarded)) discarded.body?.cancel()
    return answer()
  }
  const proceeded = hit.proceed()
  return proceeded instanceof Promise ? proceeded.then(replace) : replace(proceeded)
}
