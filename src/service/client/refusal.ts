/** What a refused call of the typed client throws. Apart, for a script that catches it needs none of the declarations. */
const REFUSAL_BRAND = Symbol.for('modelhost-sim.refusal')

/**
 * What the service refused.
 *
 * @example
 * await api.getDeployment({ deploy_id: 'none' }).catch(error => error.status) // 404
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  /** The parsed body, or its text where it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a caller knows what it asked
  readonly body: any
  readonly headers: Headers
  constructor(operation: string, status: number, body: unknown, headers: Headers) {
    super(`${operation}: ${status} ${typeof body === 'string' ? body : JSON.stringify(body)}`)
    this.status = status
    this.body = body
    this.headers = headers
    Object.defineProperty(this, REFUSAL_BRAND, { value: true })
  }

  /** A refusal of another copy of this package is one, too: a script and what plays it may have loaded one each. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && REFUSAL_BRAND in value
  }
}
