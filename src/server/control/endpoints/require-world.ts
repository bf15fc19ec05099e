import { refuse } from '../../../service/refusals.ts'
import type { ServedWorld } from '../../worlds/served-world.ts'
import type { Worlds } from '../../worlds/worlds.ts'

/** Returns the world of a name. Refuses an unknown one with 404. */
export function requireWorld(worlds: Worlds, name: string): ServedWorld {
  return worlds.get(name) ?? refuse(404, `Failed to find the world: ${worlds.explainMissing(name)}.`)
}
