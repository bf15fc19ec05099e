/** Snapshots: a simulator as it was at a moment, to come back to as often as one likes, here or elsewhere. */
import { readSnapshotFile, writeSnapshotFile } from '#snapshot-files'
import { type ClockSetting, followsFakeTimers } from '../../clock/settings.ts'
import type { FaultsState } from '../../faults/faults.ts'
import type { FaultWorld } from '../../faults/kinds/kind.ts'
import type { ScriptedState } from '../../service/openai/scripted-answers.ts'
import { CLASSES_ARCHIVED_BY_FIELDS, CLASSES_ARCHIVED_BY_PARTS } from '../../simulation/archived-classes.ts'
import { type ArchivedWorld, World } from '../../simulation/world.ts'
import { VERSION } from '../../version.ts'
import type { StartedTimelines } from '../timelines.ts'
import { decodeGraph, encodeGraph, type SerializableClasses } from './codec/graph.ts'
import { readEnvelope, SnapshotError, type SnapshotInfo, writeEnvelope } from './envelope.ts'

/** What a simulator is at a moment: its world, and what stands around it. */
export interface SimulatorState<W = World> {
  /** What its world was made from, by name. */
  readonly fixtures: string
  /** Nobody moves it on. */
  readonly world: W
  readonly faults: Omit<FaultsState, 'past'> & {
    readonly past: readonly { readonly at: number; readonly world: W extends World ? FaultWorld : W }[]
  }
  readonly answers: ScriptedState
  readonly timelines: StartedTimelines
  readonly clock: ClockSetting
  readonly pausedBy: readonly string[]
}

const SERIALIZABLE_CLASSES: SerializableClasses = {
  ...Object.fromEntries(Object.entries(CLASSES_ARCHIVED_BY_FIELDS).map(([name, of]) => [name, { of }])),
  ...(CLASSES_ARCHIVED_BY_PARTS as unknown as SerializableClasses),
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
export class Snapshot implements SnapshotInfo {
  readonly version: string = VERSION
  readonly fixtures: string
  readonly seed: string
  readonly profile: string
  readonly epoch: string
  readonly now: string
  readonly digest: string
  /** For doors of this package. */
  readonly state: SimulatorState

  constructor(moment: SimulatorState) {
    const { world, fixtures } = moment
    this.state = moment
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
    const { about, content } = readEnvelope(bytes, what)
    try {
      const decoded = decodeGraph(content, SERIALIZABLE_CLASSES) as SimulatorState<ArchivedWorld>
      if (decoded.answers === undefined) throw new Error('it has no answers')
      const past = decoded.faults.past.map(({ at, world }) => ({ at, world: World.fromArchive(world) }))
      return new Snapshot({ ...decoded, world: World.fromArchive(decoded.world), faults: { ...decoded.faults, past } })
    } catch (error) {
      // Whole, and of this version: another build of it, or nobody's.
      throw new SnapshotError(
        `Failed to read ${what}: its content makes no world of modelhost-sim ${about.version} (${(error as Error).message}). ` +
          'Take another with this build.',
      )
    }
  }

  /** Another copy of the package makes snapshots of its own; as bytes they are everybody's. */
  static isSnapshot(value: unknown): value is Snapshot {
    return value instanceof Snapshot || typeof (value as Snapshot | null | undefined)?.toBytes === 'function'
  }

  /**
   * A snapshot as `snapshot()` returned it, here or in another copy of the package, or as its bytes.
   *
   * @throws SnapshotError for anything else
   */
  static toSnapshot(value: unknown): Snapshot {
    if (value instanceof Snapshot) return value
    if (value instanceof Uint8Array) return Snapshot.from(value)
    if (Snapshot.isSnapshot(value)) return Snapshot.from(value.toBytes())
    throw new SnapshotError(
      `Failed to restore: ${value === null ? 'null' : typeof value} is no snapshot. Give what snapshot() returned, or the bytes of a file.`,
    )
  }

  /** For a server, which has no fake timers that a clock could follow: there time moves as `clock` says. */
  forServer(clock: ClockSetting): Snapshot {
    return followsFakeTimers(this.state.clock) ? new Snapshot({ ...this.state, clock }) : this
  }

  /** Its bytes, checksummed, for a file or another process; `saveSnapshot` writes them so that no crash can spoil them. */
  toBytes(): Uint8Array {
    const { version, fixtures, seed, profile, epoch, now, digest, state: moment } = this
    const { world, faults, clock } = moment
    const serializable: SimulatorState<ArchivedWorld> = {
      ...moment,
      world: world.toArchive(),
      faults: { ...faults, past: faults.past.map(({ at, world }) => ({ at, world: (world as World).toArchive() })) },
      // A clock of this process can be followed nowhere else: there the fake timers are, if there are any.
      clock: typeof clock === 'object' && clock.mode === 'follow' ? 'follow' : clock,
    }
    return writeEnvelope(
      { version, fixtures, seed, profile, epoch, now, digest },
      encodeGraph(serializable, SERIALIZABLE_CLASSES),
    )
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
