import * as z from 'zod'
import { MICROCENTS_PER_USD } from '../../../simulation/account/money.ts'
import { deleteAccount } from '../../../simulation/operations/account-deletion.ts'
import { accountBalance } from '../../../simulation/reporting/monthly-usage.ts'
import type { World } from '../../../simulation/world.ts'
import { neighbour } from '../../endpoint.ts'
import { queryFlag, text } from '../../fields.ts'
import { refuse, rejectInput } from '../../refusals.ts'
import { Me, PaymentChecklist } from './records.ts'

const CENTS_PER_USD = 100

/** Returns the record of the account, with its checklist or null in its place. */
function toMe(world: World, hasChecklist: boolean): z.input<typeof Me> {
  const { account } = world.store
  const { name = `${account.first_name} ${account.last_name}` } = account
  // The schema leaves out what the simulator alone reads.
  return Me.parse({ ...account, name, checklist: hasChecklist ? toChecklist(world) : null })
}

/** Returns balance, suspension and top-up of the account. */
function toChecklist(world: World): z.input<typeof PaymentChecklist> {
  const { clock, ledger, store } = world
  const { account } = store
  const { amount, threshold, enabled } = ledger.topups.rule
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
    topup_failed: ledger.topups.hasFailed,
  }
}

export const getMe = neighbour({
  route: 'GET /v1/me',
  summary: 'Get the account of the token',
  assumptions: [
    'checklist is null without checklist=true; else it is the answer of GET /payment/checklist',
    'the record is that of the fixture, with the changes of PATCH /v1/me',
  ],
  query: { checklist: queryFlag().default(false) },
  returns: Me,
  example: { target: '/v1/me?checklist=true' },
  handle: ({ query, world }) => toMe(world, query.checklist),
})

/** A text that null leaves as it is. */
const changedText = (max: number, min = 1) => text({ min, max }).nullish()

export const updateMe = neighbour({
  route: 'PATCH /v1/me',
  summary: 'Change the record of the account',
  assumptions: [
    'a missing field and null keep their value; the answer is the changed record, with checklist null',
    'a changed email counts as not verified until the world is reset; another value than an address is 422',
    'a changed display_name is the owner of new models; models that exist keep their names',
    'use_case and attribution are validated and ignored',
  ],
  roles: ['update account'],
  refusals: { 409: 'display_name owns models of the public catalog' },
  body: z.object({
    name: changedText(256),
    first_name: changedText(128),
    last_name: changedText(128),
    country: changedText(128),
    email: changedText(320),
    is_business_account: z.boolean().nullish(),
    company: changedText(128),
    website: changedText(128, 0),
    title: changedText(128),
    display_name: changedText(39),
    use_case: changedText(512),
    attribution: changedText(512),
  }),
  returns: Me,
  example: { body: { company: 'Acme Robotics', title: 'Head of platform' } },
  handle: ({ body, world }) => {
    const { use_case: _use, attribution: _attribution, ...given } = body
    const { email, display_name } = given
    if (email != null && !/^[^\s@]+@[^\s@]+$/.test(email)) {
      rejectInput(['body', 'email'], 'value is not a valid email address')
    }
    if (display_name != null && !/^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$/.test(display_name)) {
      rejectInput(['body', 'display_name'], DISPLAY_NAME_RULE, 'string_pattern_mismatch')
    }
    if (display_name != null && display_name !== world.store.account.display_name) {
      const isTaken = world.store.models.all().some(({ model_name }) => model_name.startsWith(`${display_name}/`))
      if (isTaken) refuse(409, `display_name ${display_name} is taken`)
    }
    world.access.userRecord.edit(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)))
    return toMe(world, false)
  },
})

const DISPLAY_NAME_RULE = 'display_name should have letters and digits, with single dashes between them'

export const deleteMe = neighbour({
  route: 'DELETE /v1/me',
  summary: 'Delete the account and all that it has',
  assumptions: [
    'the answer is the last record, with checklist null; every later request that needs a token is 401',
    'deployments, hosted instances, containers, files, voices, SSH keys and API tokens are deleted as by their own requests',
    'batches are cancelled, pending requests for limits are denied, and automatic top-up ends',
    'requests to catalog models in progress are cut off',
    'what drains or shuts down is billed to its end; remaining funds are not paid out',
  ],
  returns: Me,
  handle: ({ world }) => {
    const record = toMe(world, false)
    deleteAccount(world)
    return record
  },
})

export const getPaymentChecklist = neighbour({
  route: 'GET /payment/checklist',
  summary: 'Get balance, suspension and automatic top-up of the account',
  roles: ['show payment'],
  assumptions: [
    'account_balance and recent are US dollars; a negative account_balance is prepaid credit',
    'account_balance changes when money comes and when an invoice closes (policy invoice_closes); recent is the use since then',
    'the remaining funds are -(account_balance + recent)',
    'topup_amount and topup_threshold are cents, as in POST /payment/topup',
    'email, billing_address and overdue_invoices follow the fixture; payment_method: a card is on file, even if it is declined',
    'last_checked is the time of the request, in Unix seconds; compute_owed is ignored',
    'limit is the spending limit of POST /payment/config; null for none',
    'suspend_reason is null if the account is not suspended',
  ],
  query: { compute_owed: queryFlag().default(false) },
  returns: PaymentChecklist,
  handle: ({ world }) => toChecklist(world),
})
