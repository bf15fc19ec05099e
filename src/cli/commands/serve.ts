import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { given } from '../../lib/fields.ts'
import { LIMITS } from '../../lib/limits.ts'
import { monotonicMs, wallMs } from '../../lib/real-time.ts'
import { escapeControls } from '../../lib/text/words.ts'
import { isLoopback } from '../../server/control/guards.ts'
import { DEFAULT_HOST, DEFAULT_PORT, type ServedRequest, serve } from '../../server/http/server.ts'
import { PAGE_PATH } from '../../server/routing/request-router.ts'
import * as namesProfiles from '../../service/naming/names-profile.ts'
import { SNAPSHOT_ENDING } from '../../simulator/checkpoint/file-ending.ts'
import {
  DEFAULT_IDLE_MS,
  DEFAULT_SPEED,
  followsFakeTimers,
  type SERVED_CLOCK_MODES,
} from '../../simulator/clock/settings.ts'
import { FaultError } from '../../simulator/faults/fault-error.ts'
import type { FaultRule } from '../../simulator/faults/rules.ts'
import type { SimulatorOptions } from '../../simulator/options.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { ScenarioLibrary } from '../../workbench/scenario/runner/library.ts'
import { shippedFolder } from '../../workbench/scenario/runner/paths.ts'
import { banner } from '../banner.ts'
import { UsageError } from '../command.ts'
import { type ArgumentsOf, configEndpoints, flag, output, sourceOf, toggle } from '../flags.ts'
import { optionFlags, optionsFromFlags } from '../option-flags.ts'
import { onSignals } from '../process-end.ts'
import { duration, filledText, integer, nonEmpty, origin, positive, texts, word } from '../values.ts'

/** How many records `fill` makes. */
const RECORDS = { min: 0, max: LIMITS.filledRecords }
/** Longest reason in a line of text. */
const MAX_REASON_LENGTH = 160

/** Returns a line for a request, with its line break. */
export function requestLine(request: ServedRequest, format: 'text' | 'json'): string {
  if (format === 'json') return `${JSON.stringify(request)}\n`
  const { time, world, method, path, status, operation, decidedBy, reason } = request
  const parts = [
    time.replace('T', ' ').replace(/\.\d+Z$/, ''),
    status === 0 ? '---' : String(status),
    `${method} ${path}`,
    ...(operation === '' ? [] : [operation]),
    ...(world === 'default' ? [] : [`in ${world}`]),
    ...describeDecision(decidedBy, reason),
  ]
  return `${escapeControls(parts.join('  ').replaceAll(/[\n\t]/g, ' '))}\n`
}

/** Returns what decided the answer, or nothing for a success of the request alone. */
function describeDecision(decidedBy: ServedRequest['decidedBy'], reason: string | undefined): string[] {
  const decider = decidedBy === 'none' ? 'request' : decidedBy
  if (reason !== undefined) return [`${decider}: ${shorten(reason)}`]
  return decidedBy === 'none' ? [] : [decider]
}

function shorten(reason: string): string {
  return reason.length <= MAX_REASON_LENGTH ? reason : `${reason.slice(0, MAX_REASON_LENGTH)}…`
}

export const command = ['serve', '$0']
export const describe = 'Serve a simulated world over HTTP'
export const takesConfig = true

export const flags = {
  port: {
    ...flag(
      'Port to listen on; 0 selects a free port. The variable PORT is read, too',
      integer({ min: 0, max: 65_535 }, DEFAULT_PORT),
      String(DEFAULT_PORT),
    ),
    variable: 'PORT',
  },
  host: flag('Address to listen on; an address other than loopback requires a control token', filledText, DEFAULT_HOST),
  ...optionFlags(),
  speed: flag(
    `Simulated seconds per real second of a scaled clock. Default: ${DEFAULT_SPEED}`,
    positive(1e6, DEFAULT_SPEED),
  ),
  'poll-step': flag(
    'How far each poll moves an on-poll clock, as in 5m. Default: to the next visible change',
    duration('5m'),
  ),
  'idle-after': flag(
    `Real milliseconds without a request after which an idle clock jumps. Default: ${DEFAULT_IDLE_MS}`,
    integer({ min: 0, max: 3_600_000 }, DEFAULT_IDLE_MS),
  ),
  latency: flag(
    'How long a delayed answer takes: real, scaled or instant. Default: as the clock moves',
    word(['real', 'scaled', 'instant']),
  ),
  scenarios: flag(
    'Folder of scenarios in YAML and JSON for POST /_sim/scenarios/{name}/start. Default: ./scenarios. The scenarios of the package are always available',
  ),
  models: flag('Fill the catalog up to this number of models', integer(RECORDS, 1_000)),
  deployments: flag('Fill the world up to this number of deployments', integer(RECORDS, 1_000)),
  'max-worlds': flag(
    `Maximum number of further worlds. Default: ${LIMITS.worlds}`,
    integer({ min: 0, max: 100_000 }, LIMITS.worlds),
  ),
  'world-idle': flag('Real time after which an unused world is removed. Default: 1h', duration('30m')),
  'unknown-tokens': flag(
    'What happens for a token that no world knows: refuse, or fork a separate world',
    word(['refuse', 'fork']),
    'refuse',
  ),
  'trust-proxy': toggle("Take the caller's address from X-Forwarded-For"),
  'allow-host': flag('A further host name to answer to; repeatable', texts),
  cors: {
    ...flag('Let pages of an origin use the service, as in http://localhost:5173; no value: every origin', origin),
    alone: '*',
  },
  log: flag(
    'A line on stdout for each request: text, json or none. With json, the banner goes to stderr. Default: text on a terminal, otherwise none',
    word(['text', 'json', 'none']),
  ),
  record: output('New file for a recording of every request, prompts included, for the command replay'),
  open: toggle('Open the control room in a browser, and keep the past of the world from the start'),
  'control-token': flag(
    'Token of the control plane for addresses other than loopback. Default: generated',
    nonEmpty('it is empty. Give a token, or leave it out to get a random one.'),
  ),
}
export const examples = [
  ['$0', `the default world at http://${DEFAULT_HOST}:${DEFAULT_PORT}, an hour a minute`],
  ['$0 --clock manual', 'time moves only by POST /_sim/clock/advance'],
  ['$0 --weather launch-day', 'GPUs are short, and one request in ten is answered 429'],
  ['$0 --fixtures empty --seed 7 --port 0', 'an empty world on a free port'],
]

/** The arguments that this file reads itself. `optionsFromFlags` reads the others. */
export interface ServeArguments extends ArgumentsOf<typeof flags> {
  fixtures: string
  weather: string | undefined
  clock: (typeof SERVED_CLOCK_MODES)[number] | undefined
  faults: string | undefined
  epoch: string | undefined
  names: string | undefined
}

export async function handler(argv: ServeArguments): Promise<void> {
  const format = argv.log ?? (process.stdout.isTTY === true ? 'text' : 'none')
  const { sim, server, controlToken, stop } = await startServer(
    argv,
    format === 'none' ? undefined : request => process.stdout.write(requestLine(request, format)),
  )
  // In the tick in which the server began to listen, so before its first answer.
  const terminal = format === 'json' ? process.stderr : process.stdout
  terminal.write(
    banner(sim, {
      ...{ url: server.url, fixtures: argv.fixtures, weather: argv.weather, startedMs: monotonicMs() },
      isTerminal: terminal.isTTY === true && !process.env.NO_COLOR,
      ...given({ controlToken }),
    }),
  )
  if (argv.open) await openInBrowser(`${server.url}${PAGE_PATH}`)
  onSignals(exitCode => {
    if (server.inFlight > 0) {
      process.stderr.write(`Finishing ${server.inFlight} requests; press again to stop at once.\n`)
    }
    stop().finally(() => process.exit(exitCode))
  })
}

/**
 * Starts a server as the flags say. `stop` finishes its open requests, and ends its recordings.
 *
 * @param onRequest gets each request when it is answered
 */
export async function startServer(argv: ServeArguments, onRequest?: (request: ServedRequest) => void) {
  const sim = await createServedSimulator(argv)
  const isPublic = !isLoopback(argv.host)
  // Random, not from the seed: a known seed must not reveal the token.
  const controlToken = isPublic ? (argv.controlToken ?? randomBytes(18).toString('base64url')) : undefined
  if (!isPublic && argv.controlToken !== undefined) {
    process.stderr.write(
      `--control-token is ignored on ${argv.host}, because only this machine can reach it. It is required on other addresses, as with --host 0.0.0.0.\n`,
    )
  }
  const recordings =
    argv.record === undefined ? undefined : (await import('../record-worlds.ts')).recordWorlds(sim, argv.record)
  const { port, host: hostname, unknownTokens, trustProxy, open: keepPast } = argv
  const { latency, cors, maxWorlds, allowHost: allowHosts, worldIdle } = argv
  const server = await serve(sim, {
    ...{ port, hostname, unknownTokens, trustProxy, keepPast, ownProcess: true },
    ...given({ latency, controlToken, cors, maxWorlds, allowHosts, worldIdleMs: worldIdle && worldIdle / 1000 }),
    scenarios: new ScenarioLibrary(scenarioFolders(argv.scenarios)),
    // Loaded on demand: few servers save a page.
    writePage: async content => (await import('../../server/saved-page/create-page.ts')).createSavedPage(content),
    ...(recordings && { onCreated: world => recordings.add(world) }),
    ...(onRequest && { onRequest }),
  })
  return { sim, server, controlToken, stop: () => server.close().finally(() => recordings?.stop()) }
}

/** Returns the folders of scenarios, the user's first: its scenarios take precedence over those of the package. */
export function scenarioFolders(folder?: string): string[] {
  if (folder !== undefined && !existsSync(folder)) {
    throw new UsageError(
      `Failed to read ${sourceOf('scenarios', folder)} '${folder}': the folder is missing. Give one that holds scenarios in YAML or JSON.`,
    )
  }
  return [resolve(folder ?? 'scenarios'), shippedFolder('scenarios')].filter(existsSync)
}

/** Returns the mode of the clock. Undefined: that of the snapshot. */
function modeOf({ clock, fixtures }: ServeArguments): ServeArguments['clock'] {
  return clock ?? (isSnapshotFile(fixtures) ? undefined : 'scaled')
}

/** Rejects flags that are for another mode of the clock. */
export function check(argv: ServeArguments): void {
  const clock = modeOf(argv)
  for (const [name, given, mode] of [
    ['speed', argv.speed, 'scaled'],
    ['poll-step', argv.pollStep, 'on-poll'],
    ['idle-after', argv.idleAfter, 'idle'],
  ] as const) {
    if (given === undefined || clock === mode) continue
    throw new UsageError(
      `Failed to set the clock: ${sourceOf(name, given, flags[name])} is for the clock ${mode}. Leave it out, or --clock ${mode}.`,
    )
  }
  if (clock === 'manual' && argv.latency === 'scaled') {
    throw new UsageError(
      `Failed to set the latency: ${sourceOf('latency', 'scaled')} scaled is for a scaled clock. Give --latency real, or --clock scaled.`,
    )
  }
}

async function createServedSimulator(argv: ServeArguments): Promise<Simulator> {
  const clock = modeOf(argv)
  const epoch = argv.epoch === 'now' ? new Date(wallMs()).toISOString() : argv.epoch
  const reportedBugs = new Set<string>()
  const fill = readFill(argv)
  const options: SimulatorOptions = {
    ...optionsFromFlags(argv),
    ...configEndpoints(),
    ...(fill !== undefined && { fill }),
    ...(clock !== undefined && {
      clock: {
        mode: clock,
        ...given({ speed: argv.speed, step: argv.pollStep && argv.pollStep / 1000, after: argv.idleAfter }),
      },
    }),
    ...(argv.names !== undefined && { names: namesProfiles.readNames(argv.names).profile }),
    ...(argv.faults !== undefined && { faults: await readRules(argv.faults) }),
    ...(epoch !== undefined && { epoch }),
    onBug: (error, operation) => {
      const whose = operation in (configEndpoints().endpoints ?? {}) ? 'your endpoint' : 'modelhost-sim'
      const message = `A bug of ${whose} in ${operation}: ${String(error)}. Please report or mend it.\n`
      // An event may throw again and again.
      if (reportedBugs.size >= LIMITS.reportedBugs || reportedBugs.has(message)) return
      reportedBugs.add(message)
      process.stderr.write(message)
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

/** Reads the fault rules of a file. The simulator checks each rule. */
async function readRules(path: string): Promise<FaultRule[]> {
  const name = `${sourceOf('faults', path)} '${path}'`
  // Loaded on demand: few servers read a file of rules.
  const rules = (await import('../files/data-file.ts')).readDataFile(path, name)
  if (!Array.isArray(rules)) {
    throw new UsageError(
      `Failed to read ${name}: it does not hold an array. Write an array of rules, as in [{"on":"*","chance":0.1,"fault":{"kind":"status","status":503}}].`,
    )
  }
  return rules
}

/** Returns the option `fill`; undefined without its flags. */
function readFill({ fixtures, models, deployments }: ServeArguments): SimulatorOptions['fill'] {
  if (models === undefined && deployments === undefined) return undefined
  if (isSnapshotFile(fixtures)) {
    const [name, value] = models === undefined ? (['deployments', deployments] as const) : (['models', models] as const)
    throw new UsageError(
      `Failed to make a simulator: records cannot be added beside the snapshot '${fixtures}'. Leave ${sourceOf(name, value, flags[name])} out.`,
    )
  }
  return given({ models, deployments })
}

function isSnapshotFile(fixtures: string): boolean {
  return fixtures.endsWith(SNAPSHOT_ENDING)
}

/** Opens a page in the browser of this machine. Without one, the server still serves. */
async function openInBrowser(url: string): Promise<void> {
  try {
    const { default: open } = await import('open')
    // The process of the browser emits an error later if there is no such program.
    const browser = await open(url)
    browser.on('error', () => sayHowToOpen(url))
    browser.on('exit', code => {
      if (code !== 0 && code !== null) sayHowToOpen(url)
    })
  } catch {
    sayHowToOpen(url)
  }
}

function sayHowToOpen(url: string): void {
  process.stderr.write(`Failed to open a browser: this machine has none that can be started. Open ${url} yourself.\n`)
}
