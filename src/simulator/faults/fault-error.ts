import { acceptCopies } from '../../lib/errors.ts'

/** An invalid rule. The message names the field and a remedy. */
export class FaultError extends RangeError {
  /** The path of the invalid field, if it is one field, and the problem. */
  readonly path: readonly PropertyKey[]
  readonly reason: string

  constructor(message: string, path: readonly PropertyKey[] = [], reason = message) {
    super(message)
    this.path = path
    this.reason = reason
  }
}
acceptCopies(FaultError, 'FaultError')
