/** Snapshots that worlds of the server keep, by name. */
import { refuse } from '../api/endpoint.ts'
import { nearest } from '../kernel/nearest.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { ServedWorld } from '../worlds.ts'

/** The snapshot of this name that a world keeps, or a 404 that names the nearest. */
export function keptIn({ name: world, snapshots }: ServedWorld, name: string): Snapshot {
  const kept = snapshots.get(name)
  if (kept !== undefined) return kept
  const meant = nearest(name, [...snapshots.keys()])
  const hint = meant ? `Did you mean '${meant}'?` : 'GET /_sim/snapshots lists those it keeps.'
  return refuse(
    404,
    `Failed to find the snapshot '${name.slice(0, 100)}': the world '${world}' keeps none of that name. ${hint}`,
  )
}
