import * as z from 'zod'
import { body, createAnswer, headers, NULL_BODY_STATUSES } from './answer-fields.ts'
import { effect, message, whenDone } from './fields.ts'
import { answerInstead, defineFaultKind } from './kind.ts'

const REASON_PHRASES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  413: 'Request Entity Too Large',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  529: 'Overloaded',
}

/** An answer of any status: an error in the shape of the endpoint, or a body of the rule. A 429 and a 503 have `Retry-After`. */
export const status = defineFaultKind({
  schema: z
    .strictObject({
      kind: z.literal('status'),
      status: z.int().min(200).max(599),
      message: message.optional(),
      effect,
      headers: headers.optional(),
      body: body.optional(),
    })
    .refine(({ status, body }) => body === undefined || !NULL_BODY_STATUSES.includes(status), {
      path: ['body'],
      error: `no body with a status of ${NULL_BODY_STATUSES.join(', ')}`,
    })
    .refine(({ status, body, message }) => message === undefined || (body === undefined && status >= 400), {
      path: ['message'],
      error: 'no message beside a body, or with a status below 400',
    }),
  summary: 'A status from 200 to 599, with `body` or the error shape of the endpoint',
  finding: (fault, operation) => `${operation} was answered with ${fault.status}${whenDone(fault)}`,
  example: { kind: 'status', status: 503, message: 'try later' },
  lineError: {
    fields: ['status', 'message'],
    of: ({ status, message = phraseOf(status) }) => ({ status, message }),
  },
  act({ status, message = phraseOf(status), effect, ...answer }, hit) {
    return answerInstead(effect, hit, status, () => createAnswer(hit, status, message, answer))
  },
})

function phraseOf(status: number): string {
  return REASON_PHRASES[status] ?? 'Error'
}
