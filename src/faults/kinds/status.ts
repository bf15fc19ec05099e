import * as z from 'zod'
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
}

/** An error in the endpoint's own shape. */
export const status = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(400).max(599),
    message: message.optional(),
    effect,
  }),
  summary: 'An error status, 400 to 599, in the error shape of the endpoint',
  example: { kind: 'status', status: 503, message: 'try later' },
  act({ status, message = REASON_PHRASES[status] ?? 'Error', effect }, hit) {
    return answerInstead(effect, hit, status, () => hit.passage.refuse(status, message))
  },
})
