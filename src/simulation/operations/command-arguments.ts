/** The kinds of command arguments: their types, their checks, and the advice of their errors. */

import type { Profile } from '../../data/profiles/load.ts'
import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import { attempt } from '../../lib/attempt.ts'
import { isIpRange } from '../../lib/ip-ranges.ts'
import { XIDS } from '../fleet/xid.ts'

/** The reasons for which a command can suspend the account. */
export const SUSPENSION_REASONS = ['payment-method', 'overdue-invoices', 'limit-reached', 'admin', 'bad-cc'] as const

/** A kind of arguments. `types` has no value: it carries the type of an argument. */
interface ArgumentRule<Value> {
  /** The advice of an error for an invalid value. */
  readonly advice: string
  readonly accepts: (value: unknown) => boolean
  readonly types?: { readonly value: Value }
}

function argument<Value>(advice: string, accepts: (value: unknown) => boolean): ArgumentRule<Value> {
  return { advice, accepts }
}

/** Declares an argument that is a number. */
function number(advice: string, accepts: (value: number) => boolean): ArgumentRule<number> {
  return argument(advice, value => typeof value === 'number' && accepts(value))
}

const isPrice = (cents: number) => cents >= 0 && cents <= 1e9

/** The kinds of arguments. */
export const ARGUMENTS = {
  duration: argument<Duration>(
    "Give a duration, as in '2m'.",
    value => attempt(() => micros(value as string)) !== undefined,
  ),
  factor: number('Give a factor from 1 to 1,000.', factor => factor >= 1 && factor <= 1000),
  share: number('Give a share above 0 and up to 1.', share => share > 0 && share <= 1),
  xid: number(`Give one of the codes ${Object.keys(XIDS).join(', ')}.`, xid => XIDS[xid] !== undefined),
  times: number('Give an integer from 1 to 1,000.', times => Number.isInteger(times) && times >= 1 && times <= 1000),
  usd: number('Give US dollars from 0 to 40,000,000.', usd => usd >= 0 && usd <= 40_000_000),
  cents: number('Give cents per hour from 0 to 1,000,000,000.', isPrice),
  centsPerMillion: number('Give cents per million tokens from 0 to 1,000,000,000.', isPrice),
  countOrNone: argument<number | null>(
    'Give an integer from 0 to 9,007,199,254,740,991, or null for none.',
    value => value === null || (Number.isSafeInteger(value) && Number(value) >= 0),
  ),
  reason: argument<string>(`Give one of ${SUSPENSION_REASONS.join(', ')}.`, value =>
    (SUSPENSION_REASONS as readonly unknown[]).includes(value),
  ),
  addresses: argument<readonly string[]>(
    "Give a list of addresses and ranges, as in ['203.0.113.0/24'].",
    value => Array.isArray(value) && value.every(address => typeof address === 'string' && isIpRange(address)),
  ),
}

export type ArgumentKind = keyof typeof ARGUMENTS
/** The type of the arguments of a kind. */
export type ArgumentOf<Kind extends ArgumentKind> =
  (typeof ARGUMENTS)[Kind] extends ArgumentRule<infer Value> ? Value : never

/** Returns the notice of a preemption. Default: the notice of the profile. */
export function toNotice({ profile }: { readonly profile: Profile }, notice: unknown): Micros {
  return notice === undefined ? profile.timings.spotNotice : micros(notice as string)
}
