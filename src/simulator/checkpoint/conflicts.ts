/** Checks the options of a simulator that continues a snapshot. The snapshot brings most of them. */
import { loadProfile, withWeather } from '../../data/profiles/load.ts'
import { groupBy } from '../../lib/lists.ts'
import { plural } from '../../lib/text/numbers.ts'
import { readEpoch, readSeed } from '../option-checks.ts'
import type { SimulatorOptions } from '../options.ts'
import { SnapshotError } from './envelope.ts'
import type { Snapshot } from './snapshot.ts'

/** The options that a snapshot never has beside it, each with its name in errors and the reason. */
const LEFT_OUT = {
  with: ["'with'", 'records cannot be added beside a snapshot'],
  fill: ["'fill'", 'records cannot be added beside a snapshot'],
  faults: ['the faults', 'a snapshot brings its own rules of faults; others are added by faults.add()'],
  answers: ['the answers', 'a snapshot brings the answers that are scripted; others are added by inference.add()'],
} as const satisfies { readonly [Name in keyof SimulatorOptions]?: readonly [name: string, reason: string] }

/** @throws SnapshotError for records of own endpoints if the options have no endpoints */
export function assertEndpoints({ state: { world } }: Snapshot, { endpoints }: SimulatorOptions): void {
  const tables = groupBy(world.ownRecords.entries(), ([, { kind }]) => kind)
  if (endpoints !== undefined || tables.size === 0) return
  const counts = [...tables].map(([kind, rows]) => `${plural(rows.length, 'record')} of the table '${kind}'`)
  throw new SnapshotError(
    `Failed to continue the snapshot: it has ${counts.join(' and ')} of own endpoints, which are missing here. ` +
      'Give the same endpoints, as the option endpoints or in the configuration file.',
  )
}

/** @throws SnapshotError for an option that differs from the snapshot */
export function assertCompatible({ seed, epoch, state: { world } }: Snapshot, options: SimulatorOptions): void {
  const refuse = (option: string, reason: string): never => {
    throw new SnapshotError(`Failed to make a simulator: ${reason}. Leave ${option} out.`)
  }
  const given = options.seed === undefined ? seed : String(readSeed(options.seed))
  if (given !== seed) refuse('the seed', `the snapshot has the seed '${seed}', and the option is '${given}'`)
  const epochMs = options.epoch === undefined ? world.clock.epochMs : readEpoch(options.epoch)
  if (epochMs !== world.clock.epochMs) {
    refuse('the epoch', `the snapshot has the epoch ${epoch}, and the option is ${new Date(epochMs).toISOString()}`)
  }
  const isProfileGiven = options.profile !== undefined || options.weather !== undefined
  const profile = isProfileGiven ? loadProfile(withWeather(options.profile, options.weather)) : world.profile
  if (profile !== world.profile && JSON.stringify(profile) !== JSON.stringify(world.profile)) {
    const other = profile.name !== world.profile.name ? `'${profile.name}'` : 'another of that name'
    refuse(
      'the profile and the weather',
      `the snapshot has its profile '${world.profile.name}' with its weather, and the option is ${other}`,
    )
  }
  for (const [name, [option, reason]] of Object.entries(LEFT_OUT)) {
    if (options[name as keyof typeof LEFT_OUT] !== undefined) refuse(option, reason)
  }
}
