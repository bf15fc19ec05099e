/** Checks the options of a simulator that begins with a snapshot. The snapshot brings most of them. */
import type { Profile } from '../../data/profiles/load.ts'
import { SnapshotError } from './envelope.ts'
import type { Snapshot } from './snapshot.ts'

/** The options given in addition to the snapshot; undefined if missing. */
export interface SnapshotOptions {
  readonly seed: string | undefined
  readonly epochMs: number | undefined
  readonly profile: Profile | undefined
  readonly with: unknown
  readonly fill: unknown
  readonly faults: unknown
  readonly answers: unknown
}

/** @throws SnapshotError for an option that differs from the snapshot */
export function assertCompatible(snapshot: Snapshot, options: SnapshotOptions): void {
  const { seed, epoch, state: moment } = snapshot
  const { world } = moment
  const refuse = (option: string, reason: string): never => {
    throw new SnapshotError(`Failed to make a simulator: ${reason}. Leave ${option} out.`)
  }
  if (options.seed !== undefined && options.seed !== seed) {
    refuse('the seed', `the snapshot has the seed '${seed}', and the option is '${options.seed}'`)
  }
  if (options.epochMs !== undefined && options.epochMs !== world.clock.epochMs) {
    refuse(
      'the epoch',
      `the snapshot has the epoch ${epoch}, and the option is ${new Date(options.epochMs).toISOString()}`,
    )
  }
  if (options.profile !== undefined && JSON.stringify(options.profile) !== JSON.stringify(world.profile)) {
    const other = options.profile.name !== world.profile.name ? `'${options.profile.name}'` : 'another of that name'
    refuse(
      'the profile and the weather',
      `the snapshot has its profile '${world.profile.name}' with its weather, and the option is ${other}`,
    )
  }
  if (options.with !== undefined) refuse("'with'", 'records cannot be added beside a snapshot')
  if (options.fill !== undefined) refuse("'fill'", 'records cannot be added beside a snapshot')
  if (options.faults !== undefined) {
    refuse('the faults', 'a snapshot brings its own rules of faults; others are added by faults.add()')
  }
  if (options.answers !== undefined) {
    refuse('the answers', 'a snapshot brings the answers that are scripted; others are added by inference.add()')
  }
}
