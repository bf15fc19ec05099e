/** Requests of a client in the output of a test: a line each, without credentials. */

import { formatJsonValue } from '../evidence/differences.ts'
import { hideSecrets, hideSecretsInQuery, hideSecretsInText } from '../evidence/requests/secrets.ts'
import type { ReceivedRequest } from '../simulator/requests/request-log.ts'

/** Returns method, path, status and body of a request. */
export function formatRequestLine({ method, path, status, body }: ReceivedRequest): string {
  const shown = typeof body === 'string' ? hideSecretsInText(body) : hideSecrets(body)
  const end = body === undefined ? '' : ` ${formatJsonValue(shown)}`
  return `${method} ${hideSecretsInQuery(path)} → ${status === 0 ? 'no answer' : status}${end}`
}
