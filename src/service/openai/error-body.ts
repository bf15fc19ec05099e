/** The error body of the OpenAI-compatible routes. */

/** `type` and `code` of a refusal by its status. The code of 429 is recorded from the live service; others are inferred. */
const COMPAT_ERRORS: Readonly<Record<number, readonly [type: string, code: string | null]>> = {
  401: ['authentication_error', 'invalid_api_key'],
  402: ['insufficient_quota', 'insufficient_quota'],
  403: ['permission_error', null],
  404: ['invalid_request_error', 'model_not_found'],
  429: ['rate_limit_error', 'engine_overloaded'],
}

/** Returns the body of a refusal of an OpenAI-compatible route. Default of `code`: that of the status. */
export function createCompatErrorBody(
  status: number,
  message: string,
  { param = null, code }: { readonly param?: string | null; readonly code?: string } = {},
) {
  const fallbackType = status < 500 ? 'invalid_request_error' : 'server_error'
  const [type, defaultCode] = COMPAT_ERRORS[status] ?? [fallbackType, null]
  return { error: { message, type, param, code: code ?? defaultCode } }
}
