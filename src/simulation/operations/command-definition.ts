/** The form of a command, and of an entry in a table of commands. */

import type { Profile } from '../../data/profiles/load.ts'
import type { AccountAccess } from '../account/access/account-access.ts'
import type { ApiTokens } from '../account/access/api-tokens.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { Nodes } from '../fleet/nodes.ts'
import type { Rentals } from '../rentals/rentals.ts'
import type { Store } from '../store.ts'
import type { CatalogChanges, ChargedWork } from './catalog-changes.ts'
import type { OperationEffects } from './effects.ts'

/** A batch as commands use it. */
export interface CommandedBatch {
  readonly status: string
  /** Each returns false if the status of the batch does not allow it. */
  cancel(): boolean
  expire(): boolean
  fail(): boolean
  stall(): boolean
}

/** The batches as commands use them. */
export interface CommandedBatches {
  readonly pacing: ChargedWork
  /** Returns undefined for an unknown id. */
  get(id: string): CommandedBatch | undefined
}

/** The parts below that it uses. */
export interface CommandsParts {
  readonly access: AccountAccess
  readonly operationEffects: OperationEffects
  readonly nodes: Nodes
  readonly deployments: Deployments
  readonly rentals: Rentals
  readonly ledger: Ledger
  readonly gpuQuotas: GpuQuotas
  readonly apiTokens: ApiTokens
  readonly batches: CommandedBatches
  readonly files: { delete(id: string): boolean }
}

/**
 * The kind of thing that a command acts on. A target is written as a name or an id; a GPU as `h100-0/3`, node and index.
 * A command of the kind `none` has the target ''.
 */
export type CommandTarget =
  | 'node'
  | 'gpu'
  | 'pool'
  | 'zone'
  | 'gpuType'
  | 'offeredGpuType'
  | 'repository'
  | 'model'
  | 'token'
  | 'deployment'
  | 'hosted'
  | 'batch'
  | 'file'
  | 'none'

export type ArgumentKind =
  | 'duration'
  | 'factor'
  | 'share'
  | 'xid'
  | 'times'
  | 'cents'
  | 'centsPerMillion'
  | 'usd'
  | 'countOrNone'
  | 'reason'
  | 'addresses'
export type CommandArguments = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

/** The parts that commands act on, the reference data and the profile. */
export interface CommandTargets extends CommandsParts {
  readonly profile: Profile
  readonly store: Store
  readonly catalog: CatalogChanges
}

/** An entry of a command table. */
export interface CommandDefinition {
  readonly target: CommandTarget
  /** The command that reverses this one. */
  readonly undo?: string
  readonly description: string
  readonly args?: Readonly<Record<string, { readonly kind: ArgumentKind; readonly optional?: true }>>
  apply(world: CommandTargets, target: string, args: CommandArguments): void
}

/** A command table: command names and their entries. */
export type CommandTable = Readonly<Record<string, CommandDefinition>>
