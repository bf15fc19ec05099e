/** Makes worlds of a server for a request. What is wrong with the request becomes a refusal. */

import { refuse } from '../../service/refusals.ts'
import type { ServedWorld } from '../../simulator/served-world.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { TooManyWorlds, type WorldSpec, type Worlds } from '../../simulator/worlds.ts'

/** Makes a world. Refuses with 429 at the maximum number of worlds, and with 400 for an invalid option. */
export function makeWorld(worlds: Worlds, spec: WorldSpec): ServedWorld {
  return translateErrors(() => worlds.make(spec))
}

/**
 * Makes a world with a simulator that takes time to create. Refuses as `makeWorld` does, at the maximum number of worlds
 * before that time. The simulator of a refused world is disposed.
 */
export async function makeWorldWith(
  worlds: Worlds,
  create: () => Promise<Simulator>,
  spec: Pick<WorldSpec, 'alias' | 'from'> = {},
): Promise<ServedWorld> {
  translateErrors(() => worlds.assertRoom())
  const sim = await create()
  try {
    return makeWorld(worlds, { ...spec, sim })
  } catch (error) {
    await sim[Symbol.asyncDispose]()
    throw error
  }
}

function translateErrors<Result>(make: () => Result): Result {
  try {
    return make()
  } catch (error) {
    if (error instanceof TooManyWorlds) refuse(429, error.message)
    const { name, message } = error as Error
    // These are errors about the request; anything else is a bug.
    if (name === 'FixtureError' || name === 'ProfileError' || error instanceof RangeError) refuse(400, message)
    throw error
  }
}
