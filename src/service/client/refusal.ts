/** The error of the typed client. In its own file, so that scripts import it without the declarations. */
import { acceptCopies } from '../../lib/errors.ts'

/**
 * An error answer of the service.
 *
 * @example
 * await api.getDeployment({ deploy_id: 'none' }).catch(error => error.status) // 404
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  /** The parsed body, or its text if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: only the caller knows the type
  readonly body: any
  readonly headers: Headers
  constructor(operation: string, status: number, body: unknown, headers: Headers) {
    super(`${operation}: ${status} ${typeof body === 'string' ? body : JSON.stringify(body)}`)
    this.status = status
    this.body = body
    this.headers = headers
  }
}
acceptCopies(Refusal, 'Refusal')
