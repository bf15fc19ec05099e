/** Names of models: `owner/name`, and a bare name for the account's own. */
import * as z from 'zod'
import type { World } from '../simulation/world.ts'

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
