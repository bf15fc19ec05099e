/** Lookups and refusal texts that several endpoints share. */
import * as z from 'zod'
import type { CatalogModel } from '../data/records/catalog.ts'
import type { ModelTask } from '../data/records/enums.ts'
import type { Deployment } from '../simulation/deployments/deployment.ts'
import { isDeprecated } from '../simulation/deployments/model-lookup.ts'
import type { RentalKind, RentalRow } from '../simulation/rentals/rental-row.ts'
import type { World } from '../simulation/world.ts'
import { refuse } from './refusals.ts'

/** Declares the refusal of `requireFunds`. */
export const FUNDS_REFUSAL = { 402: 'no funds, or the account is suspended' } as const
/** Declares the refusal of `requireGpuQuota`. */
export const GPU_QUOTA_REFUSAL = { 403: 'over the GPU limit of the account' } as const

/** Returns the deployment. Refuses with 404 if it is unknown. */
export function requireDeployment(world: World, deploy_id: string): Deployment {
  return world.deployments.get(deploy_id) ?? refuse(404, `no deployment ${deploy_id}`)
}

/** Returns whether the catalog or the account has a model with this full name. */
export function isKnownModel(world: World, model_name: string): boolean {
  return world.store.models.has(model_name) || world.modelVersions.get(model_name) !== undefined
}

/** Returns the catalog model that a field of the body names. Refuses with 404 if it is unknown or deprecated. */
export function requireCurrentModel(world: World, field: string, model_name: string): CatalogModel {
  const model = world.store.models.get(model_name)
  if (model === undefined || isDeprecated(model, world.clock)) refuse(404, `no ${field} ${model_name}`)
  return model
}

/** Refuses with 400 if a field of the body names a model that generates no text. */
export function requireLanguageModel(
  field: string,
  { model_name, type }: { readonly model_name: string; readonly type: ModelTask },
): void {
  if (type === 'text-generation') return
  refuse(400, `${field} ${model_name} does ${type}: it is not a language model`)
}

const RENTAL_WORDS: Readonly<Record<RentalKind, string>> = { hosted: 'hosted instance', container: 'container' }

/** Returns the ordinal of a rental, even of a deleted one. Refuses with 404 if it is unknown. */
export function requireRental({ rentals }: World, kind: RentalKind, id: string): number {
  const ordinal = rentals.ordinalOf(id)
  if (ordinal === undefined || rentals.read(ordinal).kind !== kind) refuse(404, `no ${RENTAL_WORDS[kind]} ${id}`)
  return ordinal
}

/** Renames a rental. Refuses with 404 if it is unknown, and with 400 if it is deleted. */
export function renameRental(world: World, kind: RentalKind, id: string, name: string): void {
  const ordinal = requireRental(world, kind, id)
  requireUndeleted(world.rentals.read(ordinal))
  world.rentals.rename(ordinal, name)
}

/** Deletes a rental. Refuses with 404 if it is unknown, and with 400 if it is deleted or its deletion is in progress. */
export function deleteRental(world: World, kind: RentalKind, id: string): void {
  const ordinal = requireRental(world, kind, id)
  const row = world.rentals.read(ordinal)
  requireUndeleted(row)
  const isEnding = row.state === 'stopping' || row.state === 'shutting_down'
  if (isEnding && row.stateAfterShutdown === 'deleted')
    refuse(400, `${RENTAL_WORDS[kind]} ${id} is being deleted already`)
  world.rentals.delete(ordinal)
}

/** Refuses with 400 if the rental is deleted. */
export function requireUndeleted({ kind, id, state }: Readonly<RentalRow>): void {
  if (state === 'deleted') refuse(400, `${RENTAL_WORDS[kind]} ${id} is deleted`)
}

const NAME_PATTERN = '[A-Za-z0-9][A-Za-z0-9._-]*'

const MODEL_NAME = new RegExp(`^(?:${NAME_PATTERN}/)?${NAME_PATTERN}$`)
const BARE_NAME = new RegExp(`^${NAME_PATTERN}$`)
const CHARACTERS = 'letters, digits, dots, dashes and underscores, and begin with a letter or digit'

// The live service documents no pattern for names, so the OpenAPI document shows none either.
export const ModelName = z
  .string()
  .refine(name => MODEL_NAME.test(name), `a model name should be name or owner/name, each with ${CHARACTERS}`)
export const BareName = z.string().refine(name => BARE_NAME.test(name), `a name should have ${CHARACTERS}`)

/** The full name: a bare one means the account's own. */
export function qualifyModelName(world: World, name: string): string {
  return name.includes('/') ? name : `${world.store.account.display_name}/${name}`
}

/** Whether a full name has another owner than the account. */
export function isForeignModelName(world: World, name: string): boolean {
  return !name.startsWith(`${world.store.account.display_name}/`)
}
