/** Parses a command line with yargs. It is loaded on demand, because most starts have plain flags. */
import yargs, { type CommandModule } from 'yargs'
import { nearestWord } from '../lib/did-you-mean.ts'
import { VERSION } from '../lib/version.ts'
import { OPTIONS } from '../simulator/options.ts'
import { type Command, UsageError } from './command.ts'

/** Runs the command that the arguments name, or prints the help. */
export async function runWithYargs(args: readonly string[], commands: readonly Command[]): Promise<void> {
  const { own, other } = splitCommand(args, commands)
  let parser = yargs(own)
    .scriptName('modelhost-sim')
    .usage(
      '$0 [command] [flags]\n\nA simulated model-hosting service: GPUs, deployments, batches and money under a clock.',
    )
    .version(VERSION)
    .alias({ help: 'h', version: 'v' })
    .option('debug', { type: 'boolean', describe: 'Print the stack of an error' })
    .strict()
    .parserConfiguration({
      'strip-dashed': false,
      'duplicate-arguments-array': true,
      'boolean-negation': false,
    })
    .wrap(Math.min(100, process.stdout.columns ?? 100))
    .exitProcess(true)
    .fail((message, error) => {
      // Errors of yargs come as a message or as a YError. Other errors come from our coercions.
      if (error && error.name !== 'YError') throw error
      const { key, boolean } = internals.getOptions()
      throw new UsageError(
        explainParseError(message ?? error.message, own, { flags: Object.keys(key), boolean }, commands),
      )
    })
  const internals = parser as unknown as YargsInternals
  // Errors are printed without the help. Skipping its layout saves a sixth of the start.
  internals.getInternalMethods().getUsageInstance().cacheHelpMessage = () => {}
  parser = parser.middleware(() => requireSwitchValues(own, internals.getOptions().boolean))
  if (other !== undefined) {
    parser = parser.middleware(argv => {
      argv.otherCommand = other
    })
  }
  for (const command of commands) parser = parser.command(command as unknown as CommandModule)
  await parser.parseAsync()
}

/** Splits the arguments at `--`, if the command takes another one after it. */
function splitCommand(
  args: readonly string[],
  commands: readonly Command[],
): { readonly own: readonly string[]; readonly other?: readonly string[] } {
  const at = commands.length === 1 && commands[0]!.takesOtherCommand ? args.indexOf('--') : -1
  return at < 0 ? { own: args } : { own: args.slice(0, at), other: args.slice(at + 1) }
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

/** Converts a message of yargs, with a suggestion for a typo. */
function explainParseError(
  message: string,
  args: readonly string[],
  known: KnownFlags,
  commands: readonly Command[],
): string {
  const { flags } = known
  if (message.startsWith('Failed to ')) return message
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1]?.split(', ')[0]
  if (unknown !== undefined) return unknownArgument(unknown, args, flags)
  const choice = /^Invalid values:\s+Argument: (\S+), Given: "(.*?)", Choices: (.*)$/s.exec(message)
  if (choice !== null) {
    const [, name = '', given = '', choices = ''] = choice
    return unknownChoice(
      flags.includes(name) && !isPositional(name, commands) ? `--${name}` : `the ${name}`,
      given,
      choices,
    )
  }
  if (message.startsWith('Not enough non-option arguments')) return missingArgument(args, known, commands)
  const flagWithoutValue = /^Not enough arguments following: (.*)$/.exec(message)?.[1]
  if (flagWithoutValue !== undefined) {
    const words = wordsOfFlag(flagWithoutValue)
    const advice = words === undefined ? 'Give one after it.' : `Words are ${words.join(', ')}.`
    return `Failed to read --${flagWithoutValue}: its value is missing. ${advice}`
  }
  return `Failed to read the command line: ${message.replaceAll(/\s*\n\s*/g, ' ')}. See --help.`
}

/** Returns the words that a flag takes; undefined if it takes other values. */
function wordsOfFlag(name: string): readonly string[] | undefined {
  const value = OPTIONS.find(([, { flag }]) => flag?.name === name)?.[1].flag?.value
  return Array.isArray(value) ? value : undefined
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
  return `Failed to read ${argument?.split('=', 1)[0] ?? `--${name}`}: unknown flag. ${hint}`
}

function isPositional(name: string, commands: readonly Command[]): boolean {
  return commands.some(({ command }) => String(command).includes(`<${name}>`) || String(command).includes(`[${name}]`))
}

/** Returns an error that names the missing words after a command, with an example of the command. */
function missingArgument(args: readonly string[], known: KnownFlags, commands: readonly Command[]): string {
  const unknown = args.map(toFlagName).find(name => name !== undefined && !known.flags.includes(name))
  if (unknown !== undefined) return unknownArgument(unknown, args, known.flags)
  const words = args.filter((arg, i) => toFlagName(arg) === undefined && !takesValue(args[i - 1], known))
  const [{ command, example, actions } = { command: '' }] = commands
  const [, action] = words
  if (actions !== undefined && action !== undefined && !actions.includes(action)) {
    return unknownChoice('the action', action, actions.map(word => `"${word}"`).join(', '))
  }
  const required = Array.from(String(command).matchAll(/<(\w+)(?:\.\.)?>/g), ([, name]) => name!)
  const missing = required.slice(words.length - 1).map(name => `the ${name}`)
  const isOne = missing.length === 1 && !String(command).endsWith('..>')
  const [verb, object] = isOne ? ['is', 'it'] : ['are', 'them']
  const advice =
    example === undefined
      ? 'See --help.'
      : `Give ${object}, as in: modelhost-sim ${[...words, ...example.split(' ').slice(words.length)].join(' ')}`
  return `Failed to run '${words.join(' ')}': ${missing.join(' and ')} ${verb} missing. ${advice}`
}

/** Returns the name of a flag, without dashes and value; undefined for another word. */
function toFlagName(arg: string): string | undefined {
  return /^--?([A-Za-z][\w-]*)/.exec(arg)?.[1]
}

/** Tells whether the word after an argument is the value of that argument. */
function takesValue(arg: string | undefined, { flags, boolean }: KnownFlags): boolean {
  const name = arg === undefined || arg.includes('=') ? undefined : toFlagName(arg)
  return name !== undefined && flags.includes(name) && !boolean.includes(name)
}

function unknownChoice(subject: string, given: string, choices: string): string {
  const meant = nearestWord(
    given,
    [...choices.matchAll(/"([^"]*)"/g)].map(found => found[1]!),
  )
  return `Failed to read ${subject} '${given}': ${meant ? `did you mean '${meant}'?` : 'no such word.'} Words are ${choices.trim()}.`
}

/** The flags that the command line may have. Those of `boolean` take no value. */
interface KnownFlags {
  readonly flags: readonly string[]
  readonly boolean: readonly string[]
}

/** Internals of yargs: the flags of a command, and the cache of its help. */
interface YargsInternals {
  getInternalMethods(): { getUsageInstance(): { cacheHelpMessage: () => void } }
  getOptions(): { key: Readonly<Record<string, boolean>>; boolean: readonly string[] }
}
