/** Errors that end a request with a refusal. */

/** A refusal of the service. Any other exception of a handler is a bug of the simulator. */
export class RefusalError extends Error {
  override readonly name = 'RefusalError'
  readonly status: number
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The whole body, where the endpoint's error shape does not apply. */
  readonly body: unknown
  /** Whether the message is the user's own text, which is never translated. */
  readonly isQuoted: boolean
  constructor(
    status: number,
    message: string,
    headers?: Readonly<Record<string, string>>,
    body?: unknown,
    isQuoted = false,
  ) {
    super(message)
    this.isQuoted = isQuoted
    this.status = status
    this.headers = headers
    this.body = body
  }
}

/**
 * Ends the request with a refusal in the endpoint's error shape. Nothing may have been changed before.
 *
 * @example world.deployments.get(id) ?? refuse(404, `no deployment ${id}`)
 */
export function refuse(status: number, message: string, headers?: Readonly<Record<string, string>>): never {
  throw new RefusalError(status, message, headers)
}

/** Ends the request with a 422 about one field, for rules that need more than the body to judge. */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError'
  readonly loc: readonly string[]
  readonly type: string
  constructor(loc: readonly string[], message: string, type: string) {
    super(message)
    this.loc = loc
    this.type = type
  }
}

/** @example invalid(['body', 'hub'], 'no weights for acme/x: name a repository', 'value_error') */
export function rejectInput(loc: readonly string[], message: string, type = 'value_error'): never {
  throw new InvalidInputError(loc, message, type)
}
