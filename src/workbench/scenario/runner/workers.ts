/** Plays scenarios in other processes. Each is a command line that takes jobs instead of flags. */
import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import type { Result, RunOptions, StoppableOptions } from '../play/run-scenario.ts'
import type { LoadError } from './import-script.ts'

/** A message of a worker. */
export type WorkerMessage =
  | { readonly is: 'ready' }
  | { readonly is: 'played' }
  | { readonly is: 'done'; readonly results: readonly FileResult[] }
  | { readonly is: 'failed'; readonly message: string }

interface QueuedJob {
  readonly job: PlayJob
  readonly onPlayed: () => void
  readonly resolve: (results: readonly FileResult[]) => void
  readonly reject: (error: Error) => void
}

/** A worker is the command `run` with this variable in its environment. */
export const WORKER_VARIABLE = 'MODELHOST_SIM_RUN_AS_WORKER'

/** Returns the default number of processes. Starting one takes as long as some forty plays. */
export function defaultWorkerCount(plays: number): number {
  return plays < 80 ? 1 : availableParallelism()
}

export class Workers {
  readonly #children: readonly ChildProcess[]
  #queue: readonly QueuedJob[] = []
  readonly #busy = new Map<ChildProcess, QueuedJob>()
  #idle: readonly ChildProcess[] = []

  /** @param command the script of a worker, and its arguments */
  constructor([script, ...args]: readonly string[], count: number) {
    const env = { ...process.env, [WORKER_VARIABLE]: '1' }
    this.#children = Array.from({ length: count }, () => {
      const child = fork(script!, args, {
        env,
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      child.on('message', message => this.#onMessage(child, message as WorkerMessage))
      child.on('exit', code => this.#onExit(child, code))
      return child
    })
  }

  /** Plays a job in the first free process. */
  play(job: PlayJob, played: () => void): Promise<readonly FileResult[]> {
    return new Promise((resolve, reject) => {
      this.#queue = [...this.#queue, { job, onPlayed: played, resolve, reject }]
      this.#dispatch()
    })
  }

  close(): void {
    for (const child of this.#children) if (child.connected) child.disconnect()
    this.#queue = []
  }

  #onMessage(child: ChildProcess, message: WorkerMessage): void {
    const queuedJob = this.#busy.get(child)
    if (message.is === 'played') {
      queuedJob?.onPlayed()
      return
    }
    if (message.is === 'done') queuedJob?.resolve(message.results)
    if (message.is === 'failed') queuedJob?.reject(new Error(message.message))
    this.#busy.delete(child)
    this.#idle = [...this.#idle, child]
    this.#dispatch()
  }

  #dispatch(): void {
    const [child, ...idle] = this.#idle
    const [next, ...waiting] = this.#queue
    if (child === undefined || next === undefined || !child.connected) return
    this.#idle = idle
    this.#queue = waiting
    this.#busy.set(child, next)
    child.send(next.job)
  }

  #onExit(child: ChildProcess, code: number | null): void {
    const what = `a worker ended with ${code === null ? 'a signal' : `code ${code}`}`
    this.#busy
      .get(child)
      ?.reject(new Error(`Failed to play '${this.#busy.get(child)!.job.title}': ${what}. Run it with --workers 1.`))
    this.#busy.delete(child)
    if (this.#children.some(other => other.connected)) return
    for (const { reject } of this.#queue) reject(new Error(`Failed to play: ${what}. Run with --workers 1.`))
  }
}

export interface RunFilesOptions extends Pick<RunOptions, 'seed' | 'names' | 'stuckTimeoutMs' | 'check'> {
  /** Plays each scenario with each of these seeds. Traces are compared only with the scenario's own seed. */
  readonly seeds?: readonly string[] | undefined
  /** Writes the traces instead of comparing with them. */
  readonly update?: boolean | undefined
  /** Only scenarios whose title, file name or tag contains this word. */
  readonly filter?: string | undefined
  /** Only scenarios with one of these tags. */
  readonly tags?: readonly string[] | undefined
  /** Stops at the first failure. */
  readonly bail?: boolean | undefined
  /** Number of processes. Default: 1, or one for each core if there are many plays and a `worker`. */
  readonly workers?: number | undefined
  /** The script that starts a worker, and its arguments. */
  readonly worker?: readonly string[] | undefined
  /** Folder that patterns and file names are relative to. Default: the folder of the process. */
  readonly folder?: string | undefined
  /** Called for each file that cannot be loaded; the others are played. Default: the first such file ends the run. */
  readonly onLoadError?: ((error: LoadError) => void) | undefined
  /** Called for each scenario when it ends, in the order of the files. */
  readonly onResult?: ((result: FileResult) => void) | undefined
  /** Called before each scenario that this process plays. */
  readonly onPlay?: ((title: string, file: string) => void) | undefined
  /** Called with the number of finished plays and the number of all. */
  readonly onProgress?: ((done: number, of: number) => void) | undefined
  /** Called with the simulator of each world that this process plays, before its scenario begins. */
  readonly onWorld?: RunOptions['onWorld']
}

/** The result of a scenario in a file. */
export interface FileResult extends Result {
  /** Path of the script, relative to the folder of the run. */
  readonly file: string
  /** Outcome for its trace. Traces are not compared after a failure, or with another seed than its own. */
  readonly traceOutcome: 'equal' | 'different' | 'missing' | 'written' | 'not compared'
  /** Whether its file contains other scenarios. */
  readonly isOneOfMany?: boolean | undefined
  /** File of the names profile it was played with. */
  readonly names?: string | undefined
}

/** How one scenario is played. */
export interface PlayerOptions
  extends Pick<RunFilesOptions, 'names' | 'stuckTimeoutMs' | 'check' | 'update' | 'onWorld'>,
    Pick<StoppableOptions, 'onStep' | 'signal'> {
  readonly file: string
  readonly folder: string
}

/** One scenario to play with some seeds, the job of a worker. */
export interface PlayJob extends Omit<PlayerOptions, 'onWorld' | 'onStep' | 'signal'> {
  readonly title: string
  /** Undefined for the scenario's own seed. */
  readonly seeds: readonly (string | undefined)[]
  /** Stop at the first failure. */
  readonly bail: boolean
}
