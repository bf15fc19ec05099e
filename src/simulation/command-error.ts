import { acceptCopies } from '../lib/errors.ts'

/** A command that cannot be executed: an unknown name or target, or an invalid argument. */
export class CommandError extends RangeError {
  override readonly name = 'CommandError'
}
acceptCopies(CommandError, 'CommandError')
