import * as z from 'zod'
import { headers, withHeaders } from './answer-fields.ts'
import { effect, whenDone } from './fields.ts'
import { answerInstead, defineFaultKind } from './kind.ts'

const TITLES: Readonly<Record<number, string>> = {
  200: 'Welcome',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Temporarily Unavailable',
  504: 'Gateway Time-out',
}

/** The HTML page of a proxy in place of JSON. */
export const html = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('html'),
    status: z.union([z.literal(200), z.literal(500), z.literal(502), z.literal(503), z.literal(504)]).default(502),
    effect,
    headers: headers.optional(),
  }),
  summary: 'The HTML page of a proxy',
  finding: (fault, operation) =>
    `${operation} was answered with an HTML page and status ${fault.status ?? 502}${whenDone(fault)}`,
  example: { kind: 'html', status: 504, effect: 'done' },
  act({ status, effect, headers }, hit) {
    const title = `${status} ${TITLES[status]}`
    const text =
      `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n` +
      '<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n'
    return answerInstead(effect, hit, status, () =>
      withHeaders(hit.passage.respondText(status, text, 'text/html'), headers),
    )
  },
})
