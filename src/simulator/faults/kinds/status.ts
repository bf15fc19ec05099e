import * as z from 'zod'
import { body, createErrorAnswer, headers } from './answer-fields.ts'
import { effect, message } from './fields.ts'
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

/** An error in the endpoint's own shape, or with a body of the rule. A 429 and a 503 have `Retry-After`. */
export const status = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(400).max(599),
    message: message.optional(),
    effect,
    headers: headers.optional(),
    body: body.optional(),
  }),
  summary: 'An error status, 400 to 599, in the error shape of the endpoint or with `body`',
  example: { kind: 'status', status: 503, message: 'try later' },
  act({ status, message = REASON_PHRASES[status] ?? 'Error', effect, ...answer }, hit) {
    return answerInstead(effect, hit, status, () => createErrorAnswer(hit, status, message, answer))
  },
})
