/** Errors that end a request with a refusal. */

import type { DecidedBy } from '../kernel/journal.ts'
import { acceptCopies } from '../lib/errors.ts'
import { LIMITS } from '../lib/limits.ts'
import { quote } from '../lib/quote.ts'
import type { ValidationDetail } from './http/validation-errors.ts'

/** A refusal of the service. Any other exception of a handler is a bug of the simulator. */
export class RefusalError extends Error {
  override readonly name = 'RefusalError'
  readonly status: number
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The whole body, where the endpoint's error shape does not apply. */
  readonly body: unknown
  /** Whether the body is the user's own, which keeps its shape. */
  readonly isQuoted: boolean
  /** Default: by the status. */
  readonly decidedBy: DecidedBy
  constructor(
    status: number,
    message: string,
    headers?: Readonly<Record<string, string>>,
    body?: unknown,
    isQuoted = false,
    decidedBy = deciderOf(status),
  ) {
    super(message.length <= LIMITS.errorCharacters ? message : `${message.slice(0, LIMITS.errorCharacters)}…`)
    this.decidedBy = decidedBy
    this.isQuoted = isQuoted
    this.status = status
    this.headers = headers
    this.body = body
  }
}
acceptCopies(RefusalError, 'RefusalError')

/**
 * Ends the request with a refusal in the endpoint's error shape. Nothing may have been changed before.
 *
 * @example world.deployments.get(id) ?? refuse(404, `no deployment ${id}`)
 */
export function refuse(status: number, message: string, headers?: Readonly<Record<string, string>>): never {
  if (!(Number.isInteger(status) && status >= 400 && status <= 599)) {
    const reason = typeof status === 'string' ? `: ${quote(status)} is a text` : ` ${String(status)}`
    throw new RangeError(`Failed to refuse with the status${reason}. Give one from 400 to 599.`)
  }
  if (typeof message !== 'string') {
    throw new TypeError(`Failed to refuse with the status ${status}: the message is ${quote(message)}. Give a text.`)
  }
  throw new RefusalError(status, message, headers)
}

/**
 * Ends the request as `refuse` does, because a limit of the account or the service is reached.
 *
 * @param body the whole body, where the endpoint's error shape does not apply
 */
export function refuseOverLimit(status: number, message: string, body?: unknown): never {
  throw new RefusalError(status, message, undefined, body, false, 'limit')
}

/** Ends the request as `refuse` does, because no state of the world would allow one of its values. */
export function refuseInput(status: number, message: string): never {
  throw new RefusalError(status, message, undefined, undefined, false, 'none')
}

const LIMIT_STATUSES: readonly number[] = [413, 429]
/** Statuses of requests that no state of the world would allow. */
const REQUEST_STATUSES: readonly number[] = [401, 405, 415, 422, 500]

/** Returns what a refusal with a status usually comes from. */
function deciderOf(status: number): DecidedBy {
  if (LIMIT_STATUSES.includes(status)) return 'limit'
  return REQUEST_STATUSES.includes(status) ? 'none' : 'state'
}

/** Ends the request with a 422 about one field, for rules that need more than the body to judge. */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError'
  readonly detail: ValidationDetail
  constructor(detail: ValidationDetail) {
    super(detail.msg)
    this.detail = detail
  }
}

/** @example invalid(['body', 'hub'], 'no weights for acme/x: name a repository', 'value_error') */
export function rejectInput(
  loc: string[],
  message: string | Omit<ValidationDetail, 'loc'>,
  type = 'value_error',
): never {
  throw new InvalidInputError({ loc, ...(typeof message === 'string' ? { msg: message, type } : message) })
}
