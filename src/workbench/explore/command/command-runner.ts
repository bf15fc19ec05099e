/** Explores a command: each run is a process with a world of its own on one server. */

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duration, micros } from '../../../kernel/duration.ts'
import { attempt } from '../../../lib/errors.ts'
import { once } from '../../../lib/once.ts'
import { plural } from '../../../lib/text/numbers.ts'
import { type Server, serve } from '../../../server/http/server.ts'
import { commandEnvironment, DEFAULT_WORLD, type ServedWorld } from '../../../server/worlds/served-world.ts'
import type { Operations } from '../../../service/endpoint.ts'
import type { Observation } from '../../../simulator/judge/observation.ts'
import { createSimulator, type Simulator } from '../../../simulator/simulator.ts'
import type { CommandFlow } from '../flow.ts'
import { worldOf } from '../flow-world.ts'
import type { Plan } from '../plan/plan.ts'
import { JOURNAL_LIMIT } from '../run/conclude.ts'
import {
  type FlowRunner,
  isOwnSetting,
  Learned,
  type RunOptions,
  type RunResult,
  type RunRoom,
  RunStopped,
  settingKey,
} from '../run/runner.ts'
import { ProcessGroups, StartError } from './client-process.ts'
import { CommandRun } from './command-run.ts'
import { explainSilence, explainStart, nameRunners, UnusableCommand } from './unusable-command.ts'

/** A number of places for work. Further work waits for its turn. */
class Slots implements RunRoom {
  readonly #size: number
  #used = 0
  readonly #queue: (() => void)[] = []
  readonly #watchers: (() => void)[] = []

  constructor(size: number) {
    this.#size = size
  }

  get isFree(): boolean {
    return this.#used < this.#size
  }

  changed(): Promise<void> {
    return new Promise(resolve => this.#watchers.push(resolve))
  }

  /** Does the work when there is a place for it. It can leave its place before its end. Settles as the work does. */
  async use<Value>(work: (leave: () => void) => Promise<Value>): Promise<Value> {
    if (this.isFree) this.#used++
    else await new Promise<void>(resolve => this.#queue.push(resolve))
    const leave = once(() => this.#free())
    try {
      return await work(leave)
    } finally {
      leave()
    }
  }

  #free(): void {
    const next = this.#queue.shift()
    if (next !== undefined) next()
    else {
      this.#used--
      for (const resolve of this.#watchers.splice(0)) resolve()
    }
  }
}

const DEFAULT_TIMEOUT: Duration = '60s'
const MAX_PROCESSES = 256
/** Seconds of sleep in a run from which a note says so. */
const NOTED_SECONDS = 2
/** Real milliseconds from which a note counts a run that waited for an answer. */
const NOTED_HANG_MS = 5_000
const PRINTED_LINES = 10
const NOTED_FILES = 3

interface CommandRunnerOptions {
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Ends the runs in progress at once, with RunStopped. No further one starts. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Creates the runner of a command. Its server starts with the first run.
 *
 * @throws UnusableCommand for an empty command, RangeError for an invalid option, and the errors of `createSimulator`
 */
export function createCommandRunner(flow: CommandFlow, options: CommandRunnerOptions = {}): FlowRunner {
  const [command, ...args] = flow.command
  if (command === undefined || command === '') {
    throw new UnusableCommand(
      "Failed to explore: the command is missing. Give one, as in 'explore -- python3 client.py'.",
    )
  }
  return new ProcessRunner([command, ...args], flow, options)
}

/** A run that has a place among the processes. */
interface PlacedRunOptions extends RunOptions {
  /** Gives the place to another run. */
  leave(): void
}

class ProcessRunner implements FlowRunner {
  readonly isSlow = true
  readonly advice =
    'Make the command send the same requests each time: no random names, no requests at the same time, and a request ' +
    'timeout of at least 2 s, since a busy machine answers late.'
  readonly #argv: readonly [string, ...string[]]
  readonly #flow: CommandFlow
  readonly #options: CommandRunnerOptions
  readonly #timeoutMs: number
  readonly #slots: Slots
  readonly #template: Simulator
  readonly #active = new Set<CommandRun>()
  readonly #groups = new ProcessGroups()
  #server: Promise<Server> | undefined
  #strayRequests = 0
  #isStopped = false
  /** Runs that left a child. */
  #leavingRuns = 0
  /** The files of the working directory before the first run. */
  readonly #files: ReadonlyMap<string, number>
  /** Those that had changed when the newest run ended. */
  #changedFiles: readonly string[] = []
  /** What the first run without faults slept. */
  #sleptMs = 0
  /** What each run that waited for an answer that never came waited in real time. */
  readonly #hungMs: number[] = []
  /** Runs without faults, by their settings. */
  readonly #bases = new Map<string, Observation['base']>()
  readonly learned = new Learned()
  runs = 0

  constructor(argv: readonly [string, ...string[]], flow: CommandFlow, options: CommandRunnerOptions) {
    const { timeout = DEFAULT_TIMEOUT, processes = availableParallelism() } = flow
    if (!Number.isInteger(processes) || processes < 1 || processes > MAX_PROCESSES) {
      throw new RangeError(`Failed to explore: invalid number of processes ${processes}. Give 1 to ${MAX_PROCESSES}.`)
    }
    this.#argv = argv
    this.#flow = flow
    this.#options = options
    this.#timeoutMs = micros(timeout) / 1000
    if (this.#timeoutMs === 0)
      throw new RangeError("Failed to explore: a timeout of 0 ends every run. Give one as in '60s'.")
    this.#slots = new Slots(processes)
    this.#template = createSimulator({ ...worldOf(flow.options), clock: 'on-poll', journalLimit: JOURNAL_LIMIT })
    this.#files = filesOf(this.#cwd)
    if (options.signal?.aborted) this.#isStopped = true
    options.signal?.addEventListener('abort', this.#stop)
  }

  get operations(): Operations {
    return this.#template.api.operations
  }

  get #cwd(): string {
    return this.#flow.cwd ?? process.cwd()
  }

  get notes(): readonly string[] {
    const seconds = Math.round(this.#sleptMs / 1000)
    const slept = `Each run waits ${seconds} s of real time in the sleeps of the client, and each fault is a run. ${nameRunners()}`
    const left = `In ${plural(this.#leavingRuns, 'run')}, the command left a process in a session of its own, which held its output open. It was not waited for, and may still run. Make the command end what it starts.`
    const hung = Math.round(this.#hungMs.reduce((sum, ms) => sum + ms, 0) / 1000)
    const waited = `Runs that waited for answers that never came: ${this.#hungMs.length}, ${hung} s of real time in all. Make the limit on the time for one answer a setting of the client, and give a shorter one: step 3 of docs/explore-command.md.`
    const changed = `Meanwhile, ${this.#changedFiles.slice(0, NOTED_FILES).join(', ')} changed in the working directory, which the runs share. If the client reads that again, keep it below TMPDIR: each run has a folder of its own there.`
    return [
      ...(this.#changedFiles.length === 0 ? [] : [changed]),
      ...(seconds < NOTED_SECONDS ? [] : [slept]),
      ...(this.#hungMs.length === 0 ? [] : [waited]),
      ...(this.#leavingRuns === 0 ? [] : [left]),
    ]
  }

  get room(): RunRoom {
    return this.#slots
  }

  async run(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
    // The rules compare with the run without faults in the same world.
    const isBaseMissing = plan.length > 0 && !isOwnSetting(options) && !this.#bases.has(settingKey(options))
    if (isBaseMissing) await this.run([], { world: options.world })
    return this.#slots.use(leave => this.#run(plan, { ...options, leave }))
  }

  async #run(plan: Plan, options: PlacedRunOptions): Promise<RunResult> {
    this.#assertUsable()
    this.runs++
    this.#server ??= this.#serve()
    const server = await this.#server
    this.#assertUsable()
    const changed = { ...worldOf(this.#flow.options), ...worldOf(options.world ?? {}) }
    const world = server.worlds.make(isOwnSetting(options) ? {} : { options: changed })
    try {
      options.onWorld?.(world.sim)
      return await this.#play(plan, world, server.url, options)
    } finally {
      server.worlds.delete(world)
    }
  }

  async #play(plan: Plan, world: ServedWorld, url: string, options: PlacedRunOptions): Promise<RunResult> {
    const { env: environment = process.env } = this.#options
    const { invariants, tellsBy } = this.#flow.options
    const [argv, cwd] = [this.#argv, this.#cwd]
    const { name, token = '' } = world
    const ofWorld = commandEnvironment(environment, { url, token, control: `${url}/_sim/worlds/${name}/_sim` })
    const folder = mkdtempSync(join(tmpdir(), 'modelhost-sim-'))
    const env = { ...ofWorld, TMPDIR: folder, TEMP: folder, TMP: folder }
    const { healAt, leave: onSilence } = options
    const [timeoutMs, groups] = [this.#timeoutMs, this.#groups]
    const [isBase, key] = [plan.length === 0, settingKey(options)]
    const run = new CommandRun(plan, {
      ...{ argv, world, env, cwd, timeoutMs, groups, invariants, tellsBy, healAt, onSilence },
      ...{ learned: this.learned, base: isBase ? undefined : this.#bases.get(key) },
    })
    this.#active.add(run)
    try {
      const end = await run.play()
      if (isBase && run.requests.length === 0) {
        const printed = run.output.excerpt(PRINTED_LINES)
        throw explainSilence({ argv, end, printed, timeoutMs, strayRequests: this.#strayRequests })
      }
      const result = await run.conclude(end)
      if (isBase) {
        if (this.#bases.size === 0) this.#sleptMs = run.sleptMs
        this.#bases.set(key, result.base)
      }
      return result
    } catch (error) {
      throw error instanceof StartError ? explainStart(error, argv[0], environment.PATH) : error
    } finally {
      if (run.leftChild) this.#leavingRuns++
      if (run.hungMs >= NOTED_HANG_MS) this.#hungMs.push(run.hungMs)
      this.#active.delete(run)
      this.#changedFiles = [...filesOf(cwd)].flatMap(([file, time]) => (this.#files.get(file) === time ? [] : file))
      // A child that was left behind may still write there.
      attempt(() => rmSync(folder, { recursive: true, force: true }))
    }
  }

  async #serve(): Promise<Server> {
    process.once('exit', this.#stop)
    return serve(this.#template, {
      port: 0,
      // Each run has a world of its own. What reaches the default world has no token of a run.
      onRequest: ({ world }) => {
        if (world === DEFAULT_WORLD) this.#strayRequests++
      },
    })
  }

  readonly #stop = () => {
    this.#isStopped = true
    for (const run of this.#active) run.stop()
  }

  #assertUsable(): void {
    if (this.#isStopped) throw new RunStopped()
  }

  async dispose(): Promise<void> {
    process.off('exit', this.#stop)
    this.#options.signal?.removeEventListener('abort', this.#stop)
    this.#stop()
    this.#groups.close()
    const server = await this.#server
    await server?.close()
    await this.#template[Symbol.asyncDispose]()
  }
}

/** Returns the files of a folder that can be read, each with the time of its last change. */
function filesOf(folder: string): ReadonlyMap<string, number> {
  const entries = attempt(() => readdirSync(folder, { withFileTypes: true })) ?? []
  const files = entries.filter(entry => entry.isFile())
  return new Map(files.map(({ name }) => [name, attempt(() => statSync(join(folder, name)).mtimeMs) ?? 0]))
}
