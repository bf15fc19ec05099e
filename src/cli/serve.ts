import { randomBytes } from 'node:crypto'
import type { Argv } from 'yargs'
import { isLoopback } from '../control/guards.ts'
import { DEFAULT_EPOCH_MS } from '../kernel/clock.ts'
import { monotonicMs, wallMs } from '../kernel/pacer.ts'
import { DEFAULT_HOST, DEFAULT_PORT, type Server, serve } from '../serve.ts'
import { DEFAULT_SPEED } from '../settle.ts'
import { createSimulator, type Simulator } from '../simulator.ts'
import { loadFixture } from '../store/fixture.ts'
import type { FixtureInput } from '../store/records.ts'
import { banner } from './banner.ts'
import { EXIT_CODES, UsageError } from './command.ts'
import {
  byteCount,
  demandKnownVariables,
  fromEnvironment,
  integer,
  positive,
  switched,
  text,
  texts,
  word,
} from './values.ts'

interface Arguments {
  port: number
  host: string
  fixtures: string
  profile: string
  seed: string
  clock: 'manual' | 'scaled'
  speed: number | undefined
  epoch: string | undefined
  models: number | undefined
  deployments: number | undefined
  documentedOnly: boolean
  maxStorage: number | undefined
  journalLimit: number | undefined
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
      .middleware(() => demandKnownVariables(Object.keys(options)))
      .example('$0', `the default world at http://${DEFAULT_HOST}:${DEFAULT_PORT}, an hour a minute`)
      .example('$0 --clock manual', 'time moves only by POST /_sim/clock/advance')
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
      ...flag('fixtures', 'World to start from: default, empty, full, two-nodes, or a folder', 'default'),
      coerce: text('fixtures'),
    },
    profile: {
      ...flag('profile', 'How the provider behaves: realistic, quick, rough, or a file', 'realistic'),
      coerce: text('profile'),
    },
    seed: { ...flag('seed', 'Equal seeds and requests give equal worlds', '1'), coerce: text('seed') },
    clock: {
      ...flag('clock', 'How time moves: scaled (with the wall, times the speed) or manual', 'scaled'),
      coerce: word('clock', ['manual', 'scaled']),
    },
    speed: {
      ...flag('speed', `Simulated seconds in a second of a scaled clock; ${DEFAULT_SPEED} unless given`),
      coerce: positive('speed', 1e6, DEFAULT_SPEED),
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
    'documented-only': toggle('documented-only', "Serve the interface document's own endpoints alone"),
    'max-storage': {
      ...flag('max-storage', 'Bytes of files that the world holds at most, as in 512MiB; 1GiB unless given'),
      coerce: byteCount('max-storage'),
    },
    'journal-limit': {
      ...flag('journal-limit', 'Entries that the journal keeps; 20000 unless given'),
      coerce: integer('journal-limit', { min: 1, max: 10_000_000 }, 20_000),
    },
    check: toggle('check', 'Hold the world to its laws after every event; a breach answers 500 and is told on stderr'),
    'trust-proxy': toggle('trust-proxy', "Take the caller's address from X-Forwarded-For"),
    'allow-host': {
      ...flag('allow-host', 'A further host name to answer to; may be given more than once'),
      coerce: texts,
    },
    'control-token': {
      ...flag('control-token', 'Token of the control plane beyond loopback; drawn unless given'),
      coerce: text('control-token'),
    },
  }
}

export async function handler(argv: Arguments): Promise<void> {
  const sim = await simulatorOf(argv)
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
    trustProxy: argv.trustProxy,
    allowHosts: argv.allowHost,
    ownProcess: true,
    ...(controlToken !== undefined && { controlToken }),
  })
  // In the tick in which the server began to listen, so before it can answer anybody.
  process.stdout.write(
    banner(sim, {
      url: server.url,
      fixtures: argv.fixtures,
      isTerminal: process.stdout.isTTY === true && !process.env.NO_COLOR,
      startedMs: monotonicMs(),
      ...(controlToken !== undefined && { controlToken }),
    }),
  )
  closeOnSignals(server)
}

function flag(name: string, describe: string, otherwise?: string) {
  const value = fromEnvironment(name) ?? otherwise
  return { describe, requiresArg: true, type: 'string' as const, ...(value !== undefined && { default: value }) }
}

function toggle(name: string, describe: string) {
  return { describe, type: 'boolean' as const, default: switched(name) }
}

async function simulatorOf(argv: Arguments): Promise<Simulator> {
  if (argv.clock === 'manual' && argv.speed !== undefined) {
    throw new UsageError('Failed to set the clock: --speed is for a scaled clock. Leave it out, or --clock scaled.')
  }
  const epoch = argv.epoch === 'now' ? new Date(wallMs()).toISOString() : argv.epoch
  return createSimulator({
    fixtures: await filled(argv, epoch),
    profile: argv.profile,
    seed: argv.seed,
    clock: { mode: argv.clock, ...(argv.speed !== undefined && { speed: argv.speed }) },
    documentedOnly: argv.documentedOnly,
    check: argv.check,
    ...(epoch !== undefined && { epoch }),
    ...(argv.maxStorage !== undefined && { maxStorageBytes: argv.maxStorage }),
    ...(argv.journalLimit !== undefined && { journalLimit: argv.journalLimit }),
    onBug: (error, operation) => {
      process.stderr.write(`A bug of modelhost-sim in ${operation}: ${String(error)}. Please report it.\n`)
    },
  })
}

/** The fixture by its name, or filled up with bulk records. */
async function filled(argv: Arguments, epoch: string | undefined): Promise<string | FixtureInput> {
  const { fixtures, seed, models, deployments } = argv
  if (models === undefined && deployments === undefined) return fixtures
  const { fillDeployments, fillModels } = await import('../store/factory.ts')
  const parsed = Date.parse(epoch ?? '')
  const epochMs = Number.isFinite(parsed) ? parsed : DEFAULT_EPOCH_MS
  let fixture = loadFixture(fixtures, { epochMs })
  if (models !== undefined) fixture = fillModels(fixture, models, seed)
  if (deployments !== undefined) fixture = fillDeployments(fixture, deployments, seed, epochMs)
  return fixture
}

/** How near two signals are that come from one key press: npm passes on what the terminal sent to both. */
const ONE_PRESS_MS = 100
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

function closeOnSignals(server: Server): void {
  let first: number | undefined
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      if (first === undefined) {
        first = monotonicMs()
        if (server.inFlight > 0) {
          process.stderr.write(`Finishing ${server.inFlight} in flight; once more to stop at once.\n`)
        }
        server.close().finally(() => process.exit(exitCode))
      } else if (monotonicMs() - first > ONE_PRESS_MS) process.exit(exitCode)
    })
  }
}
