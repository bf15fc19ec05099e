/** The lines of batch files. A names profile names their fields. */

import * as z from 'zod'
import { recordSchema } from './fields.ts'
import { BATCH_ENDPOINT } from './records.ts'

/** A line of the input file of a batch. The endpoint of its `url` declares its `body`. */
export const BatchRequestLine = recordSchema('BatchRequestLine', {
  custom_id: z.string(),
  method: z.string(),
  url: z.string(),
  body: z.unknown(),
})

/** A row of the output file or the error file of a batch. The `endpoint` declares the `body`. */
export const BatchResultLine = recordSchema('BatchResultLine', {
  id: z.string(),
  custom_id: z.string(),
  response: z
    .object({
      status_code: z.int(),
      request_id: z.string(),
      endpoint: z.string().meta(BATCH_ENDPOINT),
      body: z.unknown(),
    })
    .nullable(),
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      param: z.string().nullable(),
      type: z.string().nullable(),
    })
    .nullable(),
})
