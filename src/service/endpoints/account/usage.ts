import * as z from 'zod'
import { GPU_TYPES } from '../../../data/records/gpu-config.ts'
import type { Micros } from '../../../kernel/duration.ts'
import { formatMonth, monthlyUsage, monthOf, startOfMonth } from '../../../simulation/reporting/monthly-usage.ts'
import type { World } from '../../../simulation/world.ts'
import { endpoint } from '../../endpoint.ts'
import { rejectInput } from '../../refusals.ts'

const MICROCENTS_PER_CENT = 1_000_000
const PERIOD_PATTERN = /^(?:\d{1,12}|\d{4}\.(?:0[1-9]|1[0-2])|current(?:-\d{1,5})?)$/

const cents = z.number().describe('Cents, in steps of a millionth')

function periodParam(): z.ZodType<string, string | number> {
  return z.preprocess(
    // As a number, 2026.10 equals 2026.1, so only text is unambiguous.
    value => (Number.isInteger(value) ? String(value) : value),
    z.string().regex(PERIOD_PATTERN).describe('Unix seconds, YYYY.MM, current, or current-1 and so on'),
  ) as unknown as z.ZodType<string, string | number>
}

export const getUsage = endpoint({
  route: 'GET /payment/usage',
  summary: 'Get usage and cost of the account by month',
  provenance: 'neighbour',
  assumptions: [
    'from and to: Unix seconds, YYYY.MM, current, or current-N; default current; months are in UTC',
    'a month in from means its beginning, in to its end; both are limited to the time from the start of the account to now',
    '422 if to is present and from is later than to; if from is later than now, months is empty',
    'interval: the requested part of the month, in Unix milliseconds',
    'items: rent by deployment, hosted instance or container, tokens by batch or model; highest cost first',
    'cost and total_cost are unrounded cents; the months add up to the total of the ledger',
    'invoice_id is null until the month has ended',
    'initial_month is the first month of the account',
  ],
  query: { from: periodParam().default('current'), to: periodParam().optional() },
  returns: z
    .object({
      months: z.array(
        z.object({
          period: z.string().describe('As in 2026.01'),
          interval: z.object({ from: z.int(), to: z.int() }).describe('Unix milliseconds'),
          items: z.array(
            z.object({
              type: z.enum(['rent', 'tokens']),
              id: z.string(),
              name: z.string(),
              gpu: z.enum(GPU_TYPES).nullable(),
              gpu_hours: z.number().nullable(),
              cost: cents,
            }),
          ),
          total_cost: cents,
          invoice_id: z.string().nullable(),
        }),
      ),
      initial_month: z.string(),
    })
    .meta({ id: 'MonthlyUsage' }),
  example: { target: '/payment/usage?from=current-1' },
  handle: ({ query, world }) => {
    const { clock } = world
    const from = parsePeriodEdge(world, query.from, 'start')
    const to = parsePeriodEdge(world, query.to ?? 'current', 'end')
    // The end of one month is the beginning of the next.
    if (query.to !== undefined && (from > to || (from === to && !/^\d+$/.test(query.to)))) {
      rejectInput(['query', 'from'], `Value error, from (${query.from}) should not be later than to (${query.to})`)
    }
    const isEmpty = from > clock.now || (from < 0 && to <= 0)
    const months = isEmpty ? [] : monthlyUsage(world, Math.max(0, from), Math.min(to, clock.now))
    return {
      months: months.map(month => ({
        period: formatMonth(month.month),
        interval: { from: toUnixMs(world, month.from), to: toUnixMs(world, month.to) },
        items: month.items.map(({ microcents, ...item }) => ({ ...item, cost: microcents / MICROCENTS_PER_CENT })),
        total_cost: month.microcents / MICROCENTS_PER_CENT,
        invoice_id: month.invoice ?? null,
      })),
      initial_month: formatMonth(monthOf(world, 0)),
    }
  },
})

function parsePeriodEdge(world: World, text: string, edge: 'start' | 'end'): Micros {
  const monthOffset = edge === 'start' ? 0 : 1
  if (text.startsWith('current')) {
    return startOfMonth(world, monthOf(world, world.clock.now) - Number(text.slice('current-'.length)) + monthOffset)
  }
  const [, year, month] = /^(\d{4})\.(\d{2})$/.exec(text) ?? []
  if (year === undefined) return world.clock.fromUnix(Number(text))
  return startOfMonth(world, Number(year) * 12 + Number(month) - 1 + monthOffset)
}

function toUnixMs({ clock }: World, at: Micros): number {
  return clock.epochMs + Math.floor(at / 1000)
}
