import type * as z from 'zod'
import { MICROCENTS_PER_CENT } from '../../../simulation/account/money.ts'
import { formatMonth, monthlyUsage, monthOf, type UsageFilter } from '../../../simulation/reporting/monthly-usage.ts'
import type { World } from '../../../simulation/world.ts'
import { endpoint } from '../../endpoint.ts'
import { refuse } from '../../refusals.ts'
import { UsageByMonth } from './records.ts'
import { toUsageItem } from './usage-items.ts'
import { parseUsagePeriod, periodParam } from './usage-period.ts'

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

export const getUsage = endpoint({
  route: 'GET /payment/usage',
  summary: 'Get usage and cost of the account by month',
  provenance: 'neighbour',
  assumptions: USAGE_ASSUMPTIONS,
  refusals: RANGE_REFUSALS,
  query,
  returns: UsageByMonth,
  example: { target: '/payment/usage?from=current-1' },
  handle: ({ query, world }) => usageByMonth(world, query.from, query.to),
})

export const getTokenUsage = endpoint({
  route: 'GET /payment/usage/tokens',
  summary: 'Get usage and cost of requests with API tokens by month',
  provenance: 'neighbour',
  assumptions: ['the usage of all API tokens together: without rent', ...USAGE_ASSUMPTIONS],
  refusals: RANGE_REFUSALS,
  query,
  returns: UsageByMonth,
  example: { target: '/payment/usage/tokens?from=current-1' },
  handle: ({ query, world }) => usageByMonth(world, query.from, query.to, { tokensOnly: true }),
})

export const getUsageOfApiToken = endpoint({
  route: 'GET /payment/usage/{api_token}',
  summary: 'Get usage and cost of the requests of one API token by month',
  provenance: 'neighbour',
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
