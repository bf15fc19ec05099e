/** One start of the command that is explored: a process with its group. */

import { type ChildProcess, spawn } from 'node:child_process'
import { clearRealTimeout, setRealTimeout } from '../../lib/real-time.ts'
import type { OutputLog } from './output-log.ts'

/** How a process ended. `timeout` and `stopped`: its group was killed. */
export type ProcessEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'stopped' }

export interface ProcessOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Real milliseconds after which the process is killed. */
  readonly timeoutMs: number
  readonly output: OutputLog
}

/** Why a command cannot be started, as a code of the operating system: `ENOENT`, `EACCES`. */
export class StartError extends Error {
  readonly code: string | undefined

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause })
    this.code = cause.code
  }
}

/** A running process. What it leaves in its group is killed when it ends. */
export class ClientProcess {
  /** Resolves when the process has ended and its output is complete. Rejects with StartError. */
  readonly ended: Promise<ProcessEnd>
  readonly #child: ChildProcess
  #killedBy: 'timeout' | 'stopped' | undefined

  constructor([command, ...args]: readonly [string, ...string[]], { env, cwd, timeoutMs, output }: ProcessOptions) {
    // A group of its own: a shell that is killed would leave its children behind.
    this.#child = spawn(command, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child.stdout!.on('data', (chunk: Buffer) => output.add('stdout', chunk))
    this.#child.stderr!.on('data', (chunk: Buffer) => output.add('stderr', chunk))
    this.ended = new Promise((resolve, reject) => {
      const timer = setRealTimeout(() => this.#kill('timeout'), timeoutMs, 'held')
      this.#child.once('error', error => {
        clearRealTimeout(timer)
        reject(new StartError(error))
      })
      // A child of the process that holds its output would keep it from closing.
      this.#child.once('exit', () => this.#killGroup())
      this.#child.once('close', (code, signal) => {
        clearRealTimeout(timer)
        if (this.#killedBy !== undefined) resolve({ kind: this.#killedBy })
        else resolve(code === null ? { kind: 'signal', signal: signal ?? 'unknown' } : { kind: 'exited', code })
      })
    })
  }

  /** Kills the process and its group. `ended` then resolves with `stopped`, unless it has ended already. */
  stop(): void {
    this.#kill('stopped')
  }

  #kill(reason: 'timeout' | 'stopped'): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#killedBy ??= reason
    this.#killGroup()
  }

  #killGroup(): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      // Windows has no groups.
      if (process.platform === 'win32') this.#child.kill('SIGKILL')
      else process.kill(-pid, 'SIGKILL')
    } catch {
      // Nothing of the group is left.
    }
  }
}
