/** What a simulator is asked to be that begins with a snapshot, which settles most of it. */
import type { Profile } from '../store/profile.ts'
import { SnapshotError } from './envelope.ts'
import type { Snapshot } from './snapshot.ts'

/** What was asked for beside the snapshot; undefined where nothing was. */
export interface Asked {
  readonly seed: string | undefined
  readonly epochMs: number | undefined
  readonly profile: Profile | undefined
  readonly with: unknown
  readonly faults: unknown
  readonly answers: unknown
}

/** @throws SnapshotError where that is something else than the snapshot has */
export function demandFits(snapshot: Snapshot, asked: Asked): void {
  const { seed, epoch, moment } = snapshot
  const { world } = moment
  const refuse = (option: string, reason: string): never => {
    throw new SnapshotError(`Failed to make a simulator: ${reason}. Leave ${option} out.`)
  }
  if (asked.seed !== undefined && asked.seed !== seed) {
    refuse('the seed', `the snapshot has the seed '${seed}', and '${asked.seed}' is asked for`)
  }
  if (asked.epochMs !== undefined && asked.epochMs !== world.clock.epochMs) {
    refuse(
      'the epoch',
      `the snapshot has the epoch ${epoch}, and ${new Date(asked.epochMs).toISOString()} is asked for`,
    )
  }
  if (asked.profile !== undefined && JSON.stringify(asked.profile) !== JSON.stringify(world.profile)) {
    const differs = asked.profile.name !== world.profile.name ? `'${asked.profile.name}'` : 'another of that name'
    refuse(
      'the profile and the weather',
      `the snapshot has its profile '${world.profile.name}' with its weather, and ${differs} is asked for`,
    )
  }
  if (asked.with !== undefined) refuse("'with'", 'records can not be added beside a snapshot')
  if (asked.faults !== undefined) {
    refuse('the faults', 'a snapshot brings its own rules of faults; others are added by faults.add()')
  }
  if (asked.answers !== undefined) {
    refuse('the answers', 'a snapshot brings the answers that are scripted; others are added by inference.on()')
  }
}
