/** Journal entries and received requests as the control plane shows them: without credentials, and with short bodies. */
import * as z from 'zod'
import { DECIDERS, type Entry, type EntryFields } from '../../kernel/journal.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { ReceivedRequest } from '../../simulator/exchanges/request-log.ts'
import { describeEntry } from '../../simulator/explain/kind-sentences.ts'
import type { Simulator } from '../../simulator/simulator.ts'

export const JournalEntrySchema = z.object({
  seq: z.int().describe('Position in the journal'),
  time: z.int().describe('Microseconds since the epoch of the world'),
  at: z.string().describe('The time as ISO 8601'),
  kind: z.string(),
  subject: z.string(),
  cause: z.int().describe('Position of the entry that caused it; 0 if the world began with it'),
  fields: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
})

export function toJournalView(
  { seq, time, kind, subject, cause, fields }: Entry,
  sim: Simulator,
): z.input<typeof JournalEntrySchema> {
  return { seq, time, at: sim.world.clock.iso(time), kind, subject, cause, ...(fields && { fields }) }
}

/** A journal entry with what happened, in one to three sentences. */
export const DescribedEntrySchema = JournalEntrySchema.extend({
  sentence: z.string().describe('What happened, in one to three sentences'),
})

export function toDescribedEntry(entry: Entry, sim: Simulator): z.input<typeof DescribedEntrySchema> {
  return { ...toJournalView(entry, sim), sentence: describeEntry(entry) }
}

/** A journal entry by what happened. */
export const EntrySentenceSchema = DescribedEntrySchema.omit({ time: true, cause: true, fields: true })

/** The data of the event `entries`. Each list has one item for each entry, in the order of entries. */
export type EntryColumns = ReturnType<typeof toEntryColumns>

/** Writes entries in columns. */
export function toEntryColumns(entries: readonly Entry[], sim: Simulator) {
  const places = new Map<string, number>()
  const fieldsOf: Record<number, EntryFields> = {}
  for (const [index, { kind, fields }] of entries.entries()) {
    if (!places.has(kind)) places.set(kind, places.size)
    if (fields !== undefined) fieldsOf[index] = fields
  }
  return {
    /** When the world began, ISO 8601. */
    epoch: sim.world.clock.iso(0),
    /** Positions in the journal. The first is whole, each further one is the difference from the one before. */
    seq: stepsOf(entries.map(({ seq }) => seq)),
    /** Microseconds since the epoch. The first is whole, each further one is the difference from the one before. */
    time: stepsOf(entries.map(({ time }) => time)),
    /** Places in `kinds`. */
    kind: entries.map(({ kind }) => places.get(kind)!),
    kinds: [...places.keys()],
    subject: entries.map(({ subject }) => subject),
    /** Positions of the entries that caused them; 0 if the world began with it. */
    cause: entries.map(({ cause }) => cause),
    /** The fields of those entries that have some, by the place of the entry in the lists, from 0. */
    fields: fieldsOf,
  }
}

/** Returns the first number, and the difference of each further one from the one before. */
function stepsOf(numbers: readonly number[]): number[] {
  return numbers.map((number, index) => number - (numbers[index - 1] ?? 0))
}

/** A line of the ledger. */
export const PostingSchema = z.object({
  time: z.string(),
  kind: z.enum(['funds', 'topup', 'rent', 'tokens', 'units', 'adjustment']),
  subject: z.string().describe('Id of the billed resource'),
  microcents: z.int(),
  tokens: z.int().optional().describe('Tokens of the charge'),
  pricing_type: z.string().optional().describe('Pricing type of the units of a charge'),
  units: z.number().optional().describe('Units of the charge: images, characters or seconds'),
  token_id: z.string().optional().describe('Id of the API token whose requests were charged'),
  open: z.literal(true).optional().describe('Accrued, and not posted yet'),
})

export const RequestSchema = z.object({
  seq: z.int().describe('Position of its entry in the journal'),
  operation: z.string().describe("'' for an unknown path"),
  method: z.string(),
  path: z.string().describe('Path and query'),
  sentAt: z.string().describe('When it took its step in the world, ISO 8601'),
  at: z.string().describe('When it was answered, ISO 8601'),
  status: z.int().describe('0: a fault left the client without a response'),
  decidedBy: z.enum(DECIDERS),
  reason: z.string().optional().describe('The fault rule, or the words of the refusal'),
  retryAfter: z.number().optional().describe('Seconds that the answer asked the client to wait'),
  client: z.string().describe("The id of its API token; '' for none"),
  subjects: z.array(z.string()).describe('Ids of things that it names, then of those that it created or changed'),
  body: z.unknown().optional().describe('JSON or text, without credentials'),
  unread: z.array(z.string()).optional().describe('Fields that nothing reads. Only with strict requests'),
})

type RequestView = z.input<typeof RequestSchema>

/**
 * Returns a request as JSON. Its credentials are hidden when the JSON is sent.
 *
 * @param maxBody the longest body in characters of JSON. A longer one becomes a text that is cut
 */
export function toRequestView(
  request: ReceivedRequest,
  sim: Simulator,
  maxBody: number = LIMITS.listedBody,
): RequestView {
  const { seq, operation, method, path, sentAt, at, status, decidedBy, reason, retryAfter, client, subjects } = request
  const { body, unread } = request
  // Assigned one by one: spreads of parts would take most of the time of a page's request.
  const view = { seq, operation, method, path, sentAt, at, status, decidedBy } as RequestView
  if (reason !== undefined) view.reason = reason
  if (retryAfter !== undefined) view.retryAfter = retryAfter
  view.client = client
  view.subjects = [...subjects]
  if (body !== undefined) view.body = toBodyView(body, sim, maxBody)
  if (unread !== undefined) view.unread = [...unread]
  return view
}

function toBodyView(body: unknown, { world }: Simulator, maxLength: number): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  if (text.length <= maxLength) return body
  // The end of a credential that is cut off would not be found.
  const hidden = world.apiTokens.hideSecrets(text)
  return hidden.length <= maxLength ? hidden : `${hidden.slice(0, maxLength)}…`
}
