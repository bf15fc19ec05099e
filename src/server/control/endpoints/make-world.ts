import type { Simulator } from '../../../simulator/simulator.ts'
import type { ServedWorld } from '../../worlds/served-world.ts'
import type { WorldSpec, Worlds } from '../../worlds/worlds.ts'
import { refuseInvalid } from '../endpoint.ts'

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
