/** Snapshots: the state of a simulator at a time, which any simulator can restore any number of times. */
import { readSnapshotFile, writeSnapshotFile } from '#snapshot-files'
import { VERSION } from '../../lib/version.ts'
import type { ScriptedState } from '../../service/openai/scripted-answers.ts'
import { World } from '../../simulation/world.ts'
import type { ArchivedWorld } from '../../simulation/world-options.ts'
import { type ClockSetting, followsFakeTimers } from '../clock/settings.ts'
import type { FaultsState } from '../faults/faults-state.ts'
import type { StartedTimelines } from '../timelines.ts'
import { readEnvelope, SnapshotError, type SnapshotInfo, writeEnvelope } from './envelope.ts'
import * as stateBytes from './state-bytes.ts'

/** The state of a simulator: its world and the parts around it. */
export interface SimulatorState<W = World> {
  /** The name of the fixture. */
  readonly fixtures: string
  /** A world whose time does not move. */
  readonly world: W
  readonly faults: Omit<FaultsState, 'past'> & {
    readonly past: readonly { readonly at: number; readonly world: W }[]
  }
  readonly answers: ScriptedState
  readonly timelines: StartedTimelines
  readonly clock: ClockSetting
  readonly pausedBy: readonly string[]
}

/**
 * The state of a simulator: its world, its fault rules and scripted answers with their counts, its timelines, and its clock
 * with its holds. As in a fork, the journal is empty and the received requests are missing.
 *
 * It costs as much as a fork, until a call of `toBytes()`.
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
  /** @internal */
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
   * @throws SnapshotError for bytes that are not a snapshot, are damaged, or have another version
   */
  static from(bytes: Uint8Array, what = 'the snapshot'): Snapshot {
    const { about, content } = readEnvelope(bytes, what)
    try {
      const decoded = stateBytes.decodeState(content) as SimulatorState<ArchivedWorld>
      if (decoded.answers === undefined) throw new Error('it has no answers')
      const past = decoded.faults.past.map(({ at, world }) => ({ at, world: World.fromArchive(world) }))
      return new Snapshot({ ...decoded, world: World.fromArchive(decoded.world), faults: { ...decoded.faults, past } })
    } catch (error) {
      // The checksum and the version are right, so another build wrote it.
      throw new SnapshotError(
        `Failed to read ${what}: its content makes no world of modelhost-sim ${about.version} (${(error as Error).message}). ` +
          'Take another with this build.',
      )
    }
  }

  /** Returns whether a value is a snapshot, of this or of another copy of the package. */
  static isSnapshot(value: unknown): value is Snapshot {
    return value instanceof Snapshot || typeof (value as Snapshot | null | undefined)?.toBytes === 'function'
  }

  /**
   * Returns the snapshot of a value: a snapshot of this or of another copy of the package, or bytes.
   *
   * @throws SnapshotError for anything else
   */
  static toSnapshot(value: unknown): Snapshot {
    if (value instanceof Snapshot) return value
    if (value instanceof Uint8Array) return Snapshot.from(value)
    if (Snapshot.isSnapshot(value)) return Snapshot.from(value.toBytes())
    throw new SnapshotError(
      `Failed to restore: ${value === null ? 'null' : typeof value} is not a snapshot. Give what snapshot() returned, or the bytes of a file.`,
    )
  }

  /** Returns the snapshot for a server, which has no fake timers. If the snapshot follows them, its clock becomes `clock`. */
  forServer(clock: ClockSetting): Snapshot {
    return followsFakeTimers(this.state.clock) ? new Snapshot({ ...this.state, clock }) : this
  }

  /** Returns the snapshot as bytes with a checksum, for a file or another process. `saveSnapshot` writes them safely. */
  toBytes(): Uint8Array {
    const { version, fixtures, seed, profile, epoch, now, digest, state: moment } = this
    const { world, faults, clock } = moment
    const serializable: SimulatorState<ArchivedWorld> = {
      ...moment,
      world: world.toArchive(),
      faults: { ...faults, past: faults.past.map(({ at, world }) => ({ at, world: (world as World).toArchive() })) },
      // Another process cannot follow a clock of this one; it follows its own fake timers.
      clock: typeof clock === 'object' && clock.mode === 'follow' ? 'follow' : clock,
    }
    return writeEnvelope(
      { version, fixtures, seed, profile, epoch, now, digest },
      stateBytes.encodeState(serializable, faults.past.length > 0),
    )
  }
}

/**
 * Writes a snapshot to a file atomically: a crash leaves the old file or the new one. Only its owner can read it, because
 * it has the tokens of its world.
 *
 * @throws SnapshotError if the file cannot be written
 * @example saveSnapshot('before-the-storm.snapshot', sim.snapshot())
 */
export function saveSnapshot(path: string, snapshot: Snapshot): void {
  writeSnapshotFile(path, snapshot.toBytes())
}

/**
 * Reads a snapshot from a file, for `restore` or as `fixtures` of any number of simulators.
 *
 * @throws SnapshotError if the file is missing, damaged, or of another version
 * @example createSimulator({ fixtures: loadSnapshot('before-the-storm.snapshot') })
 */
export function loadSnapshot(path: string): Snapshot {
  return Snapshot.from(readSnapshotFile(path), `the snapshot '${path}'`)
}
