/** Types shared by the commands of the CLI. */
import { nearestWord } from '../lib/did-you-mean.ts'

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

/** Where a command writes. */
export interface CommandIo {
  out(text: string): void
  error(text: string): void
  /** Whether `error` writes to a terminal. */
  readonly isTerminal?: boolean
}

/** The streams of this process. */
export const PROCESS_IO: CommandIo = {
  out: text => process.stdout.write(text),
  error: text => process.stderr.write(text),
  get isTerminal() {
    return process.stderr.isTTY === true
  },
}
