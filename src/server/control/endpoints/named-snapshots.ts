/** The named snapshots of the worlds of a server. */

import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { refuse } from '../../../service/refusals.ts'
import type { Snapshot } from '../../../simulator/checkpoint/snapshot.ts'
import type { ServedWorld } from '../../worlds/served-world.ts'

/** Returns the snapshot of this name. An unknown name is refused with a 404 that suggests the nearest. */
export function requireSnapshot({ name: world, snapshots }: ServedWorld, name: string): Snapshot {
  const snapshot = snapshots.get(name)
  if (snapshot !== undefined) return snapshot
  const hint = formatSuggestion(name, snapshots.keys(), 'GET /_sim/snapshots lists its snapshots.')
  return refuse(404, `Failed to find the snapshot '${name.slice(0, 100)}': unknown in the world '${world}'. ${hint}`)
}
