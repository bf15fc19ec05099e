import * as z from 'zod'
import { MICROCENTS_PER_CENT } from '../../../simulation/account/money.ts'
import { documented } from '../../endpoint.ts'
import { integer, queryInteger } from '../../fields.ts'
import { EmptyRecord, RentUsage } from '../../records.ts'
import { refuse, refuseOverLimit, rejectInput } from '../../refusals.ts'

/** Maximum amount of one payment or rule, in cents. Sums stay far below the largest exact integer. */
const MAX_CENTS = 1_000_000_000
/** Maximum balance, in micro-cents. Every sum stays an exact integer. */
const MAX_FUNDS = 4_000_000_000_000_000

export const setTopup = documented({
  route: 'POST /payment/topup',
  summary: 'Set the automatic top-up, which adds amount when the balance falls below threshold',
  assumptions: [
    'amount and threshold are integer cents from 0 to 1,000,000,000, default 0; enabled: default true',
    'each fall below threshold gives one charge, even if amount does not reach threshold',
    'charges are at least topup_interval of the profile apart, default 1 min',
    'with enabled false no charge is made',
    '200 {}',
  ],
  body: z.object({
    amount: integer({ min: 0, max: MAX_CENTS }).default(0),
    threshold: integer({ min: 0, max: MAX_CENTS }).default(0),
    enabled: z.boolean().default(true),
  }),
  returns: EmptyRecord,
  example: { body: { amount: 5000, threshold: 1000 } },
  handle: ({ body, world }) => {
    world.ledger.setTopupRule(body)
    return {}
  },
})

export const addFunds = documented({
  route: 'POST /payment/funds',
  summary: 'Add prepaid funds from the card on file',
  roles: ['pay payment'],
  assumptions: ['amount is required: integer cents from 1 to 1,000,000,000', 'the balance grows at once', '200 {}'],
  refusals: { 402: 'the card is declined', 400: 'the balance would exceed 40 million dollars' },
  body: z.object({ amount: integer({ above: 0, max: MAX_CENTS }) }),
  returns: EmptyRecord,
  example: { body: { amount: 2500 } },
  handle: ({ body, world }) => {
    if (world.ledger.balance + body.amount * MICROCENTS_PER_CENT > MAX_FUNDS) {
      refuseOverLimit(
        400,
        `amount ${body.amount} is too much: the account may hold ${MAX_FUNDS / MICROCENTS_PER_CENT} cents`,
      )
    }
    if (!world.ledger.addFunds(body.amount)) refuse(402, `the card was declined: ${body.amount} cents were not added`)
    return {}
  },
})

export const getRentUsage = documented({
  route: 'GET /payment/usage/rent',
  summary: 'Get the billed seconds of deployments, hosted instances and containers in a period',
  assumptions: [
    'from: required, Unix seconds; to: Unix seconds, default now',
    '422 if to is present and from is later than to; if from is later than now, the map is empty',
    'keys are container_id, instance_id and deploy_id; adapters have no entry of their own',
    'values are seconds of all instances together, rounded down',
  ],
  query: { from: queryInteger(), to: queryInteger().optional() },
  returns: RentUsage,
  example: { target: '/payment/usage/rent?from=1767139200' },
  handle: ({ query: { from, to }, world }) => {
    if (to !== undefined && from > to) {
      rejectInput(['query', 'from'], `Value error, from (${from}) should not be later than to (${to})`)
    }
    return { id_to_duration: world.ledger.secondsBilled(from, to ?? Number.MAX_SAFE_INTEGER) }
  },
})
