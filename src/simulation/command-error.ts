/** A command that can not be executed: an unknown name or target, or an invalid argument. */
export class CommandError extends RangeError {
  override readonly name = 'CommandError'
}
