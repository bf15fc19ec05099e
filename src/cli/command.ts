/** What the commands of the CLI have in common. */
import type { Argv } from 'yargs'

/** A command's module: it is loaded when the command is asked for. */
export interface Command {
  /** As yargs takes it: `run [files..]`. */
  readonly command: string | readonly string[]
  readonly describe: string
  builder(argv: Argv): Argv<never>
  /** Ends when the command has; one that leaves something open ends by signals. */
  handler(argv: never): void | Promise<void>
}

/** Something that the user has to put right: one line on stderr, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const EXIT_CODES = 'Exit codes: 0 done, 1 a check failed, 2 could not run, 130 and 143 on signals.'
