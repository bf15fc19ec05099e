import * as z from 'zod'
import type { World } from '../../../simulation/world.ts'
import { endpoint } from '../../endpoint.ts'
import { queryFlag } from '../../fields.ts'
import { MICROCENTS_PER_USD } from '../../lookups.ts'
import { PaymentChecklist } from '../../records.ts'

const CENTS_PER_USD = 100

export const getMe = endpoint({
  route: 'GET /v1/me',
  summary: 'Get the account of the token',
  provenance: 'neighbour',
  assumptions: ['checklist is present only with checklist=true: it is the answer of GET /payment/checklist'],
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
  summary: 'Get balance, suspension and automatic top-up of the account',
  provenance: 'neighbour',
  assumptions: [
    'amounts are US dollars; a negative account_balance is prepaid credit',
    'recent is the total spent until now',
    'limit is always null',
    'suspend_reason is null if the account is not suspended',
  ],
  returns: PaymentChecklist,
  handle: ({ world }) => toChecklist(world),
})

function toChecklist({ ledger }: World): z.input<typeof PaymentChecklist> {
  const { amount, threshold, enabled } = ledger.topupRule
  const spent = ledger.entries().reduce((sum, { microcents }) => sum + Math.max(0, -microcents), 0)
  return {
    // Avoids minus zero for an empty balance.
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
