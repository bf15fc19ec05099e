import * as z from 'zod'
import type { World } from '../../simulation/world.ts'
import { endpoint } from '../endpoint.ts'
import { queryFlag } from '../fields.ts'
import { PaymentChecklist } from '../records.ts'

const MICROCENTS_PER_USD = 100_000_000
const CENTS_PER_USD = 100

export const getMe = endpoint({
  route: 'GET /v1/me',
  summary: 'The account of the token',
  provenance: 'neighbour',
  assumptions: ['with checklist=true the payment checklist as checklist; without, no such field'],
  query: { checklist: queryFlag().default(false) },
  returns: z.object({
    uid: z.string(),
    email: z.string(),
    display_name: z.string(),
    checklist: PaymentChecklist.optional(),
  }),
  example: { target: '/v1/me?checklist=true' },
  handle: ({ query, world }) => {
    const { uid, email, display_name } = world.store.account
    return { uid, email, display_name, ...(query.checklist && { checklist: toChecklist(world) }) }
  },
})

export const getPaymentChecklist = endpoint({
  route: 'GET /payment/checklist',
  summary: 'Where the account stands: what it owes, whether it is suspended, and its automatic top-up',
  provenance: 'neighbour',
  assumptions: [
    'US dollars; a negative balance is prepaid credit',
    'recent is all that was spent, up to now',
    'limit is null: the account has none',
    'suspend_reason is null unless suspended',
  ],
  returns: PaymentChecklist,
  handle: ({ world }) => toChecklist(world),
})

function toChecklist({ ledger }: World): z.input<typeof PaymentChecklist> {
  const { amount, threshold, enabled } = ledger.topupRule
  const spent = ledger.entries().reduce((sum, { microcents }) => sum + Math.max(0, -microcents), 0)
  return {
    // Nothing owed is zero, not minus zero.
    account_balance: 0 - ledger.balance / MICROCENTS_PER_USD,
    recent: spent / MICROCENTS_PER_USD,
    limit: null,
    suspended: ledger.suspensionReason !== undefined,
    suspend_reason: ledger.suspensionReason ?? null,
    topup: enabled,
    topup_amount: amount / CENTS_PER_USD,
    topup_threshold: threshold / CENTS_PER_USD,
    topup_failed: ledger.hasTopupFailed,
  }
}
