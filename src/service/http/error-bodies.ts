/** The bodies of refusals, by the error shape of their endpoint. */
import type { ErrorShape } from '../endpoint.ts'
import { createMessageErrorBody } from '../messages/error-body.ts'
import { createCompatErrorBody } from '../openai/error-body.ts'
import type { RefusalError } from '../refusals.ts'
import type { ValidationDetail } from './validation-errors.ts'

/**
 * Returns the body of a refusal in the error shape of its endpoint.
 *
 * A refusal with a body of its own keeps it. In an OpenAI-compatible route and in messages, only a 422 and scripted
 * bodies are kept.
 */
export function createErrorBody(
  shape: ErrorShape,
  { status, message, body, isQuoted }: Pick<RefusalError, 'status' | 'message' | 'body' | 'isQuoted'>,
): unknown {
  if (shape === 'compat' || shape === 'message') {
    const keepsBody = isQuoted || status === 422 || (shape === 'compat' && hasErrorObject(body))
    if (body !== undefined && keepsBody) return body
    if (status === 422) return createInvalidBody(message)
    return shape === 'compat' ? createCompatErrorBody(status, message) : createMessageErrorBody(status, message)
  }
  // The core of inference gives its refusals the body of the OpenAI-compatible routes.
  if (body !== undefined && (isQuoted || !hasErrorObject(body))) return body
  if (shape === 'simple') return { error: message }
  return { detail: shape === 'detail' ? message : { error: message } }
}

/** Returns the body of a 422 that is not about a field. */
export function createInvalidBody(message: string): { readonly detail: readonly ValidationDetail[] } {
  return { detail: [{ loc: ['body'], msg: message, type: 'value_error' }] }
}

function hasErrorObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null && typeof (body as { error?: unknown }).error === 'object'
}
