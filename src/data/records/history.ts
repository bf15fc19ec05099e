/** The records of what an account used before the epoch of the world. */
import * as z from 'zod'
import { filledText, isoTime } from './examples.ts'

const count = z.int().min(0)

/** The use of a deployment, hosted instance or container of the fixture, spread evenly over its time. */
const PastRent = z.strictObject({
  kind: z.literal('rent'),
  /** Wire id of the deployment, hosted instance or container. */
  id: filledText('Chat000000000001'),
  /** Default: its created_at. */
  from: isoTime.optional(),
  /** Default: the epoch. */
  to: isoTime.optional(),
  /** Billed instances. */
  instances: z.int().min(1).default(1),
  /** Price of one GPU, or of the machine of a hosted instance. Default: that of the profile or of its plan. */
  cents_per_hour: z.number().min(0).max(1e9).optional(),
  requests: count.default(0),
  input_tokens: count.default(0),
  output_tokens: count.default(0),
})

/** The tokens of requests to a model of the catalog, spread evenly over a time. */
const PastTokens = z.strictObject({
  kind: z.literal('tokens'),
  /** A model of models.json. Its price is that of hardware.json. */
  model: filledText('acme-labs/chat-8b'),
  from: isoTime,
  /** Default: the epoch. */
  to: isoTime.optional(),
  input_tokens: count.default(0),
  output_tokens: count.default(0),
  /** The API token that made the requests. Default: the first one of the fixture. */
  token_id: z.string().optional(),
  /** Share of the price, such as that of batches. */
  price_share: z.number().min(0).max(1).default(1),
})

/** What an account used in a time before the epoch. */
export const PastUsageRecord = z.discriminatedUnion('kind', [PastRent, PastTokens])
export type PastUsageRecord = z.infer<typeof PastUsageRecord>
