/** One start of the command that is explored: a process with its group. */

import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { clearRealTimeout, delayUnlessAborted, eventLoopTurn, setRealTimeout } from '../../../lib/real-time.ts'
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
  readonly groups: ProcessGroups
}

/** Why a command cannot be started, as a code of the operating system: `ENOENT`, `EACCES`. */
export class StartError extends Error {
  readonly code: string | undefined

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause })
    this.code = cause.code
  }
}

/** Real milliseconds in which the last output of a process arrives. A child that left its group can hold it for ever. */
const LAST_OUTPUT_MS = 500

/** A running process. What it leaves in its group is killed when it ends. */
export class ClientProcess {
  /** Resolves when the process has ended and its output is complete, or is not soon. Rejects with StartError. */
  readonly ended: Promise<ProcessEnd>
  readonly #child: ChildProcess
  #killedBy: 'timeout' | 'stopped' | undefined
  #end = () => {}
  /** Whether a child that left the group still held the output when the process had ended. */
  isOutputHeld = false

  constructor(
    [command, ...args]: readonly [string, ...string[]],
    { env, cwd, timeoutMs, output, groups }: ProcessOptions,
  ) {
    // A group of its own: a shell that is killed would leave its children behind.
    const child = spawn(command, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    groups.add(child.pid)
    child.stdout.on('data', (chunk: Buffer) => output.add('stdout', chunk))
    child.stderr.on('data', (chunk: Buffer) => output.add('stderr', chunk))
    const closed = new AbortController()
    this.ended = new Promise((resolve, reject) => {
      const timer = setRealTimeout(() => this.#kill('timeout'), timeoutMs, 'held')
      this.#end = async () => {
        clearRealTimeout(timer)
        this.#killGroup()
        // Output that has arrived is read within a turn.
        if (await delayUnlessAborted(LAST_OUTPUT_MS, closed.signal)) await eventLoopTurn()
        if (!closed.signal.aborted && this.#hasExited) this.isOutputHeld = true
        child.stdout.destroy()
        child.stderr.destroy()
        // A process that cannot be killed, as one of another user, must not keep this one alive.
        child.unref()
        resolve(this.#describeEnd())
      }
      child.once('error', error => {
        clearRealTimeout(timer)
        reject(new StartError(error))
      })
      child.once('exit', () => {
        this.#end()
        groups.delete(child.pid)
      })
      child.once('close', () => closed.abort())
    })
  }

  /** Kills the process and its group. `ended` then resolves with `stopped`, unless it has ended already. */
  stop(): void {
    this.#kill('stopped')
  }

  get #hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  #kill(reason: 'timeout' | 'stopped'): void {
    if (this.#hasExited) return
    this.#killedBy ??= reason
    this.#end()
  }

  #describeEnd(): ProcessEnd {
    if (this.#killedBy !== undefined) return { kind: this.#killedBy }
    const { exitCode: code, signalCode } = this.#child
    return code === null ? { kind: 'signal', signal: signalCode ?? 'unknown' } : { kind: 'exited', code }
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

/** A shell that kills the groups of the last line of its input when the input ends. */
const KILL_LAST = 'while read -r line; do groups=$line; done; [ -z "$groups" ] || kill -9 $groups'

/**
 * The groups of running processes. If this process ends before them, even by SIGKILL, a shell kills them. Windows has no
 * groups.
 */
export class ProcessGroups {
  readonly #pids = new Set<number>()
  // Before the first process, so that none can outlive this one while the shell starts.
  readonly #shell = process.platform === 'win32' ? undefined : startShell()

  add(pid: number | undefined): void {
    if (pid === undefined) return
    this.#pids.add(pid)
    this.#tell()
  }

  delete(pid: number | undefined): void {
    if (pid !== undefined && this.#pids.delete(pid)) this.#tell()
  }

  /** Ends the shell. It kills the groups that are left. */
  close(): void {
    this.#shell?.stdin.end()
  }

  #tell(): void {
    this.#shell?.stdin.write(`${[...this.#pids].map(pid => -pid).join(' ')}\n`)
  }
}

function startShell() {
  // In a session of its own: a Ctrl-C in the terminal must not end it.
  const shell = spawn(KILL_LAST, { shell: true, detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  shell.unref()
  ;(shell.stdin as Socket).unref()
  // Without a shell, or without its reader, the processes are killed by this process alone.
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  return shell
}
