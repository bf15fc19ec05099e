/** Snapshots: a simulator as it was at a moment, to come back to as often as one likes, here or elsewhere. */
import { readSnapshotFile, writeSnapshotFile } from '#snapshot-files'
import type { ScriptedState } from '../api/scripted.ts'
import { type ClockSetting, followsTimers } from '../clock/setting.ts'
import { KEPT_BY_FIELDS, KEPT_IN_PARTS } from '../cluster/kept-classes.ts'
import { World, type WorldRecord } from '../cluster/world.ts'
import { VERSION } from '../control/version.ts'
import type { FaultsState } from '../faults/faults.ts'
import type { FaultyWorld } from '../faults/kind.ts'
import type { StartedTimelines } from '../timelines.ts'
import { open, type SnapshotAbout, SnapshotError, seal } from './envelope.ts'
import { decodeGraph, encodeGraph, type KeptClasses } from './graph.ts'

/** What a simulator is at a moment: its world, and what stands around it. */
export interface Moment<W = World> {
  /** What its world was made from, by name. */
  readonly fixtures: string
  /** Nobody moves it on. */
  readonly world: W
  readonly faults: Omit<FaultsState, 'past'> & {
    readonly past: readonly { readonly at: number; readonly world: W extends World ? FaultyWorld : W }[]
  }
  readonly answers: ScriptedState
  readonly timelines: StartedTimelines
  readonly clock: ClockSetting
  readonly pausedBy: readonly string[]
}

const CLASSES: KeptClasses = {
  ...Object.fromEntries(Object.entries(KEPT_BY_FIELDS).map(([name, of]) => [name, { of }])),
  ...(KEPT_IN_PARTS as unknown as KeptClasses),
}

/**
 * A simulator at a moment: its world with everything in it, the rules of faults and of answers and how far they have
 * come, the timelines that play, how its clock moves and who holds it. As in a fork the journal is empty, and the requests that
 * were received are not in it.
 *
 * It costs what a fork costs, as long as nobody asks for its bytes.
 *
 * @example
 * const before = sim.snapshot()
 * sim.cluster.nodeOf(deploy_id).crash()
 * sim.restore(before) // as often as you like
 */
export class Snapshot implements SnapshotAbout {
  readonly version: string = VERSION
  readonly fixtures: string
  readonly seed: string
  readonly profile: string
  readonly epoch: string
  readonly now: string
  readonly digest: string
  /** For doors of this package. */
  readonly moment: Moment

  constructor(moment: Moment) {
    const { world, fixtures } = moment
    this.moment = moment
    this.fixtures = fixtures
    this.seed = world.seed
    this.profile = world.profile.name
    this.epoch = new Date(world.clock.epochMs).toISOString()
    this.now = world.clock.iso()
    this.digest = world.digest
  }

  /**
   * Reads the bytes of a snapshot.
   *
   * @param what names it in errors
   * @throws SnapshotError for bytes that are none, are damaged, or come from another version
   */
  static from(bytes: Uint8Array, what = 'the snapshot'): Snapshot {
    const { about, content } = open(bytes, what)
    try {
      const kept = decodeGraph(content, CLASSES) as Moment<WorldRecord>
      if (kept.answers === undefined) throw new Error('it has no answers')
      const past = kept.faults.past.map(({ at, world }) => ({ at, world: World.revive(world) }))
      return new Snapshot({ ...kept, world: World.revive(kept.world), faults: { ...kept.faults, past } })
    } catch (error) {
      // Whole, and of this version: another build of it, or nobody's.
      throw new SnapshotError(
        `Failed to read ${what}: its content makes no world of modelhost-sim ${about.version} (${(error as Error).message}). ` +
          'Take another with this build.',
      )
    }
  }

  /** Another copy of the package makes snapshots of its own; as bytes they are everybody's. */
  static isOne(given: unknown): given is Snapshot {
    return given instanceof Snapshot || typeof (given as Snapshot | null | undefined)?.toBytes === 'function'
  }

  /**
   * A snapshot as `snapshot()` returned it, here or in another copy of the package, or as its bytes.
   *
   * @throws SnapshotError for anything else
   */
  static of(given: unknown): Snapshot {
    if (given instanceof Snapshot) return given
    if (given instanceof Uint8Array) return Snapshot.from(given)
    if (Snapshot.isOne(given)) return Snapshot.from(given.toBytes())
    throw new SnapshotError(
      `Failed to restore: ${given === null ? 'null' : typeof given} is no snapshot. Give what snapshot() returned, or the bytes of a file.`,
    )
  }

  /** For a server, which has no fake timers that a clock could follow: there time moves as `clock` says. */
  served(clock: ClockSetting): Snapshot {
    return followsTimers(this.moment.clock) ? new Snapshot({ ...this.moment, clock }) : this
  }

  /** Its bytes, checksummed, for a file or another process; `saveSnapshot` writes them so that no crash can spoil them. */
  toBytes(): Uint8Array {
    const { version, fixtures, seed, profile, epoch, now, digest, moment } = this
    const { world, faults, clock } = moment
    const kept: Moment<WorldRecord> = {
      ...moment,
      world: world.record(),
      faults: { ...faults, past: faults.past.map(({ at, world }) => ({ at, world: (world as World).record() })) },
      // A clock of this process can be followed nowhere else: there the fake timers are, if there are any.
      clock: typeof clock === 'object' && clock.mode === 'follow' ? 'follow' : clock,
    }
    return seal({ version, fixtures, seed, profile, epoch, now, digest }, encodeGraph(kept, CLASSES))
  }
}

/**
 * Writes a snapshot to a file, which a crash at any moment leaves as it was or has written whole. Only its owner may read
 * it: it holds the tokens of its world.
 *
 * @throws SnapshotError when it can not be written
 * @example saveSnapshot('before-the-storm.snapshot', sim.snapshot())
 */
export function saveSnapshot(path: string, snapshot: Snapshot): void {
  writeSnapshotFile(path, snapshot.toBytes())
}

/**
 * Reads a snapshot from a file, for `restore` or as `fixtures` of any number of simulators.
 *
 * @throws SnapshotError when there is none, it is damaged, or it comes from another version
 * @example createSimulator({ fixtures: loadSnapshot('before-the-storm.snapshot') })
 */
export function loadSnapshot(path: string): Snapshot {
  return Snapshot.from(readSnapshotFile(path), `the snapshot '${path}'`)
}
