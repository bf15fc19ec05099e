import { shellQuote } from '../../../lib/quote.ts'
import type { EncodedRequest } from './ask.ts'

/**
 * Returns the command line that sends a request.
 *
 * @param address of the server, as in `127.0.0.1:4010`
 */
export function asCurl({ method, path, body }: EncodedRequest, address: string): string {
  const flags = [
    ...(method === 'GET' || (method === 'POST' && body !== undefined) ? [] : [`-X ${method}`]),
    ...(body === undefined ? [] : [`--json ${shellQuote(body)}`]),
  ]
  return ['curl', ...flags, shellQuote(address + path)].join(' ')
}
