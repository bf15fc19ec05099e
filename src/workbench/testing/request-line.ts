/** Requests of a client in the output of a test: a line each. */

import { formatJsonValue } from '../../lib/differences.ts'
import type { ReceivedRequest } from '../../simulator/exchanges/request-log.ts'

/** Returns method, path, status and body of a request. */
export function formatRequestLine({ method, path, status, body }: ReceivedRequest): string {
  const end = body === undefined ? '' : ` ${formatJsonValue(body)}`
  return `${method} ${path} → ${status === 0 ? 'no answer' : status}${end}`
}
