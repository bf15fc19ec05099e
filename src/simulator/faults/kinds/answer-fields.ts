/** Fields of the fault kinds that answer in place of the endpoint: headers and a body of the rule's own. */

import * as z from 'zod'
import { isNestedDeeper } from '../../../lib/json-values.ts'
import { LIMITS } from '../../../lib/limits.ts'
import type { FaultHit } from './kind.ts'

/** Seconds in `Retry-After` of a 429 or 503, as the service gives if a place may become free at any time. */
const DEFAULT_RETRY_AFTER = '1'
const RETRIED_STATUSES: readonly number[] = [429, 503]
/** Statuses whose answers have no body. */
export const NULL_BODY_STATUSES: readonly number[] = [204, 205, 304]

/** Headers that the connection decides. */
const CONNECTION_HEADERS = ['connection', 'content-length', 'keep-alive', 'trailer', 'transfer-encoding', 'upgrade']

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/
const headerName = z
  .string()
  .refine(name => HEADER_NAME.test(name), {
    abort: true,
    error: 'a header name: at most 100 ASCII letters, digits and signs, as in x-request-id',
  })
  .refine(name => !CONNECTION_HEADERS.includes(name.toLowerCase()), {
    error: `a header other than those that the connection decides: ${CONNECTION_HEADERS.join(', ')}`,
  })
const headerValue = z
  .string()
  .max(LIMITS.faultHeader)
  .regex(/^[\t\x20-\x7e]*$/, { error: 'text of printable ASCII' })

const headerRecord = z
  .record(headerName, z.union([headerValue, z.null()]))
  .refine(given => Object.keys(given).length <= LIMITS.faultHeaders, {
    error: `at most ${LIMITS.faultHeaders} headers`,
  })

/** Headers of the answer. They replace the usual ones; null leaves a usual one out. */
export const headers = z.preprocess((given, context) => {
  // A record leaves `__proto__` out.
  const seen = new Set(['__proto__'])
  for (const name of Object.keys(Object(given))) {
    if (seen.has(name.toLowerCase())) {
      const message = name === '__proto__' ? 'another name' : 'each header once, in any case'
      context.addIssue({ code: 'custom', message, path: [name] })
    }
    seen.add(name.toLowerCase())
  }
  return given
}, headerRecord) as unknown as typeof headerRecord

/** The body of the answer: a text as it is, any other value as JSON. */
export const body = z
  .custom<unknown>(isBody, {
    error: `text or JSON of at most ${LIMITS.faultBody} characters, nested at most ${LIMITS.bodyDepth} deep`,
  })
  .meta({ description: 'A text is sent as it is, any other value as JSON' })

function isBody(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= LIMITS.faultBody
  if (isNestedDeeper(value, LIMITS.bodyDepth)) return false
  const text = JSON.stringify(value) as string | undefined
  return text !== undefined && text.length <= LIMITS.faultBody
}

/** What a rule says of the answer, beside its status. */
export interface AnswerFields {
  readonly headers?: Readonly<Record<string, string | null>> | undefined
  readonly body?: unknown
}

/** Returns an answer of the rule: its body, else an error in the shape of the endpoint, or nothing below 400. */
export function createAnswer(
  { passage }: FaultHit,
  status: number,
  message: string,
  { headers, body }: AnswerFields,
  usualHeaders: Readonly<Record<string, string>> = defaultHeaders(status),
): Response {
  const answer =
    NULL_BODY_STATUSES.includes(status) || (body === undefined && status < 400)
      ? new Response(null, { status })
      : body === undefined
        ? passage.refuse(status, message)
        : typeof body === 'string'
          ? passage.respondText(status, body, 'text/plain; charset=utf-8')
          : passage.respondText(status, JSON.stringify(body), 'application/json')
  return withHeaders(withHeaders(answer, usualHeaders), headers)
}

/** Sets headers of an answer; null removes one. */
export function withHeaders(answer: Response, headers: AnswerFields['headers'] = {}): Response {
  for (const [name, value] of Object.entries(headers)) {
    if (value === null) answer.headers.delete(name)
    else answer.headers.set(name, value)
  }
  return answer
}

/** Returns the headers that the service gives with a status. */
function defaultHeaders(status: number): Readonly<Record<string, string>> {
  return RETRIED_STATUSES.includes(status) ? { 'retry-after': DEFAULT_RETRY_AFTER } : {}
}
