/** The period of a usage query: months by name or counted back from the running one, or Unix seconds. */

import * as z from 'zod'
import { DAY, type Micros } from '../../../kernel/duration.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { formatMonth, type Month, monthOf, startOfMonth } from '../../../simulation/reporting/monthly-usage.ts'
import type { World } from '../../../simulation/world.ts'
import { refuse, refuseInput, rejectInput } from '../../refusals.ts'

/** One end of a period as text. A client may give integer Unix seconds as a number. */
export function periodParam(): z.ZodType<string, string | number> {
  return z.preprocess(
    // As a number, 2026.10 equals 2026.1, so only text is unambiguous.
    value => (Number.isInteger(value) ? String(value) : value),
    z.string().describe('YYYY.MM, current, current-1 and so on, or Unix seconds'),
  ) as unknown as z.ZodType<string, string | number>
}

type PeriodEdge = { readonly month: Month } | { readonly time: Micros }

/**
 * Returns the window of a period, in microseconds since the epoch; it can begin before the epoch. Rejects an invalid
 * text with 422. Refuses with 400 a range that is too long, in the future, older than the account or in the wrong order.
 */
export function parseUsagePeriod(
  world: World,
  fromText: string,
  toText: string | undefined,
): { readonly from: Micros; readonly to: Micros } {
  const { now } = world.clock
  const first = parseEdge(world, 'from', fromText)
  const from = 'month' in first ? startOfMonth(world, first.month) : first.time
  const last = toText === undefined ? { month: monthOf(world, from) } : parseEdge(world, 'to', toText)
  const to = 'month' in last ? endOfMonth(world, last.month) : last.time
  const initialMonth = monthOf(world, world.ledger.past.openedAt)
  if (monthOf(world, from) < initialMonth) {
    refuse(400, `from (${fromText}) is before ${formatMonth(initialMonth)}, in which the account was opened`)
  }
  if (from > now) refuse(400, `from (${fromText}) is in the future`)
  if (to > now) refuse(400, `to (${toText}) is in the future`)
  const isReversed = from > to || ('month' in last && last.month < monthOf(world, from))
  if (isReversed) refuseInput(400, `from (${fromText}) is later than to (${toText})`)
  if (to - from > LIMITS.usageDays * DAY) {
    refuseInput(400, `the range from ${fromText} to ${toText} is longer than ${LIMITS.usageDays} days`)
  }
  return { from, to }
}

/** Returns the end of a month; now for the running month. */
function endOfMonth(world: World, month: Month): Micros {
  return month === monthOf(world, world.clock.now) ? world.clock.now : startOfMonth(world, month + 1)
}

function parseEdge(world: World, name: 'from' | 'to', text: string): PeriodEdge {
  const [, back] = /^current(?:-(\d{1,5}))?$/.exec(text) ?? []
  if (text === 'current' || back !== undefined) return { month: monthOf(world, world.clock.now) - Number(back ?? 0) }
  const [, year, month] = /^(\d{4})\.(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (year !== undefined) return { month: Number(year) * 12 + Number(month) - 1 }
  if (/^\d{1,12}$/.test(text)) return { time: world.clock.fromUnix(Number(text)) }
  return rejectInput(['query', name], 'Value error, expected YYYY.MM, current, current-N or Unix seconds')
}
