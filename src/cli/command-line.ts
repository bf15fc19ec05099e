/** Reads a command line with yargs, and runs its command. */
import yargs from 'yargs'
import { nearestWord } from '../lib/did-you-mean.ts'
import { VERSION } from '../lib/version.ts'
import type * as simulatorOptions from '../simulator/options.ts'
import { UsageError, unknownChoice } from './command.ts'
import type { Command } from './flags.ts'

/** Ends the work of yargs when the arguments of a command are complete. */
const PARSED = Symbol('parsed')

/**
 * Runs a command, or prints the help.
 *
 * @param args the arguments after the program's name
 * @param usage the head of the help, for a command line that names no command
 */
export async function runCommandLine(args: readonly string[], module: Command, usage?: string): Promise<void> {
  // The file that starts every command is small: it loads the rest on demand.
  const [options, declared] = await Promise.all([import('../simulator/options.ts'), import('./flags.ts')])
  const { command, describe, handler, check } = module
  const { own, other } = splitCommand(args, module)
  const config = module.takesConfig ? await import('./read-config.ts') : undefined
  // A mistake in the file does not hide the help.
  if (!own.some(arg => ['--help', '-h', '--version', '-v'].includes(arg))) await config?.readConfig(own)
  const parser = yargs(own)
    .scriptName('modelhost-sim')
    .usage(usage ?? '$0 [command] [flags]')
    .version(VERSION)
    .alias({ help: 'h', version: 'v' })
    .option('debug', { type: 'boolean', describe: 'Print the stack of an error' })
    .options(config?.CONFIG_OPTIONS ?? {})
    .strict()
    .parserConfiguration({
      'strip-dashed': false,
      'duplicate-arguments-array': true,
      'boolean-negation': false,
    })
    .wrap(Math.min(100, process.stdout.columns ?? 100))
    .fail((message, error) => {
      // Errors of yargs come as a message or as a YError. Other errors come from our coercions.
      if (error && error.name !== 'YError') throw error
      const declared = { help: 0, version: 0, debug: 0, ...config?.CONFIG_OPTIONS, ...module.flags }
      const words = parser.parsed ? parser.parsed.argv._.map(String) : []
      const given = { args: own, words, flags: Object.keys(declared), module, options, other }
      throw new UsageError(explainParseError(message ?? error.message, given))
    })
  let run: (() => void | Promise<void>) | undefined
  parser.command({
    ...{ command, describe: usage === undefined ? describe : false },
    builder: argv => declared.buildCommand(argv, module),
    handler: (argv: Readonly<Record<string, unknown>>) => {
      requireSwitchValues(own, argv)
      check?.(argv as never)
      const given = { ...argv, ...(other && { otherCommand: other }) }
      declared.requireDistinctFiles(module, given)
      run = () => (argv.printConfig === true ? config!.printConfig(module, own) : handler(given as never))
      // After a handler, yargs lays out the whole help, a third of the time of a start.
      throw PARSED
    },
  })
  try {
    await parser.parseAsync()
  } catch (error) {
    if (error !== PARSED) throw error
  }
  await run?.()
}

/** Splits the arguments at `--`, if the command takes another one after it. Gives values to flags that may stand alone. */
function splitCommand(
  args: readonly string[],
  { takesOtherCommand, flags }: Command,
): { readonly own: readonly string[]; readonly other?: readonly string[] } {
  const at = takesOtherCommand ? args.indexOf('--') : -1
  const own = (at < 0 ? args : args.slice(0, at)).map((arg, i) => {
    const alone = arg.startsWith('--') ? flags?.[arg.slice(2)]?.alone : undefined
    return alone === undefined || /^[^-]|^$/.test(args[i + 1] ?? '-') ? arg : `${arg}=${alone}`
  })
  return at < 0 ? { own } : { own, other: args.slice(at + 1) }
}

/** Refuses values of switches other than true and false: yargs reads them as false. */
function requireSwitchValues(args: readonly string[], argv: Readonly<Record<string, unknown>>): void {
  for (const arg of args) {
    const [, name, value] = /^--([^=]+)=(.*)$/s.exec(arg) ?? []
    if (name === undefined || argv[name] !== false || value === 'false') continue
    throw new UsageError(
      `Failed to read --${name} '${value}': it is a switch and has no value. Give --${name} alone, or leave it out.`,
    )
  }
}

/** Converts a message of yargs, with a suggestion for a typo. */
function explainParseError(message: string, given: Given): string {
  const { args, flags, options, module, other } = given
  if (message.startsWith('Failed to ')) return message
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1]?.split(', ')[0]
  const [command, word] = given.words
  if (unknown !== undefined && word && module.takesOtherCommand && !module.positional && !other) {
    return `Failed to run '${word}': a command comes after --. Write it as in ${command} -- ${args.slice(args.indexOf(word)).join(' ')}.`
  }
  // yargs shows an empty word in quotes.
  if (unknown !== undefined) return unknownArgument(unknown === '""' ? '' : unknown, args, flags)
  const choice = /^Invalid values:\s+Argument: (\S+), Given: "(.*?)", Choices: (.*)$/s.exec(message)
  if (choice !== null) {
    const [, name = '', value = '', choices = ''] = choice
    const subject = flags.includes(name) ? `--${name}` : `the ${name}`
    return unknownChoice(
      subject,
      value,
      Array.from(choices.matchAll(/"([^"]*)"/g), ([, word]) => word!),
    )
  }
  if (message.startsWith('Not enough non-option arguments')) return missingArgument(given)
  const flagWithoutValue = /^Not enough arguments following: (.*)$/.exec(message)?.[1]
  if (flagWithoutValue !== undefined) {
    const words = options.wordsOfFlag(flagWithoutValue)
    const advice = words === undefined ? 'Give one after it.' : `Words are ${words.join(', ')}.`
    return `Failed to read --${flagWithoutValue}: its value is missing. ${advice}`
  }
  return `Failed to read the command line: ${message.replaceAll(/\s*\n\s*/g, ' ')}. See --help.`
}

function unknownArgument(name: string, args: readonly string[], flags: readonly string[]): string {
  const argument = args.find(arg => /^-/.test(arg) && arg.replace(/^-+/, '').split('=', 1)[0] === name)
  if (argument === undefined && args.includes(name)) {
    return `Failed to read '${name}': unknown argument. See --help for the arguments.`
  }
  const meant = nearestWord(name, flags)
  const hint = meant ? `Did you mean --${meant}?` : 'See --help for the flags.'
  return `Failed to read ${argument?.split('=', 1)[0] ?? `--${name}`}: unknown flag. ${hint}`
}

/** Returns an error that names the missing words after a command, with an example of the command. */
function missingArgument({ args, words: others, flags, module }: Given): string {
  const unknown = args.map(toFlagName).find(name => name !== undefined && !flags.includes(name))
  if (unknown !== undefined) return unknownArgument(unknown, args, flags)
  const { command, actions } = module
  const words = [String(command).split(' ', 1)[0]!, ...others]
  const [action] = others
  const isAction = actions !== undefined && action !== undefined
  if (isAction && !Object.hasOwn(actions, action)) {
    return unknownChoice('the action', action, Object.keys(actions))
  }
  const example = isAction ? [...words, actions[action]].join(' ') : module.example
  const required = Array.from(String(command).matchAll(/<(\w+)(?:\.\.)?>/g), ([, name]) => name!)
  const missing = required.slice(words.length - 1).map(name => `the ${name}`)
  const isOne = missing.length === 1 && !String(command).endsWith('..>')
  const [verb, object] = isOne ? ['is', 'it'] : ['are', 'them']
  const advice = example === undefined ? 'See --help.' : `Give ${object}, as in: modelhost-sim ${example}`
  return `Failed to run '${words.join(' ')}': ${missing.join(' and ')} ${verb} missing. ${advice}`
}

/** Returns the name of a flag, without dashes and value; undefined for another word. */
function toFlagName(arg: string): string | undefined {
  return /^--?([A-Za-z][\w-]*)/.exec(arg)?.[1]
}

/** A command line that cannot be read. */
interface Given {
  readonly args: readonly string[]
  /** The words after the command that are neither flags nor their values. */
  readonly words: readonly string[]
  /** The names of the flags that the command line may have. */
  readonly flags: readonly string[]
  readonly module: Command
  readonly options: typeof simulatorOptions
  /** The words after `--`. */
  readonly other: readonly string[] | undefined
}
