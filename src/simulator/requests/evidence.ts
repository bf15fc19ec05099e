/** What simulators of the main entry tell of the requests that they received. */

import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { RequestFilter } from './find.ts'
import type { RequestExpectation, Verification, VerifyOptions } from './verify.ts'

/** The methods of a simulator about its requests. */
export interface RequestEvidence {
  /**
   * Returns the requests of `requests` that match a filter, oldest first.
   *
   * @throws RangeError for an unknown field, operation, status or token, and for an invalid time
   * @example sim.findRequests({ operation: 'create*', status: '4xx', from: '10m' })
   */
  findRequests(filter?: RequestFilter): readonly ReceivedRequest[]
  /**
   * Compares the received requests with expectations: how many, and in which order. It throws for an invalid expectation
   * alone, so look at `ok`.
   *
   * @throws RangeError for an unknown field, operation, status or token, and for contradictory counts
   * @example
   * const { ok, message } = sim.verify({ operation: 'createLlmDeployment', exactly: 1, body: { gpu: 'H100-80GB' } })
   * if (!ok) throw new Error(message)
   */
  verify(expected: RequestExpectation | readonly RequestExpectation[], options?: VerifyOptions): Verification
}
