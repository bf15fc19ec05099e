/** The price of a model as the catalog shows it: eight types, each with its own rates. */
import * as z from 'zod'

const cents = z.number().min(0)
const table = { columns: z.array(z.string()), rows: z.array(z.array(z.string())) }

/** Fields of every type. A fixture may leave them out. */
const common = { short: z.string().default(''), full: z.string().default('') }

/** Marks a value that the interface document does not call the only one. */
const typeOf = <const T extends string>(type: T) => z.literal(type).meta({ 'x-open': true })

/** The fields of each type, without the fields that all types have. `rate_per_input_token_cached` is a share of the price of an input token. */
const SHAPES = {
  time: { type: typeOf('time'), cents_per_sec: cents },
  uptime: { type: typeOf('uptime'), cents_per_sec: cents },
  tokens: {
    type: typeOf('tokens'),
    cents_per_input_token: cents,
    cents_per_output_token: cents,
    rate_per_input_token_cached: z.number().min(0).max(1).nullable().default(null),
    rate_per_input_token_cache_write: z.number().min(0).nullable().default(null),
  },
  input_tokens: { type: typeOf('input_tokens'), cents_per_input_token: cents },
  input_length: { type: typeOf('input_length'), cents_per_input_sec: cents },
  input_character_length: { type: typeOf('input_character_length'), cents_per_input_chars: cents },
  image_units: {
    type: typeOf('image_units'),
    cents_per_image_unit: cents,
    default_width: z.int().min(1),
    default_height: z.int().min(1),
    default_iterations: z.int().min(1),
    default_price_cents: cents.nullable().default(null),
    usage_from_cost: z.boolean().default(false),
  },
  output_length: { type: typeOf('output_length'), cents_per_output_sec: cents },
}

export const PRICING_TYPES = Object.keys(SHAPES) as (keyof typeof SHAPES)[]

/** A price in a fixture. Unknown fields are refused. */
const inFixture = <S extends z.core.$ZodLooseShape>(shape: S) =>
  z.strictObject({ ...shape, ...common, table: z.strictObject(table).default({ columns: [], rows: [] }) })

/** A price in an answer. */
const inAnswer = <S extends z.core.$ZodLooseShape>(shape: S) =>
  z.object({ ...shape, ...common, table: z.object(table) })

export const ModelPricing = z.discriminatedUnion('type', [
  inFixture(SHAPES.time),
  inFixture(SHAPES.uptime),
  inFixture(SHAPES.tokens),
  inFixture(SHAPES.input_tokens),
  inFixture(SHAPES.input_length),
  inFixture(SHAPES.input_character_length),
  inFixture(SHAPES.image_units),
  inFixture(SHAPES.output_length),
])
export type ModelPricing = z.output<typeof ModelPricing>

export const TimePricingAnswer = inAnswer(SHAPES.time)
export type TimePricing = z.output<typeof TimePricingAnswer>

export const PricingAnswer = z.discriminatedUnion('type', [
  TimePricingAnswer,
  inAnswer(SHAPES.uptime),
  inAnswer(SHAPES.tokens),
  inAnswer(SHAPES.input_tokens),
  inAnswer(SHAPES.input_length),
  inAnswer(SHAPES.input_character_length),
  inAnswer(SHAPES.image_units),
  inAnswer(SHAPES.output_length),
])
