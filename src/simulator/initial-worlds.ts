/**
 * The worlds that simulators of this process begin with. Simulators with equal options share one, which never changes:
 * each continues in a fork of it.
 */
import type { Profile } from '../data/profiles/load.ts'
import type { Fixture } from '../data/records/fixture.ts'
import { World } from '../simulation/world.ts'
import type { WorldOptions } from '../simulation/world-options.ts'

/** What decides how a world begins, beside its fixture. */
export interface InitialWorldOptions extends WorldOptions {
  readonly seed: string | number
  readonly epochMs: number
  readonly profile: Profile
  /** Whether unknown fields of batch lines are refused. */
  readonly strictRequests: boolean
}

interface SharedWorld {
  readonly options: InitialWorldOptions
  /** The world, as long as a simulator of it is in use. */
  readonly world: WeakRef<World>
}

/** Worlds of one fixture that are kept in mind. Each further one replaces the oldest. */
const MAX_WORLDS = 8

const sharedWorlds = new WeakMap<Fixture, SharedWorld[]>()

const DECISIVE = ['seed', 'epochMs', 'profile', 'journalLimit', 'maxStorageBytes', 'strictRequests'] as const

/**
 * Returns the world of these options at its time zero. It is shared: do not change it, but a fork of it.
 *
 * @throws FixtureError if a record of the fixture cannot start
 */
export function shareInitialWorld(options: InitialWorldOptions): World {
  const { fixture } = options
  const known = sharedWorlds.get(fixture) ?? []
  const equal = known.find(shared => DECISIVE.every(name => shared.options[name] === options[name]))?.world.deref()
  if (equal) return equal
  const world = new World(options)
  const shared = known.filter(each => each.world.deref() !== undefined).slice(1 - MAX_WORLDS)
  sharedWorlds.set(fixture, [...shared, { options, world: new WeakRef(world) }])
  return world
}
