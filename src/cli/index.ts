/** The command line: a list of commands, each loaded on demand. */
import yargs, { type CommandModule } from 'yargs'
import { formatSuggestion, nearestWord } from '../lib/did-you-mean.ts'
import { VERSION } from '../version.ts'
import { type Command, UsageError } from './command.ts'
import { exitProcess } from './exit.ts'

const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = {
  serve: () => import('./commands/serve.ts'),
  simulate: () => import('./commands/simulate.ts'),
  report: () => import('./commands/report.ts'),
  snapshot: () => import('./commands/snapshot.ts'),
  restore: () => import('./commands/restore.ts'),
  run: () => import('./commands/run.ts'),
  scenarios: () => import('./commands/scenarios.ts'),
  endpoints: () => import('./commands/endpoints.ts'),
  profile: () => import('./commands/profile.ts'),
  conform: () => import('./commands/conform.ts'),
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
    throw new UsageError(`Failed to run '${first}': there is no such command. ${advice}`)
  }
  const commandNames = hasCommand ? [first] : asksForHelp(args) ? Object.keys(COMMANDS) : [DEFAULT_COMMAND]
  const commands = await Promise.all(commandNames.map(async name => (await COMMANDS[name]!()) as Command))
  let parser = yargs([...args])
    .scriptName('modelhost-sim')
    .usage(
      '$0 [command] [flags]\n\nA simulated model-hosting service: GPUs, deployments, batches and money under a clock.',
    )
    .version(VERSION)
    .alias({ help: 'h', version: 'v' })
    .option('debug', { type: 'boolean', describe: 'Print the stack of an error' })
    .strict()
    .parserConfiguration({ 'strip-dashed': false, 'duplicate-arguments-array': true, 'boolean-negation': false })
    .wrap(Math.min(100, process.stdout.columns ?? 100))
    .exitProcess(true)
    .fail((message, error) => {
      // Errors of yargs come as a message or as a YError. Other errors come from our coercions.
      if (error && error.name !== 'YError') throw error
      const { key } = internals.getOptions()
      throw new UsageError(explainParseError(message ?? error.message, args, Object.keys(key)))
    })
  const internals = parser as unknown as YargsInternals
  // Errors are printed without the help. Skipping its layout saves a sixth of the start.
  internals.getInternalMethods().getUsageInstance().cacheHelpMessage = () => {}
  parser = parser.middleware(() => requireSwitchValues(args, internals.getOptions().boolean))
  for (const command of commands) parser = parser.command(command as unknown as CommandModule)
  await parser.parseAsync()
}

/** Refuses values of switches other than true and false: yargs would read them as false. */
function requireSwitchValues(args: readonly string[], switches: readonly string[]): void {
  for (const arg of args) {
    const [, name, value] = /^--([^=]+)=(.*)$/s.exec(arg) ?? []
    if (name === undefined || !switches.includes(name) || value === 'true' || value === 'false') continue
    throw new UsageError(
      `Failed to read --${name} '${value}': it is a switch and has no value. Give --${name} alone, or leave it out.`,
    )
  }
}

function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** Converts a message of yargs, with a suggestion for a typo. */
function explainParseError(message: string, args: readonly string[], flags: readonly string[]): string {
  if (message.startsWith('Failed to ')) return message
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1]?.split(', ')[0]
  if (unknown !== undefined) return unknownArgument(unknown, args, flags)
  const choice = /^Invalid values:\s+Argument: (\S+), Given: "(.*?)", Choices: (.*)$/s.exec(message)
  if (choice !== null) return unknownChoice(choice[1]!, choice[2]!, choice[3]!)
  const flagWithoutValue = /^Not enough arguments following: (.*)$/.exec(message)?.[1]
  if (flagWithoutValue !== undefined)
    return `Failed to read --${flagWithoutValue}: its value is missing. Give one after it.`
  return `Failed to read the command line: ${message.replaceAll(/\s*\n\s*/g, ' ')}. See --help.`
}

function unknownArgument(name: string, args: readonly string[], flags: readonly string[]): string {
  const argument = args.find(arg => /^-/.test(arg) && arg.replace(/^-+/, '').split('=', 1)[0] === name)
  if (argument === undefined && args.includes(name)) {
    return `Failed to read '${name}': unknown argument. See --help for the arguments.`
  }
  const meant = nearestWord(
    name,
    flags.filter(flag => flag.length > 1),
  )
  const hint = meant ? `Did you mean --${meant}?` : 'See --help for the flags.'
  return `Failed to read ${argument?.split('=', 1)[0] ?? `--${name}`}: there is no such flag. ${hint}`
}

function unknownChoice(flag: string, given: string, choices: string): string {
  const meant = nearestWord(
    given,
    [...choices.matchAll(/"([^"]*)"/g)].map(found => found[1]!),
  )
  return `Failed to read --${flag} '${given}': ${meant ? `did you mean '${meant}'?` : 'no such word.'} Words are ${choices.trim()}.`
}

/** Internals of yargs: the flags of a command, and the cache of its help. */
interface YargsInternals {
  getInternalMethods(): { getUsageInstance(): { cacheHelpMessage: () => void } }
  getOptions(): { key: Readonly<Record<string, boolean>>; boolean: readonly string[] }
}
