import type * as z from 'zod'
import type { Micros } from '../../../kernel/duration.ts'
import type { AnyEndpoint } from '../../../service/endpoint.ts'
import type { Next, RequestContext } from '../../../service/http/request-context.ts'
import type { World } from '../../../simulation/world.ts'
import { isStreamed } from '../wire-faults.ts'

/** A request that a fault changes. */
export interface FaultHit {
  readonly passage: RequestContext<World>
  /** Passes the request to its endpoint. The journal entry of the fault is the cause of its effects. */
  readonly proceed: Next<World>
  /** Records a request that does not reach its endpoint, as soon as its answer is made. */
  record(status: number): void
  /** Takes the hit back, because the fault could change nothing of the answer. */
  missed(): void
  /** Returns a random number in [0, 1) for this rule and request; `nth` distinguishes several draws. */
  draw(nth?: number): number
  /** Returns the world as it was `lag` ago. */
  worldBefore(lag: Micros): World
}

/** Why a fault does not apply to its operations: the path in the fault, and the problem with a remedy. */
export interface Mismatch {
  readonly path: readonly string[]
  readonly reason: string
}

/** A fault kind: its fields, its operations and its effect. */
export interface FaultKind<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema
  /** Returns whether the fault applies to an operation. Default: to all operations. */
  appliesTo?(fault: z.output<Schema>, endpoint: AnyEndpoint): boolean
  /** The operations to which it applies, for the error about others. */
  readonly scope?: string
  /** Explains why the fault applies to no operation of these, if `scope` is not enough. */
  explainMismatch?(fault: z.output<Schema>, endpoints: readonly AnyEndpoint[]): Mismatch | undefined
  /** How the fault fails a line of a batch: by these of its fields. Default: no line can have it. */
  readonly lineError?: {
    readonly fields: readonly string[]
    of(fault: z.output<Schema>): { readonly status: number; readonly message: string }
  }
  act(fault: z.output<Schema>, hit: FaultHit): Response | Promise<Response>
  /** How it answers, if not as a failure: `late` or from the past, or with what means `another` thing. */
  readonly answers?: 'late' | 'another'
  /** What the client gets, for docs/faults.md. */
  readonly summary: string
  /** Says what a client met at an operation, as the main clause of a sentence of a finding of `explore`. */
  finding(fault: z.input<Schema>, operation: string): string
  /** A fault of the kind, for docs/faults.md. A test sends a request that meets it. */
  readonly example: z.input<Schema>
}

/** Declares a fault kind. */
export function defineFaultKind<Schema extends z.ZodObject>(definition: FaultKind<Schema>): FaultKind<Schema> {
  return definition
}

/** Answers instead of the endpoint; with `effect: 'done'` after the endpoint has done its work. */
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
    // The rest of a discarded stream need not be generated.
    if (isStreamed(discarded)) discarded.body?.cancel()
    return answer()
  }
  const proceeded = hit.proceed({ deliveredStatus: status })
  return proceeded instanceof Promise ? proceeded.then(replace) : replace(proceeded)
}

/** Returns the table of the fault kinds. A key that differs from the `kind` of its schema is a type error. */
export function defineFaultKinds<
  Kinds extends { readonly [Name in keyof Kinds]: FaultKind<z.ZodObject<{ kind: z.ZodLiteral<Name & string> }>> },
>(kinds: Kinds): Kinds {
  return kinds
}
