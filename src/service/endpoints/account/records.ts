/** The records of the account and its money. */

import * as z from 'zod'
import { recordSchema, rowsOf } from '../../fields.ts'

const unixSeconds = z.int()
const usd = z.number().describe('US dollars')
const wholeCents = z.int().describe('Cents')

export const PaymentChecklist = recordSchema('PaymentChecklist', {
  account_balance: usd.describe('US dollars owed at the last invoice: prepaid credit is negative'),
  recent: usd.describe('US dollars used since the last invoice'),
  email: z.boolean().describe('The address is verified'),
  billing_address: z.boolean(),
  payment_method: z.boolean().describe('A card is on file'),
  suspended: z.boolean(),
  overdue_invoices: usd.describe('US dollars of unpaid invoices'),
  last_checked: unixSeconds,
  billing_type: z.literal('balance'),
  limit: usd.nullable(),
  suspend_reason: z
    .enum(['balance', 'payment-method', 'overdue-invoices', 'limit-reached', 'admin', 'bad-cc'])
    .nullable(),
  topup: z.boolean(),
  topup_amount: wholeCents,
  topup_threshold: wholeCents,
  topup_failed: z.boolean(),
})

export const Me = recordSchema('Me', {
  uid: z.string(),
  email: z.string().nullable(),
  email_verified: z.boolean(),
  account_setup: z.boolean(),
  require_email_verified: z.boolean(),
  display_name: z.string(),
  provider: z.string(),
  picture: z.string().nullable(),
  is_admin: z.boolean(),
  name: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  country: z.string(),
  is_business_account: z.boolean(),
  company: z.string(),
  website: z.string(),
  title: z.string(),
  is_team_account: z.boolean(),
  is_team_owner: z.boolean(),
  team_role: z.string().nullable(),
  team_display_name: z.string().nullable(),
  is_team_upgrade_enabled: z.boolean(),
  partner_connection: z
    .object({ user_id: z.string(), team_id: z.string().nullable(), installation_id: z.string() })
    .nullable(),
  checklist: PaymentChecklist.nullable(),
})

const timeInterval = z.object({ fr: z.int(), to: z.int() }).describe('Unix milliseconds')

export const UsageByMonth = recordSchema('UsageByMonth', {
  months: rowsOf({
    period: z.string().describe('As in 2026.01'),
    interval: timeInterval,
    items: rowsOf({
      model: z.object({
        provider: z.string(),
        model_name: z.string(),
        task: z.string(),
        plan_id: z.string().nullable(),
        private: z.boolean(),
      }),
      units: z.int(),
      rate: z.number().describe('Cents per unit'),
      cost: wholeCents,
      pricing_type: z.string(),
      interval: timeInterval,
      discount: z.object({ name: z.string(), description: z.string().nullable() }).nullable(),
    }),
    total_cost: wholeCents,
    invoice_id: z.string().describe('NOT_FINAL, EMPTY, or the id of an invoice'),
  }),
  initial_month: z.string(),
})
