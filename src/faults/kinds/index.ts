/** The fault kinds. A further kind is a file in this folder and an entry of `FAULT_KINDS`. */
import type * as z from 'zod'
import { drift } from './drift.ts'
import { duplicate } from './duplicate.ts'
import { empty } from './empty.ts'
import { garbled } from './garbled.ts'
import { hang } from './hang.ts'
import { html } from './html.ts'
import type { FaultKind } from './kind.ts'
import { latency } from './latency.ts'
import { rateLimit } from './rate-limit.ts'
import { refused } from './refused.ts'
import { reset } from './reset.ts'
import { slowBody } from './slow-body.ts'
import { stale } from './stale.ts'
import { status } from './status.ts'
import { truncated } from './truncated.ts'

/** Returns the table. A key that differs from the `kind` of its schema is a type error. */
function defineFaultKinds<
  Kinds extends { readonly [Name in keyof Kinds]: FaultKind<z.ZodObject<{ kind: z.ZodLiteral<Name & string> }>> },
>(kinds: Kinds): Kinds {
  return kinds
}

/** Every fault kind by its name, in the order of docs/faults.md. */
export const FAULT_KINDS = defineFaultKinds({
  status,
  rateLimit,
  latency,
  hang,
  reset,
  refused,
  empty,
  truncated,
  garbled,
  html,
  slowBody,
  drift,
  stale,
  duplicate,
})
