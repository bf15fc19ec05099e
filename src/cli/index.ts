/** The command line: a list of commands, each loaded on demand. */
import { formatSuggestion } from '../lib/did-you-mean.ts'
import { describeFileError } from '../lib/errors.ts'
import { escapeControls } from '../lib/text/words.ts'
import { UsageError } from './command.ts'
import { runCommandLine } from './command-line.ts'
import type { Command } from './flags.ts'
import { exitProcess } from './process-end.ts'

/** The commands in the groups of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, () => Promise<unknown>>>>> = {
  'Serve and simulate': {
    serve: () => import('./commands/serve.ts'),
    exec: () => import('./commands/exec.ts'),
    simulate: () => import('./commands/simulate.ts'),
    explain: () => import('./commands/explain.ts'),
    judge: () => import('./commands/judge.ts'),
  },
  'Run, replay and explore': {
    run: () => import('./commands/run.ts'),
    replay: () => import('./commands/replay.ts'),
    explore: () => import('./commands/explore.ts'),
    merge: () => import('./commands/merge.ts'),
  },
  'Projects and fixtures': {
    init: () => import('./commands/init.ts'),
    fixture: () => import('./commands/fixture.ts'),
    validate: () => import('./commands/validate.ts'),
  },
  'Help for clients': {
    conform: () => import('./commands/conform.ts'),
    mcp: () => import('./commands/mcp.ts'),
    env: () => import('./commands/env.ts'),
  },
}
const COMMANDS = Object.assign({}, ...Object.values(GROUPS)) as (typeof GROUPS)[string]
const DEFAULT_COMMAND = 'serve'

const SUMMARY = `modelhost-sim [command] [flags]

A simulated model-hosting service: GPUs, deployments, batches and money under a clock.`

const COMPLETION = 'Completion for bash, zsh and fish: modelhost-sim --completion prints the script for your shell.'

/**
 * Runs the command line. An error is one line on stderr and an exit code; `--debug` adds the stack.
 *
 * @param args the arguments after the program's name
 */
export async function main(args: readonly string[]): Promise<void> {
  // What follows -- is the command line of another program.
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  const debug = own.includes('--debug') || process.env.MODELHOST_SIM_DEBUG === '1'
  if (!process.stdout.listeners('error').includes(onClosedPipe)) process.stdout.on('error', onClosedPipe)
  if (!process.stderr.listeners('error').includes(onClosedNotes)) process.stderr.on('error', onClosedNotes)
  try {
    await dispatch([...own.filter(arg => arg !== '--debug'), ...args.slice(own.length)])
  } catch (error) {
    const { message, stack, exitCode, path, syscall } = error as NodeJS.ErrnoException & { exitCode?: number }
    const words =
      path === undefined || syscall === undefined
        ? message
        : `Failed to open '${path}': ${describeFileError(error)}. Give another path.`
    process.stderr.write(`${escapeControls(String(debug ? stack : words))}\n`)
    process.exitCode = exitCode ?? 2
  }
}

/** Ends the process when the reader of stdout has closed the pipe, as `head` does. A result that was cut off has failed. */
function onClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  exitProcess(process.exitCode || 1)
}

/** Ignores a closed stderr: `grep -m1` closes the pipe after its first match, and the command must go on. */
function onClosedNotes(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

async function dispatch(args: readonly string[]): Promise<void> {
  const [first] = args
  if (first === '--completion') return (await import('./completion.ts')).printCompletionScript(args[1])
  // What the scripts of yargs call.
  if (first === '--get-yargs-completions') {
    return (await import('./completion.ts')).printCompletions(args.slice(1), COMMANDS)
  }
  const hasCommand = first !== undefined && !first.startsWith('-')
  if (hasCommand && !Object.hasOwn(COMMANDS, first)) {
    const known = Object.keys(COMMANDS)
    const advice = formatSuggestion(first, known, `Commands are ${known.join(', ')}.`)
    throw new UsageError(`Failed to run '${first}': unknown command. ${advice}`)
  }
  const command = await load(COMMANDS[hasCommand ? first : DEFAULT_COMMAND]!)
  if (hasCommand || !args.some(arg => arg === '--help' || arg === '-h')) return runCommandLine(args, command)
  // yargs has no groups of commands.
  process.stdout.write(`${SUMMARY}\n\n${await describeCommands()}\n\n${COMPLETION}\n\n`)
  await runCommandLine(args, command, `Without a command, $0 runs ${DEFAULT_COMMAND}. Its flags:`)
}

async function load(module: () => Promise<unknown>): Promise<Command> {
  return (await module()) as Command
}

/** Returns the groups of commands with their descriptions. */
async function describeCommands(): Promise<string> {
  const groups = Object.entries(GROUPS).map(async ([title, commands]) => {
    const lines = Object.entries(commands).map(
      async ([name, module]) => `  ${name.padEnd(10)}${(await load(module)).describe}`,
    )
    return `${title}:\n${(await Promise.all(lines)).join('\n')}`
  })
  return (await Promise.all(groups)).join('\n\n')
}
