/** The price of a model as the catalog shows it: eight types, each with its own rates. */
import * as z from 'zod'

const cents = z.number().min(0)

/** Fields of every type. */
const common = {
  short: z.string().default(''),
  full: z.string().default(''),
  table: z
    .strictObject({ columns: z.array(z.string()), rows: z.array(z.array(z.string())) })
    .default({ columns: [], rows: [] }),
}

export const TimePricing = z.strictObject({ type: z.literal('time'), cents_per_sec: cents, ...common })
export type TimePricing = z.output<typeof TimePricing>

/** The price of a model. `rate_per_input_token_cached` is a share of the price of an input token. */
export const ModelPricing = z.discriminatedUnion('type', [
  TimePricing,
  z.strictObject({ type: z.literal('uptime'), cents_per_sec: cents, ...common }),
  z.strictObject({
    type: z.literal('tokens'),
    cents_per_input_token: cents,
    cents_per_output_token: cents,
    rate_per_input_token_cached: z.number().min(0).max(1).nullable().default(null),
    rate_per_input_token_cache_write: z.number().min(0).nullable().default(null),
    ...common,
  }),
  z.strictObject({ type: z.literal('input_tokens'), cents_per_input_token: cents, ...common }),
  z.strictObject({ type: z.literal('input_length'), cents_per_input_sec: cents, ...common }),
  z.strictObject({ type: z.literal('input_character_length'), cents_per_input_chars: cents, ...common }),
  z.strictObject({
    type: z.literal('image_units'),
    cents_per_image_unit: cents,
    default_width: z.int().min(1),
    default_height: z.int().min(1),
    default_iterations: z.int().min(1),
    default_price_cents: cents.nullable().default(null),
    usage_from_cost: z.boolean().default(false),
    ...common,
  }),
  z.strictObject({ type: z.literal('output_length'), cents_per_output_sec: cents, ...common }),
])
export type ModelPricing = z.output<typeof ModelPricing>
