import type * as z from 'zod'
import { MICROCENTS_PER_USD } from '../../../simulation/account/money.ts'
import { accountBalance } from '../../../simulation/reporting/account-balance.ts'
import type { World } from '../../../simulation/world.ts'
import type { Me, PaymentChecklist } from './records.ts'

const CENTS_PER_USD = 100

/** Returns the record of the account, with its checklist or null in its place. */
export function toMe(world: World, hasChecklist: boolean): z.input<typeof Me> {
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
    checklist: hasChecklist ? toChecklist(world) : null,
  }
}

/** Returns balance, suspension and top-up of the account. */
export function toChecklist(world: World): z.input<typeof PaymentChecklist> {
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
    limit: ledger.spending.limit === undefined ? null : ledger.spending.limit / MICROCENTS_PER_USD,
    suspend_reason: ledger.suspensionReason ?? null,
    topup: enabled,
    topup_amount: amount,
    topup_threshold: threshold,
    topup_failed: ledger.hasTopupFailed,
  }
}
