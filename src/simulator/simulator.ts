import * as bulkRecords from '../data/bulk-records.ts'
import { loadFixture } from '../data/fixtures/load.ts'
import { FixtureError, locateStartError } from '../data/fixtures/problem-report.ts'
import { loadProfile, withWeather } from '../data/profiles/load.ts'
import type { FixtureInput } from '../data/records/fixture.ts'
import { BatchLineAnswerer } from '../service/batch-line-answerer.ts'
import type { Names } from '../service/naming/names-profile.ts'
import * as namesProfiles from '../service/naming/names-profile.ts'
import { ScriptedAnswers } from '../service/openai/scripted-answers.ts'
import * as invariants from '../simulation/invariants/checker.ts'
import type { World } from '../simulation/world.ts'
import * as conflicts from './checkpoint/conflicts.ts'
import { loadSnapshot, Snapshot } from './checkpoint/snapshot.ts'
import { type InitialWorldOptions, shareInitialWorld } from './initial-worlds.ts'
import { readEpoch, readSeed } from './option-checks.ts'
import { assertOptions } from './option-fields.ts'
import { isSnapshotFixture, type SimulatorOptions } from './options.ts'
import type { Simulator } from './simulator-interface.ts'
import { WorldSimulator } from './world-simulator.ts'

export type { IncomingRequest as FetchOptions } from '../service/http/incoming-request.ts'
export type { PendingRequest } from './clock/pending-requests.ts'
export type { ForkOptions, SimulatorOptions } from './options.ts'
export type { Simulator } from './simulator-interface.ts'

/**
 * Creates a simulator. It opens no port and starts no timer.
 *
 * @throws FixtureError for an invalid fixture, SnapshotError for a snapshot that cannot be read or that an option
 *   contradicts, RangeError for an invalid option, name or fault rule
 */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  assertOptions(options)
  const { fixtures = 'default', strictRequests = false } = options
  if (isSnapshotFixture(fixtures)) {
    return createFromSnapshot(
      typeof fixtures === 'string' ? loadSnapshot(fixtures) : Snapshot.toSnapshot(fixtures),
      options,
    )
  }
  const epochMs = readEpoch(options.epoch)
  const seed = readSeed(options.seed ?? 1)
  const loaded = loadFixture(fixtures, {
    epochMs,
    ...(options.with && { patch: options.with }),
  })
  const fixture = options.fill ? bulkRecords.fillFixture(loaded, options.fill, { seed, epochMs }) : loaded
  const sharedWorld = startWorld(options, {
    fixture,
    epochMs,
    seed,
    profile: loadProfile(withWeather(options.profile, options.weather)),
    strictRequests,
    lineAnswerer: new BatchLineAnswerer(new ScriptedAnswers(), strictRequests),
    ...(options.journalLimit !== undefined && { journalLimit: options.journalLimit }),
    ...(options.maxStorageBytes !== undefined && { maxStorageBytes: options.maxStorageBytes }),
  })
  if (!options.check) return new WorldSimulator(sharedWorld, options, readNamesOption(options))
  const initialWorld = sharedWorld.fork()
  invariants.checkInvariants(initialWorld)
  return new WorldSimulator(initialWorld, options, readNamesOption(options))
}

/** @throws FixtureError with the place of each record that cannot start, as the user wrote it */
function startWorld(
  { fixtures = 'default', with: patch, epoch }: SimulatorOptions,
  options: InitialWorldOptions,
): World {
  try {
    return shareInitialWorld(options)
  } catch (error) {
    if (!(error instanceof FixtureError)) throw error
    const source = fixtures as string | FixtureInput
    const base = patch === undefined ? undefined : loadFixture(source, { epochMs: readEpoch(epoch) })
    throw locateStartError(error, source, base)
  }
}

/** Creates a simulator that continues from a snapshot. Options that no snapshot brings are those given here. */
function createFromSnapshot(snapshot: Snapshot, options: SimulatorOptions): Simulator {
  const { fixtures, world, faults, answers, timelines, clock, pausedBy } = snapshot.state
  conflicts.assertCompatible(snapshot, options)
  conflicts.assertEndpoints(snapshot, options)
  const { journalLimit, maxStorageBytes } = options
  const initialWorld = world.fork({ journalLimit, maxStorageBytes })
  if (options.check) invariants.checkInvariants(initialWorld)
  const setting = options.clock ?? clock
  const sim = new WorldSimulator(initialWorld, { ...options, clock: setting }, readNamesOption(options), {
    fixtures,
    faults,
    answers,
    timelines,
  })
  sim.clock.restore(setting, pausedBy)
  sim.webhooks.watch()
  return sim
}

function readNamesOption({ names }: SimulatorOptions): Names | undefined {
  return names === undefined ? undefined : namesProfiles.readNames(names)
}
