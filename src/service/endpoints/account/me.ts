import type * as z from 'zod'
import { MICROCENTS_PER_CENT } from '../../../simulation/account/money.ts'
import { accountBalance } from '../../../simulation/reporting/account-balance.ts'
import type { World } from '../../../simulation/world.ts'
import { endpoint } from '../../endpoint.ts'
import { queryFlag } from '../../fields.ts'
import { Me, PaymentChecklist } from './records.ts'

const CENTS_PER_USD = 100
const MICROCENTS_PER_USD = CENTS_PER_USD * MICROCENTS_PER_CENT

export const getMe = endpoint({
  route: 'GET /v1/me',
  summary: 'Get the account of the token',
  provenance: 'neighbour',
  assumptions: [
    'checklist is null without checklist=true; else it is the answer of GET /payment/checklist',
    'the record is that of the fixture',
  ],
  query: { checklist: queryFlag().default(false) },
  returns: Me,
  example: { target: '/v1/me?checklist=true' },
  handle: ({ query, world }) => {
    const { account } = world.store
    return {
      uid: account.uid,
      email: account.email,
      email_verified: account.email_verified,
      account_setup: account.account_setup,
      require_email_verified: account.require_email_verified,
      display_name: account.display_name,
      provider: account.provider,
      picture: account.picture,
      is_admin: account.is_admin,
      name: account.name ?? `${account.first_name} ${account.last_name}`,
      first_name: account.first_name,
      last_name: account.last_name,
      country: account.country,
      is_business_account: account.is_business_account,
      company: account.company,
      website: account.website,
      title: account.title,
      is_team_account: account.is_team_account,
      is_team_owner: account.is_team_owner,
      team_role: account.team_role,
      team_display_name: account.team_display_name,
      is_team_upgrade_enabled: account.is_team_upgrade_enabled,
      partner_connection: account.partner_connection,
      checklist: query.checklist ? toChecklist(world) : null,
    }
  },
})

export const getPaymentChecklist = endpoint({
  route: 'GET /payment/checklist',
  summary: 'Get balance, suspension and automatic top-up of the account',
  provenance: 'neighbour',
  assumptions: [
    'account_balance and recent are US dollars; a negative account_balance is prepaid credit',
    'account_balance changes when money comes and when an invoice closes (policy invoice_closes); recent is the use since then',
    'the remaining funds are -(account_balance + recent)',
    'topup_amount and topup_threshold are cents, as in POST /payment/topup',
    'email, billing_address and overdue_invoices follow the fixture; payment_method: a card is on file, even if it is declined',
    'last_checked is the time of the request, in Unix seconds; compute_owed is ignored',
    'limit is always null',
    'suspend_reason is null if the account is not suspended',
  ],
  query: { compute_owed: queryFlag().default(false) },
  returns: PaymentChecklist,
  handle: ({ world }) => toChecklist(world),
})

function toChecklist(world: World): z.input<typeof PaymentChecklist> {
  const { clock, ledger, store } = world
  const { account } = store
  const { amount, threshold, enabled } = ledger.topupRule
  const { owed, recent } = accountBalance(world)
  return {
    account_balance: owed / MICROCENTS_PER_USD,
    recent: recent / MICROCENTS_PER_USD,
    email: account.email_verified,
    billing_address: account.billing_address,
    payment_method: true,
    suspended: ledger.suspensionReason !== undefined,
    overdue_invoices: account.overdue_cents / CENTS_PER_USD,
    last_checked: clock.unix(),
    billing_type: 'balance',
    limit: null,
    suspend_reason: ledger.suspensionReason ?? null,
    topup: enabled,
    topup_amount: amount,
    topup_threshold: threshold,
    topup_failed: ledger.hasTopupFailed,
  }
}
