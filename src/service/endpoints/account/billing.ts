import * as z from 'zod'
import { purpose } from '../../../kernel/random.ts'
import { MICROCENTS_PER_USD } from '../../../simulation/account/money.ts'
import type { World } from '../../../simulation/world.ts'
import { neighbour } from '../../endpoint.ts'
import { recordSchema } from '../../fields.ts'
import { rejectInput } from '../../refusals.ts'

const SESSION = purpose('billing.session')
const MAX_URL = 2_048

/** The highest limit in US dollars: that of the funds of an account. */
const MAX_LIMIT = 40_000_000

const PaymentConfig = recordSchema('PaymentConfig', { limit: z.number() })

export const getPaymentConfig = neighbour({
  route: 'GET /payment/config',
  summary: 'Get the spending limit of the account',
  roles: ['show payment'],
  assumptions: ['limit is in US dollars; -1 means no limit'],
  returns: PaymentConfig,
  handle: ({ world }) => toPaymentConfig(world),
})

export const setPaymentConfig = neighbour({
  route: 'POST /payment/config',
  summary: 'Set the spending limit of the account',
  assumptions: [
    'limit is in US dollars, up to 40,000,000; a negative number means no limit; missing or null: the limit stays',
    'the limit is on recent of the checklist: the use of a billing period, policy invoice_closes of the profile',
    'if recent reaches the limit, the account is suspended with limit-reached, also at once by a low limit',
    'a limit above recent and the next billing period end that suspension',
    'a limit is rounded to a micro-cent; the answer is the limit in force',
  ],
  body: z.object({ limit: z.number().nullish() }),
  returns: PaymentConfig,
  example: { body: { limit: 500 } },
  handle: ({ body: { limit }, world }) => {
    if (limit == null) return toPaymentConfig(world)
    if (limit > MAX_LIMIT) rejectInput(['body', 'limit'], `Value error, expected at most ${MAX_LIMIT}`)
    world.ledger.setSpendingLimit(limit < 0 ? undefined : Math.round(limit * MICROCENTS_PER_USD))
    return toPaymentConfig(world)
  },
})

function toPaymentConfig({ ledger }: World): { limit: number } {
  return { limit: ledger.spending.limit === undefined ? -1 : ledger.spending.limit / MICROCENTS_PER_USD }
}

export const getBillingPortal = neighbour({
  route: 'GET /payment/billing-portal',
  summary: 'Get the address of the page on which the user manages cards and invoices',
  assumptions: [
    'url is an https address below billing.service.example, which no server answers',
    'it follows from the seed, the account and return_url: equal requests get equal addresses',
    'return_url is an http or https address of up to 2,048 characters, else 422; url repeats it as a parameter',
  ],
  query: {
    return_url: z
      .string()
      .refine(isWebAddress, `expected an http or https address of up to ${MAX_URL} characters`)
      .optional(),
  },
  returns: z.object({ url: z.string() }),
  example: { target: '/payment/billing-portal?return_url=https%3A%2F%2Facme.example%2Fbilling' },
  handle: ({ query: { return_url }, world: { chance, store } }) => {
    const key = chance.key('billing', `${store.account.uid}\u0000${return_url ?? ''}`, 0)
    const url = new URL(`https://billing.service.example/session/${chance.letters(24, key, SESSION)}`)
    if (return_url !== undefined) url.searchParams.set('return_url', return_url)
    return { url: url.href }
  },
})

function isWebAddress(text: string): boolean {
  return text.length <= MAX_URL && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
