/** Names of models: `owner/name`, and a bare name for the account's own. */
import * as z from 'zod'
import type { World } from '../simulation/world.ts'

const NAME_PATTERN = '[A-Za-z0-9][A-Za-z0-9._-]*'

export const ModelName = z.string().regex(new RegExp(`^(?:${NAME_PATTERN}/)?${NAME_PATTERN}$`))
export const BareName = z.string().regex(new RegExp(`^${NAME_PATTERN}$`))

/** The full name: a bare one means the account's own. */
export function qualifyModelName(world: World, name: string): string {
  return name.includes('/') ? name : `${world.store.account.display_name}/${name}`
}

/** Whether a full name has another owner than the account. */
export function isForeignModelName(world: World, name: string): boolean {
  return !name.startsWith(`${world.store.account.display_name}/`)
}
