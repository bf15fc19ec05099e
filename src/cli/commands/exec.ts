/** `modelhost-sim exec`: runs a command against a server of its own, and ends with the exit code of the command. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeFileError } from '../../lib/errors.ts'
import { shellQuote } from '../../lib/quote.ts'
import { commandEnvironment } from '../../server/worlds/served-world.ts'
import { ProcessGroups } from '../../workbench/explore/command/client-process.ts'
import { UsageError } from '../command.ts'
import { flag, output, toggle } from '../flags.ts'
import { exitProcess, onSignals } from '../process-end.ts'
import { integer } from '../values.ts'
import { type ServeArguments, flags as serveFlags, startServer } from './serve.ts'

export { check } from './serve.ts'

export const command = 'exec'
export const describe = 'Start a server, run a command against it, then stop the server'
export const takesConfig = true
export const takesOtherCommand = true

const { log: _, open: __, ...options } = serveFlags

export const flags = {
  ...options,
  port: flag('Port to listen on. Default: a free one', integer({ min: 0, max: 65_535 }, 4010)),
  record: output('New file for a recording of every request, prompts included'),
  wait: toggle('Keep the server running after the command has ended, until Ctrl-C'),
}
export const usage = '$0 exec [flags] -- COMMAND'
export const examples = [
  ['$0 exec -- npm test', 'the tests, against the default world'],
  ['$0 exec --fixtures empty --weather rough -- pytest', 'with the flags of serve'],
]
export const epilogue =
  'The command finds the server by MODELHOST_SIM_URL, MODELHOST_SIM_TOKEN, OPENAI_BASE_URL and OPENAI_API_KEY.\n' +
  'It also gets the variables of explore: MODELHOST_URL, MODELHOST_TOKEN and MODELHOST_SIM_CONTROL.\n' +
  'Exit codes: that of the command, 128 plus the number of a signal that ended it, 2 exec could not start.'

interface Arguments extends ServeArguments {
  wait: boolean
  config?: string
  /** The words after `--`. */
  otherCommand?: readonly string[]
}

export async function handler(argv: Arguments): Promise<void> {
  const [program, ...args] = argv.otherCommand ?? []
  if (!program) {
    throw new UsageError('Failed to run a command: it is missing. Give it after --, as in exec -- npm test.')
  }
  const folder = argv.record === undefined ? makeFolder() : undefined
  const record = argv.record ?? join(folder!, 'recording.ndjson')
  let hasFailed = false
  try {
    const options = { ...argv, port: argv.port ?? 0, record, open: false }
    const { sim, server, controlToken, stop } = await startServer(options)
    const env = {
      ...commandEnvironment(process.env, { url: server.url, token: sim.token, control: `${server.url}/_sim` }),
      ...(controlToken !== undefined && { MODELHOST_SIM_CONTROL_TOKEN: controlToken }),
    }
    try {
      const exitCode = await runCommand([program, ...args], env)
      process.exitCode = exitCode
      hasFailed = exitCode !== 0
      if (argv.wait) await waitForSignal(server.url)
    } finally {
      await stop()
    }
  } finally {
    if (folder !== undefined && !hasFailed) rmSync(folder, { recursive: true, force: true })
  }
  if (hasFailed) {
    const config = argv.config === undefined ? '' : ` --config ${shellQuote(argv.config)}`
    process.stderr.write(
      `The command failed with exit code ${process.exitCode}. To replay its requests:\n  npx modelhost-sim replay ${shellQuote(record)}${config}\n`,
    )
  }
  exitProcess()
}

/** Makes a folder for a recording. */
function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'modelhost-sim-'))
  } catch (error) {
    throw new UsageError(
      `Failed to make a folder in '${tmpdir()}': ${describeFileError(error)}. Set TMPDIR, or give --record.`,
    )
  }
}

/**
 * Runs a command and returns its exit code. It has the terminal, if there is one. Otherwise it has a process group, and
 * what it leaves there is killed.
 *
 * @throws UsageError if the program cannot be started
 */
async function runCommand([program, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv): Promise<number> {
  // A process group without the terminal cannot read from it, and Ctrl-C does not reach it.
  const isWindows = process.platform === 'win32'
  const hasTerminal = process.stdin.isTTY === true
  const hasGroup = !hasTerminal && !isWindows
  const groups = hasGroup ? new ProcessGroups() : undefined
  let child: ChildProcess | undefined
  const send = (signal: NodeJS.Signals) => kill(child, signal, hasGroup)
  const onExit = () => send('SIGKILL')
  process.once('exit', onExit)
  // Before the start: a signal may come as soon as the command does something.
  const release = onSignals(code => {
    // The terminal sends Ctrl-C to the command, too.
    if (!hasTerminal || code !== 130) send(code === 130 ? 'SIGINT' : 'SIGTERM')
  })
  try {
    return await new Promise((resolve, reject) => {
      // Windows starts npm and npx by its shell only.
      child = spawn(program, args, { env, stdio: 'inherit', detached: hasGroup, shell: isWindows })
      groups?.add(child.pid)
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]))
    })
  } catch (error) {
    throw startError(program, error as NodeJS.ErrnoException)
  } finally {
    release()
    process.off('exit', onExit)
    // What the command left in its group.
    if (hasGroup) send('SIGKILL')
    groups?.close()
  }
}

function startError(program: string, { code, message }: NodeJS.ErrnoException): UsageError {
  if (code === 'EACCES') {
    const advice = `Change that with chmod +x, or give its interpreter, as in 'exec -- python3 ${program}'.`
    return new UsageError(`Failed to run '${program}': it is not executable. ${advice}`)
  }
  const reason = code === 'ENOENT' ? 'no such program' : message
  return new UsageError(`Failed to run '${program}': ${reason}. Check its name, or install it.`)
}

/** Sends a signal to a command, and to all of its group if it has one. */
function kill(child: ChildProcess | undefined, signal: NodeJS.Signals, hasGroup: boolean): void {
  if (child?.pid === undefined) return
  try {
    if (hasGroup) process.kill(-child.pid, signal)
    else child.kill(signal)
  } catch {
    // Nothing of it is left.
  }
}

function waitForSignal(url: string): Promise<void> {
  process.stderr.write(`The command has ended. The server stays at ${url} until Ctrl-C.\n`)
  return new Promise(resolve => onSignals(() => resolve()))
}
