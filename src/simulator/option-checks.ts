/** Checks of options that name a kind of value, and readers of the seed and the epoch. The parts of the simulator check what is in a value. */
import * as z from 'zod'
import { DEFAULT_EPOCH_MS, elapsedAt, MAX_WORLD_AGE } from '../kernel/clock.ts'
import { isRecord } from '../lib/json-text.ts'
import { LIMITS } from '../lib/limits.ts'
import { quote } from '../lib/quote.ts'
import { formatCount } from '../lib/text/numbers.ts'
import { isHost } from '../service/native/webhook-address.ts'

export const NamedOrObject = z.custom(value => typeof value === 'string' || isRecord(value), {
  error: 'a name, a path, or an object',
})
export const PlainObject = z.custom(isRecord, { error: 'an object' })
export const List = z.custom(Array.isArray, { error: 'a list' })
/** A seed of a file or a body. Other numbers are not as they were written: some of their digits are lost. */
export const Seed = z
  .union([z.string(), z.number()])
  .refine(seed => seed !== '' && (typeof seed === 'string' || Number.isSafeInteger(seed)), {
    error: 'a text in quotes, or a safe integer',
  })
export const Callback = z.custom(value => typeof value === 'function', { error: 'a function' })

const fillError = {
  error: `numbers of records from 0 to ${formatCount(LIMITS.filledRecords)}, as in { models: 100, deployments: 200 }`,
}
const BulkCount = z.int(fillError).min(0, fillError).max(LIMITS.filledRecords, fillError).optional()
export const Fill = z.strictObject({ models: BulkCount, deployments: BulkCount }, fillError)

const webhooksError = {
  error:
    "{ allow, deliver }, as in { allow: ['hooks.example:8080'] } or --allow-webhook hooks.example:8080: allow has hosts, and deliver is a function",
}
export const Webhooks = z.strictObject(
  {
    allow: z.array(z.string(webhooksError).refine(isHost, webhooksError), webhooksError).optional(),
    deliver: z.custom(value => value === undefined || typeof value === 'function', webhooksError).optional(),
  },
  webhooksError,
)

/** Returns a seed. Rejects a value of another type. */
export function readSeed(seed: unknown): string | number {
  if (typeof seed === 'string' || (typeof seed === 'number' && Number.isFinite(seed))) return seed
  throw new RangeError(
    `Failed to make a simulator: the seed is ${quote(seed)}. Give a text, or a number that is finite.`,
  )
}

const LAST_EPOCH_MS = Date.UTC(9999, 11, 31) - MAX_WORLD_AGE / 1000

/** Returns the epoch in milliseconds since 1970. */
export function readEpoch(epoch: string | undefined): number {
  if (epoch === undefined) return DEFAULT_EPOCH_MS
  const ms = Math.floor(elapsedAt(epoch, 0) / 1000)
  if (!Number.isFinite(ms) || elapsedAt(epoch, ms) % 1000 !== 0) {
    throw new RangeError(
      `Failed to read the epoch '${epoch}': no time with an offset. Give ISO 8601, to the millisecond at most, as in '2026-01-01T00:00:00Z'.`,
    )
  }
  if (ms > LAST_EPOCH_MS) {
    throw new RangeError(
      `Failed to read the epoch '${epoch}': a world can become ${LIMITS.worldAge} years old, and the last year is 9999. Give an earlier time.`,
    )
  }
  return ms
}
