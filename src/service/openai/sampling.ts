/** Request fields that chat and text completions share. */

import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { integer, looseObject, text } from '../fields.ts'

export const SamplingFields = {
  /** A completion has at least one token. */
  max_tokens: integer({ min: 1 }).nullish(),
  n: integer({ min: 1, max: LIMITS.choices }).nullish(),
  stop: z.union([text(), z.array(text()).max(4)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: looseObject({
    include_usage: z.boolean().nullish(),
    include_obfuscation: z.boolean().nullish(),
  }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullish(),
  seed: integer().nullish(),
  user: text().nullish(),
  service_tier: z.enum(['auto', 'default', 'flex', 'priority', 'scale']).nullish(),
}
