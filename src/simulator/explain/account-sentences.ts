/** The sentences about the account and the services of its provider. */

import { formatDuration } from '../../kernel/duration.ts'
import type { JournalKindName } from '../../simulation/journal-kinds.ts'
import { byField, fillSentence, formatCents, formatValue, type Sentence, withAmount } from './sentence.ts'

/** Returns a sentence about the limits of a rate, in which -1 means another word. */
function withRates(begin: string, word: string): Sentence {
  return ({ fields }) => {
    const limit = (value: unknown, unit: string) => `${Number(value) < 0 ? word : formatValue(value)} ${unit}`
    return `${begin} ${limit(fields?.requests, 'requests in flight')} and ${limit(fields?.tokens, 'tokens a minute')}.`
  }
}

export const ACCOUNT_SENTENCES = {
  'funds.added': withAmount('The owner added {amount} to the funds of the account.'),
  'funds.set': withAmount('A command set the remaining funds of the account to {amount}.'),
  'topup.set': 'The owner set the rule for automatic top-ups of the account.',
  'topup.begun': withAmount('The balance fell below its threshold, and a top-up of {amount} began.'),
  'topup.charged': withAmount('The card paid a top-up of {amount}.'),
  'topup.declined': withAmount('The card declined a top-up of {amount}.'),
  'topup.calledOff': 'The top-up was cancelled, because other funds came before its charge.',
  'topup.delayed': ({ fields }) => `Top-ups take ${formatDuration(Number(fields?.by_us))} longer from now on.`,
  'topup.normal': 'Top-ups take their usual time again.',
  'card.declined': 'The card of the account declines charges from now on.',
  'card.accepted': 'The card of the account accepts charges again.',
  'account.suspended': ({ fields }) => {
    const { reason } = fields ?? {}
    if (reason === 'balance') return 'The account was suspended, because its funds were used up.'
    if (reason === 'limit-reached') return 'The account was suspended, because its use reached the spending limit.'
    return `A command suspended the account. The reason is ${formatValue(reason)}.`
  },
  'account.graceEnded': 'The grace period of the account ended, so everything on it stops.',
  'account.resumed': 'The suspension of the account ended.',
  'account.edited': 'The owner changed the record of the account: {changed}.',
  'account.deleted': 'The owner deleted the account with everything on it.',
  'limit.set': byField(
    'limit',
    null,
    'The account has no quota for GPUs of the type {gpu} now.',
    'The quota of the account for GPUs of the type {gpu} was set to {limit}.',
  ),
  'limit.requested': 'The owner requested a quota of {requested_limit GPU} of the type {gpu}.',
  'limit.approved': 'The request for a quota of {requested_limit GPU} of the type {gpu} was approved.',
  'limit.denied': 'The request for a quota of {requested_limit GPU} of the type {gpu} was denied.',
  'rateLimit.set': withRates('The rate limits of the account were set:', 'unlimited'),
  'rateLimit.requested': withRates('The owner requested rate limits:', 'unchanged'),
  'rateLimit.approved': withRates('The request for rate limits was approved:', 'unchanged'),
  'rateLimit.denied': withRates('The request for rate limits was denied:', 'unchanged'),
  'spendingLimit.set': ({ fields }) =>
    fields?.microcents === null
      ? 'The account has no spending limit now.'
      : `The spending limit of the account was set to ${formatCents(Number(fields?.microcents) / 1e6)}.`,
  'price.set': withAmount('The price of GPUs of the type {gpu} was set to {amount} an hour.', 'cents_per_hour'),
  'token.created': 'The owner created the API token {token_id} ({name}).',
  'scopedToken.created': 'The API token {token_id} signed a scoped token.',
  'token.deleted': 'A request deleted the API token {token_id}.',
  'token.revoked': 'A command revoked the API token {token_id}.',
  'token.restored': 'A command restored the API token {token_id}.',
  'token.allowed': 'The addresses from which the API token {token_id} may be used changed.',
} as const satisfies { readonly [Kind in JournalKindName]?: Sentence }

export const PROVIDER_SENTENCES = {
  'zone.down': 'The zone {zone} went down, and all of its nodes are lost.',
  'zone.up': 'The zone {zone} is back.',
  'pool.stockedOut': 'No GPU of the type {gpu} is assigned from now on.',
  'pool.restocked': 'GPUs of the type {gpu} are assigned again.',
  'pool.soldOut': 'Other customers took the last free GPU of the type {gpu}.',
  'pool.freed': 'Other customers left a GPU of the type {gpu}. None was free before.',
  'pool.spotReturned': 'The pool {pool} gets spot nodes again.',
  'hub.down': 'The model hub gives no answer from now on.',
  'hub.up': 'The model hub answers again.',
  'hub.throttled': ({ fields }) =>
    `Downloads from the model hub have ${Math.round(Number(fields?.hubShare) * 1000) / 10} percent of their speed.`,
  'hub.unthrottled': 'Downloads from the model hub have their full speed again.',
  'hub.repositoryChanged': 'The repository {repo} of the model hub is {state} now.',
  'registry.down': 'The image registry gives no answer from now on.',
  'registry.up': 'The image registry answers again.',
  'autoscaler.frozen': 'The autoscaler does nothing from now on.',
  'autoscaler.freed': 'The autoscaler works again.',
  'provisioning.slowed': ({ fields }) => `New nodes take ${formatFactor(fields?.factor)} times as long from now on.`,
  'provisioning.normal': 'New nodes take their usual time again.',
  'model.versionAdded': 'The model {id} got the version {version}.',
  'model.versionRemoved': 'The model {id} lost the version {version}.',
  'model.described': 'The visibility or the details of the model {id} changed.',
  'catalog.deprecated': 'The catalog has a date of deprecation for the model {model}.',
  'catalog.restored': 'A command made the model {model} of the catalog current again.',
  'catalog.versionAdded': 'The model {model} of the catalog has the newer version {version}.',
  'catalog.priceSet': entry =>
    fillSentence('The price of {side} tokens of the model {model} is {amount} for a million now.', {
      ...entry,
      fields: { ...entry.fields, amount: formatCents(entry.fields?.cents_per_million) },
    }),
  'voice.created': 'The owner created the voice {voice_id} ({name}).',
  'voice.edited': 'The owner changed the voice {voice_id} ({name}).',
  'voice.deleted': 'The owner deleted the voice {voice_id}.',
  'ownRecord.created': 'The {kind} {id} was created: its status is {status}.',
  'ownRecord.changed': 'The {kind} {id} was changed: its status is {status}.',
  'ownRecord.deleted': 'The {kind} {id} was deleted.',
  'sshKey.added': 'The owner added the SSH key {ssh_key_id} ({name}).',
  'sshKey.deleted': 'The owner deleted the SSH key {ssh_key_id}.',
} as const satisfies { readonly [Kind in JournalKindName]?: Sentence }

/** Formats a factor with at most two decimals. */
export function formatFactor(factor: unknown): string {
  return String(Math.round(Number(factor) * 100) / 100)
}
