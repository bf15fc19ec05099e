/** Request fields that chat and text completions share. */

import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { integer, looseObject, text } from '../fields.ts'

export const SamplingFields = {
  /** A completion has at least one token. */
  max_tokens: integer({ min: 1 }).nullable().optional(),
  n: integer({ min: 1, max: LIMITS.choices }).nullable().optional(),
  stop: z
    .union([text(), z.array(text()).max(4)])
    .nullable()
    .optional(),
  stream: z.boolean().nullable().optional(),
  stream_options: looseObject({
    include_usage: z.boolean().nullable().optional(),
    include_obfuscation: z.boolean().nullable().optional(),
  })
    .nullable()
    .optional(),
  temperature: z.number().min(0).max(2).nullable().optional(),
  top_p: z.number().min(0).max(1).nullable().optional(),
  presence_penalty: z.number().min(-2).max(2).nullable().optional(),
  frequency_penalty: z.number().min(-2).max(2).nullable().optional(),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullable().optional(),
  seed: integer().nullable().optional(),
  user: text().nullable().optional(),
  service_tier: z.enum(['auto', 'default', 'flex', 'priority', 'scale']).nullable().optional(),
}
