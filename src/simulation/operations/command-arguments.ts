/** The kinds of command arguments: their checks, and the advice of their errors. */

import { type Micros, micros } from '../../kernel/duration.ts'
import { isIpRange } from '../../lib/ip-ranges.ts'
import { XIDS } from '../fleet/xid.ts'
import type { ArgumentKind, CommandArguments, CommandTargets } from './command-definition.ts'

/** The reasons for which a command can suspend the account. */
export const SUSPENSION_REASONS = ['payment-method', 'overdue-invoices', 'limit-reached', 'admin', 'bad-cc'] as const

/** The advice of an error for an argument of each kind. */
export const ARGUMENT_ADVICE: Readonly<Record<ArgumentKind, string>> = {
  duration: "Give a duration, as in '2m'.",
  factor: 'Give a factor from 1 to 1,000.',
  share: 'Give a share above 0 and up to 1.',
  xid: `Give one of the codes ${Object.keys(XIDS).join(', ')}.`,
  times: 'Give an integer from 1 to 1,000.',
  usd: 'Give US dollars from 0 to 40,000,000.',
  cents: 'Give cents per hour from 0 to 1,000,000,000.',
  centsPerMillion: 'Give cents per million tokens from 0 to 1,000,000,000.',
  countOrNone: 'Give an integer from 0 to 9,007,199,254,740,991, or null for none.',
  reason: `Give one of ${SUSPENSION_REASONS.join(', ')}.`,
  addresses: "Give a list of addresses and ranges, as in ['203.0.113.0/24'].",
}

/** Returns the advice for an invalid value; undefined for a valid one. */
export function argumentProblem(kind: ArgumentKind, value: NonNullable<unknown> | null): string | undefined {
  return isValidArgument(kind, value) ? undefined : ARGUMENT_ADVICE[kind]
}

function isValidArgument(kind: ArgumentKind, value: unknown): boolean {
  const number = typeof value === 'number' ? value : Number.NaN
  switch (kind) {
    case 'duration':
      try {
        micros(value as string)
        return true
      } catch {
        return false
      }
    case 'factor':
      return number >= 1 && number <= 1000
    case 'share':
      return number > 0 && number <= 1
    case 'xid':
      return XIDS[number] !== undefined
    case 'times':
      return Number.isInteger(value) && number >= 1 && number <= 1000
    case 'usd':
      return number >= 0 && number <= 40_000_000
    case 'cents':
    case 'centsPerMillion':
      return number >= 0 && number <= 1e9
    case 'countOrNone':
      return value === null || (Number.isSafeInteger(number) && number >= 0)
    case 'reason':
      return (SUSPENSION_REASONS as readonly unknown[]).includes(value)
    case 'addresses':
      return Array.isArray(value) && value.every(address => typeof address === 'string' && isIpRange(address))
  }
}

/** Returns the notice of a preemption. Default: the notice of the profile. */
export function toNotice(world: CommandTargets, notice: CommandArguments[string] | undefined): Micros {
  return notice === undefined ? world.profile.timings.spotNotice : micros(notice as string)
}
