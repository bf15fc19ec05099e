import * as z from 'zod'
import { headers as fields, withHeaders } from './answer-fields.ts'
import { defineFaultKind } from './kind.ts'

/** The usual answer with other headers, as of limits that are about to be reached. */
export const headers = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('headers'), headers: fields }),
  summary: 'Its answer, with other headers',
  finding: ({ headers }, operation) => `the answer to ${operation} had the headers ${Object.keys(headers).join(', ')}`,
  example: { kind: 'headers', headers: { 'x-ratelimit-remaining-requests': '0' } },
  async act({ headers }, hit) {
    return withHeaders(await hit.proceed(), headers)
  },
})
