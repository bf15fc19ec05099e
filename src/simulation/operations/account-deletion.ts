import type { AccountAccess } from '../account/access/account-access.ts'
import type { ApiTokens } from '../account/access/api-tokens.ts'
import type { SshKeys } from '../account/access/ssh-keys.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import type { OwnRecords } from '../account/own-records.ts'
import type { Voices } from '../account/voices.ts'
import type { Batches } from '../batches/batches.ts'
import type { Files } from '../batches/files.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { InferenceRequests } from '../inference/requests.ts'
import type { Rentals } from '../rentals/rentals.ts'

/** The parts that hold something of the account. A world has them all. */
export interface AccountParts {
  readonly access: AccountAccess
  readonly apiTokens: ApiTokens
  readonly batches: Batches
  readonly deployments: Deployments
  readonly files: Files
  readonly gpuQuotas: GpuQuotas
  readonly inferenceRequests: InferenceRequests
  readonly ledger: Ledger
  readonly rentals: Rentals
  readonly sshKeys: SshKeys
  readonly voices: Voices
  readonly ownRecords: OwnRecords
}

/**
 * Deletes all that the account has, in the ordinary lifecycles: batches are cancelled, instances drain, machines shut
 * down. Requests to catalog models end. The card is not charged any more, and no token is valid.
 */
export function deleteAccount(account: AccountParts): void {
  const { apiTokens, batches, deployments, files, gpuQuotas, inferenceRequests, ledger, rentals, voices, ownRecords } =
    account
  ledger.onAccountDeleted()
  gpuQuotas.withdrawRequests()
  account.access.rateLimits.decide('denied')
  for (const batch of batches.list()) batch.cancel()
  // Adapters go before what they stand on.
  const remaining = deployments.list()
  for (const deployment of remaining) if (deployment.row.plan.type === 'lora') deployment.delete()
  for (const deployment of remaining) if (deployment.row.plan.type !== 'lora') deployment.delete()
  for (const kind of ['hosted', 'container'] as const) {
    const remainingRentals = rentals.list(kind, state => state !== 'deleted' && state !== 'shutting_down')
    for (const ordinal of remainingRentals) rentals.delete(ordinal)
  }
  inferenceRequests.onAccountCutOff('the account was deleted')
  for (const { id } of files.list()) files.delete(id)
  voices.deleteAll()
  ownRecords.deleteAll()
  account.sshKeys.deleteAll()
  apiTokens.deleteAll()
}
