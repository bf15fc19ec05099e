/** Finds or makes the worlds, snapshots and pasts of requests, and refuses what is not there. */
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { refuse } from '../../../service/refusals.ts'
import type { Snapshot } from '../../../simulator/checkpoint/snapshot.ts'
import type { Past } from '../../../simulator/history/past/past.ts'
import type { Pasts } from '../../../simulator/history/past/pasts.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { ServedWorld } from '../../worlds/served-world.ts'
import type { WorldSpec, Worlds } from '../../worlds/worlds.ts'
import { refuseInvalid } from '../endpoint.ts'

/** Returns the world of a name. Refuses an unknown one with 404. */
export function requireWorld(worlds: Worlds, name: string): ServedWorld {
  return worlds.get(name) ?? refuse(404, `Failed to find the world: ${worlds.explainMissing(name)}.`)
}

/** Returns the snapshot of this name. An unknown name is refused with a 404 that suggests the nearest. */
export function requireSnapshot({ name: world, snapshots }: ServedWorld, name: string): Snapshot {
  const snapshot = snapshots.get(name)
  if (snapshot !== undefined) return snapshot
  const hint = formatSuggestion(name, snapshots.keys(), 'GET /_sim/snapshots lists its snapshots.')
  return refuse(404, `Failed to find the snapshot '${name.slice(0, 100)}': unknown in the world '${world}'. ${hint}`)
}

/**
 * Returns the past of a world. Refuses with 409 if it is not kept.
 *
 * @param purpose what needs it, as in `save a page`
 */
export function requirePast(pasts: Pasts, sim: Simulator, purpose: string): Past {
  return (
    pasts.of(sim) ??
    refuse(409, `Failed to ${purpose}: the past of this world is not kept. Send POST /_sim/past to it before.`)
  )
}

/**
 * Makes a world with a simulator that takes time to create. Refuses with 429 at the maximum number of worlds, before that
 * time too. The simulator of a refused world is disposed.
 */
export async function makeWorldWith(
  worlds: Worlds,
  create: () => Promise<Simulator>,
  spec: Pick<WorldSpec, 'alias' | 'from'> = {},
): Promise<ServedWorld> {
  await refuseInvalid(() => worlds.assertRoom())
  const sim = await create()
  try {
    return await refuseInvalid(() => worlds.make({ ...spec, sim }))
  } catch (error) {
    await sim[Symbol.asyncDispose]()
    throw error
  }
}
