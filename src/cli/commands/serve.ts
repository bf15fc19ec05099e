import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Argv } from 'yargs'
import { DEFAULT_IDLE_MS, DEFAULT_SPEED, followsFakeTimers } from '../../clock/settings.ts'
import { isLoopback } from '../../control/guards.ts'
import { loadFixture } from '../../data/fixtures/load.ts'
import type { FixtureInput } from '../../data/records/records.ts'
import { FaultError, type FaultRule } from '../../faults/rules.ts'
import { DEFAULT_EPOCH_MS } from '../../kernel/clock.ts'
import { monotonicMs, wallMs } from '../../lib/real-time.ts'
import { ScenarioLibrary } from '../../scenario/runner/library.ts'
import { bundledScenariosFolder } from '../../scenario/runner/shipped.ts'
import { readNames } from '../../service/naming/names-profile.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../simulator/simulator.ts'
import { SNAPSHOT_ENDING } from '../../simulator/snapshot/file-ending.ts'
import { MAX_WORLDS } from '../../simulator/worlds.ts'
import { DEFAULT_HOST, DEFAULT_PORT, type Latency, type Server, serve } from '../../transports/http/server.ts'
import { banner } from '../banner.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { onSignals } from '../signals.ts'
import {
  byteCount,
  duration,
  flag,
  integer,
  positive,
  requireKnownVariables,
  secret,
  seed,
  text,
  texts,
  toggle,
  word,
} from '../values.ts'

/** A server has no clock to follow: its clients wait in processes of their own. */
const SERVED_MODES = ['manual', 'scaled', 'on-poll', 'idle'] as const

interface Arguments {
  port: number
  host: string
  fixtures: string
  profile: string | undefined
  weather: string | undefined
  seed: string | undefined
  clock: (typeof SERVED_MODES)[number] | undefined
  speed: number | undefined
  pollStep: number | undefined
  idleAfter: number | undefined
  latency: Latency | undefined
  scenarios: string | undefined
  faults: string | undefined
  epoch: string | undefined
  models: number | undefined
  deployments: number | undefined
  names: string | undefined
  documentedOnly: boolean
  strictRequests: boolean
  maxStorage: number | undefined
  journalLimit: number | undefined
  maxWorlds: number | undefined
  worldIdle: number | undefined
  unknownTokens: 'refuse' | 'fork'
  check: boolean
  trustProxy: boolean
  allowHost: string[]
  controlToken: string | undefined
}

export const command = ['serve', '$0']
export const describe = 'Serve a simulated world over HTTP'

export function builder(argv: Argv): Argv<Arguments> {
  const options = flags()
  return (
    argv
      .options(options)
      // Before the handler and after every other complaint about the command line.
      .middleware(() => requireKnownVariables(Object.keys(options)))
      .example('$0', `the default world at http://${DEFAULT_HOST}:${DEFAULT_PORT}, an hour a minute`)
      .example('$0 --clock manual', 'time moves only by POST /_sim/clock/advance')
      .example('$0 --weather launch-day', 'GPUs are short, and one request in ten is answered 429')
      .example('$0 --fixtures empty --seed 7 --port 0', 'an empty world on a free port')
      .epilogue(
        `Every flag can be given as MODELHOST_SIM_FLAG_NAME too; a flag wins.\n${EXIT_CODES}`,
      ) as unknown as Argv<Arguments>
  )
}

/** The flags of `serve`; each can be given in the environment, too. */
function flags() {
  return {
    port: {
      ...flag('port', 'Port to listen on; 0 takes a free one', String(DEFAULT_PORT)),
      coerce: integer('port', { min: 0, max: 65_535 }, DEFAULT_PORT),
    },
    host: {
      ...flag('host', 'Address to listen on; beyond loopback a control token is asked for', DEFAULT_HOST),
      coerce: text('host'),
    },
    fixtures: {
      ...flag(
        'fixtures',
        'World to start from: default, empty, fleet, full, two-nodes, a folder, or the .snapshot of one',
        'default',
      ),
      coerce: text('fixtures'),
    },
    profile: {
      ...flag('profile', 'How the provider behaves: realistic (unless given), quick, rough, or a file'),
      coerce: text('profile'),
    },
    weather: {
      ...flag(
        'weather',
        'What goes wrong by itself, in the world and on the wire: calm, office-day, launch-day, bad-week, provider-incident, payment-trouble, realistic, rough, none; as the profile says unless given',
      ),
      coerce: text('weather'),
    },
    seed: { ...flag('seed', 'Equal seeds and requests give equal worlds; 1 unless given'), coerce: seed('seed') },
    clock: {
      ...flag(
        'clock',
        'How time moves: scaled (with the wall, times the speed; unless given), manual, on-poll (with each look at something unfinished) or idle (to the next piece of work when nobody asks)',
      ),
      coerce: word('clock', SERVED_MODES),
    },
    speed: {
      ...flag('speed', `Simulated seconds in a second of a scaled clock; ${DEFAULT_SPEED} unless given`),
      coerce: positive('speed', 1e6, DEFAULT_SPEED),
    },
    'poll-step': {
      ...flag(
        'poll-step',
        'How far each look moves an on-poll clock, as in 5m; to the next visible change unless given',
      ),
      coerce: duration('poll-step', '5m'),
    },
    'idle-after': {
      ...flag(
        'idle-after',
        `Real milliseconds without a request after which an idle clock jumps; ${DEFAULT_IDLE_MS} unless given`,
      ),
      coerce: integer('idle-after', { min: 0, max: 3_600_000 }, DEFAULT_IDLE_MS),
    },
    latency: {
      ...flag('latency', 'How long a delayed answer takes: real, scaled or instant; unless given, as the clock moves'),
      coerce: word('latency', ['real', 'scaled', 'instant']),
    },
    scenarios: {
      ...flag(
        'scenarios',
        'Folder of scenarios in YAML and JSON for POST /_sim/scenarios/{name}/start; ./scenarios unless given, and those of the package',
      ),
      coerce: text('scenarios'),
    },
    faults: {
      ...flag('faults', 'File with rules of faults of the wire, a JSON array'),
      coerce: text('faults'),
    },
    epoch: {
      ...flag('epoch', "The world's time zero: ISO 8601 with offset, or now; 2026-01-01T00:00:00Z unless given"),
      coerce: text('epoch'),
    },
    models: {
      ...flag('models', 'Fill the catalog up to so many models'),
      coerce: integer('models', { min: 0, max: 100_000 }, 1_000),
    },
    deployments: {
      ...flag('deployments', 'Fill the world up to so many deployments'),
      coerce: integer('deployments', { min: 0, max: 100_000 }, 1_000),
    },
    names: {
      ...flag('names', "File with the words of your provider for the interface's neutral ones, a JSON object"),
      coerce: text('names'),
    },
    'strict-requests': toggle(
      'strict-requests',
      'Answer 422 to fields of a body that no declaration names; GET /_sim/unread lists what clients send that nothing reads',
    ),
    'documented-only': toggle('documented-only', "Serve the interface document's own endpoints alone"),
    'max-storage': {
      ...flag(
        'max-storage',
        'Bytes of files that the world holds at most, as in 512MiB; by the profile unless given, 1GiB',
      ),
      coerce: byteCount('max-storage'),
    },
    'journal-limit': {
      ...flag('journal-limit', 'Entries that the journal keeps; 20000 unless given'),
      coerce: integer('journal-limit', { min: 1, max: 10_000_000 }, 20_000),
    },
    'max-worlds': {
      ...flag('max-worlds', `Worlds that it holds beside its own; ${MAX_WORLDS} unless given`),
      coerce: integer('max-worlds', { min: 0, max: 100_000 }, MAX_WORLDS),
    },
    'world-idle': {
      ...flag('world-idle', 'Real time that nobody uses a world until it goes; 1h unless given'),
      coerce: duration('world-idle', '30m'),
    },
    'unknown-tokens': {
      ...flag(
        'unknown-tokens',
        'What a token leads to that no world knows: refuse, or fork a world of its own',
        'refuse',
      ),
      coerce: word('unknown-tokens', ['refuse', 'fork']),
    },
    check: toggle('check', 'Hold the world to its laws after every event; a breach answers 500 and is told on stderr'),
    'trust-proxy': toggle('trust-proxy', "Take the caller's address from X-Forwarded-For"),
    'allow-host': {
      ...flag('allow-host', 'A further host name to answer to; may be given more than once'),
      coerce: texts,
    },
    'control-token': {
      ...flag('control-token', 'Token of the control plane beyond loopback; drawn unless given'),
      coerce: secret('control-token'),
    },
  }
}

export async function handler(argv: Arguments): Promise<void> {
  const sim = await createServedSimulator(argv)
  const isPublic = !isLoopback(argv.host)
  // The one thing that is not drawn from the seed: whoever knows the seed must not know this.
  const controlToken = isPublic ? (argv.controlToken ?? randomBytes(18).toString('base64url')) : undefined
  if (!isPublic && argv.controlToken !== undefined) {
    process.stderr.write(
      `--control-token is not asked for on ${argv.host}, which only this machine reaches; it is beyond, with --host 0.0.0.0.\n`,
    )
  }
  const server = await serve(sim, {
    port: argv.port,
    hostname: argv.host,
    unknownTokens: argv.unknownTokens,
    ...(argv.maxWorlds !== undefined && { maxWorlds: argv.maxWorlds }),
    ...(argv.worldIdle !== undefined && { worldIdleMs: argv.worldIdle / 1000 }),
    scenarios: new ScenarioLibrary(scenarioFolders(argv.scenarios)),
    trustProxy: argv.trustProxy,
    allowHosts: argv.allowHost,
    ownProcess: true,
    ...(argv.latency !== undefined && { latency: argv.latency }),
    ...(controlToken !== undefined && { controlToken }),
  })
  // In the tick in which the server began to listen, so before it can answer anybody.
  process.stdout.write(
    banner(sim, {
      url: server.url,
      fixtures: argv.fixtures,
      weather: argv.weather,
      isTerminal: process.stdout.isTTY === true && !process.env.NO_COLOR,
      startedMs: monotonicMs(),
      ...(controlToken !== undefined && { controlToken }),
    }),
  )
  closeOnSignals(server)
}

/** The user's folder first: its scenarios go before those of the package. */
function scenarioFolders(folder: string | undefined): string[] {
  if (folder !== undefined && !existsSync(folder)) {
    throw new UsageError(
      `Failed to read --scenarios '${folder}': there is no such folder. Give one that holds scenarios in YAML or JSON.`,
    )
  }
  return [resolve(folder ?? 'scenarios'), bundledScenariosFolder()].filter(existsSync)
}

async function createServedSimulator(argv: Arguments): Promise<Simulator> {
  // A snapshot brings its own along.
  const clock = argv.clock ?? (isSnapshotFile(argv.fixtures) ? undefined : 'scaled')
  for (const [name, given, mode] of [
    ['speed', argv.speed, 'scaled'],
    ['poll-step', argv.pollStep, 'on-poll'],
    ['idle-after', argv.idleAfter, 'idle'],
  ] as const) {
    if (given === undefined || clock === mode) continue
    throw new UsageError(
      `Failed to set the clock: --${name} is for the clock ${mode}. Leave it out, or --clock ${mode}.`,
    )
  }
  if (clock === 'manual' && argv.latency === 'scaled') {
    throw new UsageError(
      'Failed to set the latency: --latency scaled is for a scaled clock. Give --latency real, or --clock scaled.',
    )
  }
  const epoch = argv.epoch === 'now' ? new Date(wallMs()).toISOString() : argv.epoch
  const options: SimulatorOptions = {
    fixtures: await fillFixture(argv, epoch),
    ...(argv.profile !== undefined && { profile: argv.profile }),
    ...(argv.weather !== undefined && { weather: argv.weather }),
    ...(argv.seed !== undefined && { seed: argv.seed }),
    ...(clock !== undefined && {
      clock: {
        mode: clock,
        ...(argv.speed !== undefined && { speed: argv.speed }),
        ...(argv.pollStep !== undefined && { step: argv.pollStep / 1000 }),
        ...(argv.idleAfter !== undefined && { after: argv.idleAfter }),
      },
    }),
    documentedOnly: argv.documentedOnly,
    strictRequests: argv.strictRequests,
    ...(argv.names !== undefined && { names: readNames(argv.names).profile }),
    ...(argv.faults !== undefined && { faults: readRules(argv.faults) }),
    check: argv.check,
    ...(epoch !== undefined && { epoch }),
    ...(argv.maxStorage !== undefined && { maxStorageBytes: argv.maxStorage }),
    ...(argv.journalLimit !== undefined && { journalLimit: argv.journalLimit }),
    onBug: (error, operation) => {
      process.stderr.write(`A bug of modelhost-sim in ${operation}: ${String(error)}. Please report it.\n`)
    },
  }
  try {
    const sim = createSimulator(options)
    if (!followsFakeTimers(sim.clock.setting)) return sim
    process.stderr.write(
      `The snapshot follows fake timers, and a server has none: its clock is scaled. --clock chooses another.\n`,
    )
    return createSimulator({ ...options, clock: 'scaled' })
  } catch (error) {
    if (argv.faults === undefined || !(error instanceof FaultError)) throw error
    throw new UsageError(error.message.replace(/^Failed to add faults\[\d+\]/, `$& of '${argv.faults}'`))
  }
}

/** The rules of a file; what a rule may be is the simulator's to say. */
function readRules(path: string): FaultRule[] {
  let rules: unknown
  try {
    rules = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError(
      `Failed to read --faults '${path}': ${(error as Error).message}. Give a file with a JSON array of rules.`,
    )
  }
  if (!Array.isArray(rules)) {
    throw new UsageError(
      `Failed to read --faults '${path}': it holds no JSON array. Give one of rules, as in [{"on":"*","chance":0.1,"fault":{"kind":"status","status":503}}].`,
    )
  }
  return rules
}

/** The fixture by its name, or filled up with bulk records. */
async function fillFixture(argv: Arguments, epoch: string | undefined): Promise<string | FixtureInput> {
  const { fixtures, seed = '1', models, deployments } = argv
  if (models === undefined && deployments === undefined) return fixtures
  if (isSnapshotFile(fixtures)) {
    const which = models === undefined ? '--deployments' : '--models'
    throw new UsageError(
      `Failed to make a simulator: records can not be added beside the snapshot '${fixtures}'. Leave ${which} out.`,
    )
  }
  const { fillDeployments, fillModels } = await import('../../data/bulk-records.ts')
  const parsed = Date.parse(epoch ?? '')
  const epochMs = Number.isFinite(parsed) ? parsed : DEFAULT_EPOCH_MS
  let fixture = loadFixture(fixtures, { epochMs })
  if (models !== undefined) fixture = fillModels(fixture, models, seed)
  if (deployments !== undefined) fixture = fillDeployments(fixture, deployments, seed, epochMs)
  return fixture
}

function isSnapshotFile(fixtures: string): boolean {
  return fixtures.endsWith(SNAPSHOT_ENDING)
}

function closeOnSignals(server: Server): void {
  onSignals(exitCode => {
    if (server.inFlight > 0) {
      process.stderr.write(`Finishing ${server.inFlight} in flight; once more to stop at once.\n`)
    }
    server.close().finally(() => process.exit(exitCode))
  })
}
