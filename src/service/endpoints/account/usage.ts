import * as z from 'zod'
import { DAY, type Micros } from '../../../kernel/duration.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { MICROCENTS_PER_CENT } from '../../../simulation/account/money.ts'
import {
  formatMonth,
  type Month,
  monthlyUsage,
  monthOf,
  startOfMonth,
  type UsageFilter,
  type UsageItem,
} from '../../../simulation/reporting/monthly-usage.ts'
import type { World } from '../../../simulation/world.ts'
import { neighbour } from '../../endpoint.ts'
import { rowsOf, text } from '../../fields.ts'
import { refuse, refuseInput, rejectInput } from '../../refusals.ts'
import { UsageByMonth } from './records.ts'

const USAGE_ASSUMPTIONS = [
  'from and to: YYYY.MM, current, current-N, or Unix seconds; months are in UTC; any other text is 422',
  'a month in from means its beginning, in to its end; in the running month, the end is now',
  'to: default the end of the month of from, or now if that is earlier; as current, to is now',
  'interval: the requested part of the month, in Unix milliseconds; an item has the interval of its month',
  'cost and total_cost are whole cents: each item is rounded down, and total_cost is the rounded sum of the exact items',
  'units are tokens (pricing_type tokens), GPU-seconds (uptime), or those of the pricing_type of a media model, rounded down; rate is the mean of cents per unit',
  'items: requests by model, rent by deployment, hosted instance or container; highest cost first',
  'provider is the owner part of a name; private is true for what the account deploys or rents',
  'invoice_id: NOT_FINAL for the running month, EMPTY for a month without use',
  'initial_month is the month in which the account was opened',
] as const

const RANGE_REFUSALS = {
  400: 'a range of more than 31 days, before the month in which the account was opened, in the future, or that ends before it begins',
} as const

const query = { from: periodParam(), to: periodParam().optional() }

export const getUsage = neighbour({
  route: 'GET /payment/usage',
  summary: 'Get usage and cost of the account by month',
  roles: ['show payment'],
  assumptions: USAGE_ASSUMPTIONS,
  refusals: RANGE_REFUSALS,
  query,
  returns: UsageByMonth,
  example: { target: '/payment/usage?from=current-1' },
  handle: ({ query, world }) => usageByMonth(world, query.from, query.to),
})

export const getTokenUsage = neighbour({
  route: 'GET /payment/usage/tokens',
  summary: 'Get usage and cost of requests with API tokens by month',
  assumptions: ['the usage of all API tokens together: without rent', ...USAGE_ASSUMPTIONS],
  refusals: RANGE_REFUSALS,
  query,
  returns: UsageByMonth,
  example: { target: '/payment/usage/tokens?from=current-1' },
  handle: ({ query, world }) => usageByMonth(world, query.from, query.to, { tokensOnly: true }),
})

export const getUsageOfApiToken = neighbour({
  route: 'GET /payment/usage/{api_token}',
  summary: 'Get usage and cost of the requests of one API token by month',
  assumptions: [
    'api_token is a token or its token_id',
    'the usage of requests with that token, and of batches that it created',
    ...USAGE_ASSUMPTIONS,
  ],
  refusals: { ...RANGE_REFUSALS, 404: 'unknown API token' },
  query,
  returns: UsageByMonth,
  example: { target: '/payment/usage/sim_default_token?from=current-1' },
  handle: ({ params, query, world }) => {
    const token = world.apiTokens.find(params.api_token) ?? refuse(404, 'API token not found')
    return usageByMonth(world, query.from, query.to, { tokenId: token.token_id })
  },
})

function usageByMonth(
  world: World,
  fromText: string,
  toText: string | undefined,
  filter: UsageFilter = {},
): z.input<typeof UsageByMonth> {
  const { from, to } = parseUsagePeriod(world, fromText, toText)
  const toUnixMs = (at: number) => world.clock.epochMs + Math.floor(at / 1000)
  return {
    months: monthlyUsage(world, from, to, filter).map(month => {
      const interval = { fr: toUnixMs(month.from), to: toUnixMs(month.to) }
      return {
        period: formatMonth(month.month),
        interval,
        items: month.items.map(item => ({ ...toUsageItem(world, item), interval })),
        total_cost: Math.floor(month.microcents / MICROCENTS_PER_CENT),
        invoice_id: month.invoice === undefined ? 'NOT_FINAL' : (month.invoice ?? 'EMPTY'),
      }
    }),
    initial_month: formatMonth(monthOf(world, world.ledger.past.openedAt)),
  }
}

type UsageRecord = z.input<typeof UsageByMonth>['months'][number]['items'][number]

/** Returns the record of one item of usage, with whole cents. */
function toUsageItem(world: World, item: UsageItem): Omit<UsageRecord, 'interval'> {
  const { type, pricingType, id, name, units, microcents } = item
  return {
    model: {
      provider: type === 'rent' && !name.includes('/') ? world.store.account.display_name : name.split('/')[0]!,
      model_name: name,
      task: taskOf(world, item),
      plan_id: world.rentals.findById(id)?.plan.machine?.planId ?? null,
      private: type === 'rent' || world.modelVersions.get(id) !== undefined,
    },
    units: Math.floor(units),
    // Eight digits hide that the cost is rounded down to a micro-cent.
    rate: units === 0 ? 0 : Number((microcents / MICROCENTS_PER_CENT / units).toPrecision(8)),
    cost: Math.floor(microcents / MICROCENTS_PER_CENT),
    pricing_type: pricingType,
    discount: null,
  }
}

function taskOf(world: World, { type, id }: UsageItem): string {
  if (type === 'requests') return world.store.models.get(id)?.type ?? 'text-generation'
  const rental = world.rentals.findById(id)
  if (rental !== undefined) return rental.kind === 'hosted' ? 'hosted-instance' : 'container'
  return world.deployments.get(id)?.toRecord().task ?? 'text-generation'
}

/** One end of a period as text. A client may give integer Unix seconds as a number. */
function periodParam(): z.ZodType<string, string | number> {
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
function parseUsagePeriod(
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

export const getRequestCosts = neighbour({
  route: 'POST /v1/request-costs',
  summary: 'Get the costs of requests to models by their ids',
  assumptions: [
    'requestIds are the ids of answers, as chatcmpl-…, and request_id of native inference; in the order of the request, each once',
    'answers of embeddings, images, speech and transcriptions have no id: native inference gives one, with the cost',
    'a request is known when it has ended; the newest 16,384 requests are kept, others are left out',
    'costNanoUsd is rounded down; 0 for a deployment of the account, which is billed by time',
    'invoices are rounded down for each model, not for each request, so sums can differ by less than a nano-dollar each',
  ],
  body: z.object({ requestIds: z.array(text({ max: 256 })).max(LIMITS.requestIds) }),
  returns: z.object({ requests: rowsOf({ requestId: z.string(), costNanoUsd: z.int() }) }),
  example: { body: { requestIds: ['chatcmpl-000000000000000000000000'] } },
  handle: ({ body: { requestIds }, world }) => {
    const costs = world.access.requestCosts.find(requestIds)
    const known = [...new Set(requestIds)].filter(id => costs.has(id))
    return { requests: known.map(requestId => ({ requestId, costNanoUsd: costs.get(requestId)! })) }
  },
})
