/** Snapshots that worlds of the server keep, by name. */

import { formatSuggestion } from '../lib/did-you-mean.ts'
import { refuse } from '../service/endpoint.ts'
import type { Snapshot } from '../simulator/snapshot/snapshot.ts'
import type { ServedWorld } from '../simulator/worlds.ts'

/** The snapshot of this name that a world keeps, or a 404 that names the nearest. */
export function requireSnapshot({ name: world, snapshots }: ServedWorld, name: string): Snapshot {
  const snapshot = snapshots.get(name)
  if (snapshot !== undefined) return snapshot
  const hint = formatSuggestion(name, snapshots.keys(), 'GET /_sim/snapshots lists those it keeps.')
  return refuse(
    404,
    `Failed to find the snapshot '${name.slice(0, 100)}': the world '${world}' keeps none of that name. ${hint}`,
  )
}
