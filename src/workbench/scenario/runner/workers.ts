/** Plays scenarios in other processes. Each is a command line that takes jobs instead of flags. */
import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import type { FileResult, PlayJob } from './jobs.ts'

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

  /** @param entry the script of the command line */
  constructor(entry: string, count: number) {
    const env = { ...process.env, [WORKER_VARIABLE]: '1' }
    this.#children = Array.from({ length: count }, () => {
      const child = fork(entry, ['run'], {
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
    for (const child of this.#children) child.disconnect()
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
