/** Types shared by the commands of the CLI. */
import yargs, { type Argv } from 'yargs'
import { nearestWord } from '../lib/did-you-mean.ts'

/** The module of a command, loaded on demand. */
export interface Command {
  /** In the syntax of yargs: `run [files..]`. */
  readonly command: string | readonly string[]
  readonly describe: string
  /** A whole command line, for the error of a missing argument: `fixture check my-world`. */
  readonly example?: string
  /** Whether the words after `--` are those of another command. The handler gets them as `otherCommand`. */
  readonly takesOtherCommand?: boolean
  /** Whether the configuration file gives defaults of its flags. */
  readonly takesConfig?: boolean
  /** The values of an argument `<action>`, each with an example of the argument after it. */
  readonly actions?: Readonly<Record<string, string>>
  builder(argv: Argv): Argv<never>
  /** Resolves when the command has ended. A command that leaves a server open is ended by a signal. */
  handler(argv: never): void | Promise<void>
}

/** A mistake of the user: one line on stderr, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const EXIT_CODES = 'Exit codes: 0 success, 1 a check failed, 2 could not run, 130 and 143 on signals.'

/** Returns the error for a word that is not one of those that a flag or an argument takes. */
export function unknownChoice(subject: string, given: string, words: readonly string[]): string {
  const meant = nearestWord(given, words)
  return `Failed to read ${subject} '${given}': ${meant ? `did you mean '${meant}'?` : 'no such word.'} Words are ${words.join(', ')}.`
}

/** Returns the flags of a command with their defaults, without its positional arguments. */
export function flagsOf({ command, builder }: Command): Readonly<Record<string, unknown>> {
  type Declared = { readonly key: object; readonly default: Readonly<Record<string, unknown>> }
  const declared = (builder(yargs([])) as unknown as { getOptions(): Declared }).getOptions()
  // For yargs, a positional argument is an option, too.
  const positional: readonly string[] = String(command).match(/\w+(?=(\.\.)?[\]>])/g) ?? []
  const names = Object.keys(declared.key).filter(name => !positional.includes(name))
  return Object.fromEntries(names.map(name => [name, declared.default[name]]))
}
