/** The command line: a list of commands, each loaded on demand. */
import { formatSuggestion } from '../lib/did-you-mean.ts'
import { type Command, UsageError } from './command.ts'
import { runCommandLine } from './command-line.ts'
import { exitProcess } from './exit.ts'

const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = {
  serve: () => import('./commands/serve.ts'),
  simulate: () => import('./commands/simulate.ts'),
  explain: () => import('./commands/explain.ts'),
  judge: () => import('./commands/judge.ts'),
  report: () => import('./commands/report.ts'),
  snapshot: () => import('./commands/snapshot.ts'),
  replay: () => import('./commands/replay.ts'),
  export: () => import('./commands/export.ts'),
  run: () => import('./commands/run.ts'),
  explore: () => import('./commands/explore.ts'),
  merge: () => import('./commands/merge.ts'),
  fixture: () => import('./commands/fixture.ts'),
  profile: () => import('./commands/profile.ts'),
  conform: () => import('./commands/conform.ts'),
  mcp: () => import('./commands/mcp.ts'),
  env: () => import('./commands/env.ts'),
}
const DEFAULT_COMMAND = 'serve'

/**
 * Runs the command line. An error is one line on stderr and an exit code; `--debug` adds the stack.
 *
 * @param args the arguments after the program's name
 */
export async function main(args: readonly string[]): Promise<void> {
  const debug = args.includes('--debug') || process.env.MODELHOST_SIM_DEBUG === '1'
  if (!process.stdout.listeners('error').includes(onClosedPipe)) process.stdout.on('error', onClosedPipe)
  if (!process.stderr.listeners('error').includes(onClosedNotes)) process.stderr.on('error', onClosedNotes)
  try {
    await dispatch(args.filter(arg => arg !== '--debug'))
  } catch (error) {
    const { message, stack, exitCode } = error as Error & { exitCode?: number }
    process.stderr.write(`${debug ? stack : message}\n`)
    process.exitCode = exitCode ?? 2
  }
}

/** Ends the process when the reader of stdout has closed the pipe, as `head` does. */
function onClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  exitProcess()
}

/** Ignores a closed stderr: `grep -m1` closes the pipe after its first match, and the command must go on. */
function onClosedNotes(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

async function dispatch(args: readonly string[]): Promise<void> {
  const [first] = args
  const hasCommand = first !== undefined && !first.startsWith('-')
  if (hasCommand && !(first in COMMANDS)) {
    const known = Object.keys(COMMANDS)
    const advice = formatSuggestion(first, known, `Commands are ${known.join(', ')}.`)
    throw new UsageError(`Failed to run '${first}': unknown command. ${advice}`)
  }
  const commandNames = hasCommand ? [first] : asksForHelp(args) ? Object.keys(COMMANDS) : [DEFAULT_COMMAND]
  const commands = await Promise.all(commandNames.map(async name => (await COMMANDS[name]!()) as Command))
  await runCommandLine(args, commands)
}

function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}
