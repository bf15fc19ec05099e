/** Common fields of fault kinds. */

import * as z from 'zod'
import { DURATION_PATTERN, type Duration, micros } from '../../../kernel/duration.ts'
import { attempt } from '../../../lib/errors.ts'

/** A duration of at least 0. */
export const duration = z
  .custom<Duration>(isDuration, {
    abort: true,
    error: "a duration of at least 0, like '500ms' or '10m'",
  })
  .meta({
    ...{ type: ['string', 'number'] as never, pattern: DURATION_PATTERN, minimum: 0 },
    description: "As in '500ms' or '10m'; a number is milliseconds",
  })

/** Returns whether a field of a fault kind takes a duration, as text or as a number of milliseconds. */
export function isDurationField(field: { safeParse(value: unknown): { success: boolean } } | undefined): boolean {
  return field?.safeParse('1s').success === true && field.safeParse(1).success
}

/** Whether the endpoint does its work before the response is lost. */
export const effect = z.enum(['none', 'done']).default('none')

/** A text of one line: it may become part of a header or a page. */
export const message = z
  .string()
  .max(500)
  .regex(/^[^\r\n]*$/, { error: 'text of one line' })

export function isDuration(value: unknown): value is Duration {
  return attempt(() => micros(value as Duration)) !== undefined
}

/** How a body ends that is not whole, for findings. */
export const ENDS = {
  error: 'an error event came',
  reset: 'the connection broke',
  close: 'the connection closed in order',
  silence: 'nothing more came',
}

/** Says in a finding that the endpoint had done its work, if it had. */
export function whenDone(fault: { readonly effect?: string | undefined }): string {
  return fault.effect === 'done' ? ' after it had been carried out' : ''
}
