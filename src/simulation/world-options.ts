import type { Profile } from '../data/profiles/load.ts'
import type { Fixture } from '../data/records/fixture.ts'
import * as fixtureRecords from '../data/records/fixture.ts'
import type { EventLimits } from '../kernel/loop.ts'
import { deepFreeze } from '../lib/fields.ts'
import type { LineAnswerer } from './batches/line-answering.ts'

/** The options of a new world. */
export interface WorldOptions {
  readonly fixture: Fixture
  readonly seed?: string | number
  /** Milliseconds since 1970 of the world's time zero. */
  readonly epochMs?: number
  /** Timings, prices, limits and policies of the provider. Default: `realistic`. */
  readonly profile?: Profile
  /** Maximum number of journal entries. */
  readonly journalLimit?: number
  /** Maximum bytes of files in the world. Default: `limits.storage_bytes` of the profile. */
  readonly maxStorageBytes?: number
  readonly bounds?: EventLimits
  /** Answers the lines of batches. */
  readonly lineAnswerer?: LineAnswerer
}

/** The options that a fork may have otherwise than its origin. */
export interface ForkOptions {
  /** Only for a fork of a world whose chance is not used. */
  readonly seed?: string | undefined
  readonly journalLimit?: number | undefined
  readonly maxStorageBytes?: number | undefined
}

/** A world in a snapshot: its options and its state. The state is shared with the world, not copied. */
export interface ArchivedWorld
  extends Required<Pick<WorldOptions, 'epochMs' | 'profile' | 'journalLimit' | 'maxStorageBytes' | 'bounds'>> {
  readonly seed: string
  readonly state: readonly unknown[]
}

/** Returns the fixture of a restored world until its store is restored. */
export function createPlaceholderFixture(): Fixture {
  const account = { uid: 'none', email: 'none', display_name: 'none', funds_cents: 0 }
  return deepFreeze({ ...fixtureRecords.Fixture.parse({ account }), models: [] })
}
