/** The error bodies of messages, in the shape of that protocol. */

/** `type` of an error by its status. All are those of the protocol. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Returns the body of a refusal, which is also the data of an `error` event. */
export function createMessageErrorBody(status: number, message: string) {
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error' as const, error: { type, message } }
}
