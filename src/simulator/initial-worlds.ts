/**
 * The worlds that simulators of this process begin with. Simulators with equal options share one, which never changes:
 * each continues in a fork of it. If the start of a world drew nothing, simulators with other seeds share it too.
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
  /** Whether this world is the same with any seed, because its start drew nothing. */
  readonly isForAnySeed: boolean
  /** The world, as long as the memory has not been needed otherwise. */
  readonly world: WeakRef<World>
}

/** Worlds of one fixture that are kept in mind. Each further one replaces the oldest. */
const MAX_WORLDS = 8

const sharedWorlds = new WeakMap<Fixture, SharedWorld[]>()

const DECISIVE = ['epochMs', 'profile', 'journalLimit', 'maxStorageBytes', 'strictRequests'] as const

/**
 * Returns the world of these options at its time zero. It is shared: do not change it, but a fork of it.
 *
 * @throws FixtureError if a record of the fixture cannot start
 */
export function shareInitialWorld(options: InitialWorldOptions): World {
  const { fixture } = options
  const seed = String(options.seed)
  const known = sharedWorlds.get(fixture) ?? []
  const similar = known.find(shared => isSimilar(shared, options))?.world.deref()
  if (similar) return similar.seed === seed ? similar : similar.fork({ seed })
  const world = new World(options)
  const shared = { options, isForAnySeed: !world.chance.isUsed, world: new WeakRef(world) }
  sharedWorlds.set(fixture, [...known.filter(each => each.world.deref() !== undefined).slice(1 - MAX_WORLDS), shared])
  return world
}

function isSimilar({ options: known, isForAnySeed }: SharedWorld, options: InitialWorldOptions): boolean {
  return (isForAnySeed || known.seed === options.seed) && DECISIVE.every(name => known[name] === options[name])
}
