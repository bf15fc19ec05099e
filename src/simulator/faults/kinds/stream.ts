import * as z from 'zod'
import { mapEvents } from '../body-streams.ts'
import { isEventStream, WireFaultResponse } from '../wire-faults.ts'
import { body } from './answer-fields.ts'
import { ENDS, message } from './fields.ts'
import { defineFaultKind } from './kind.ts'

/** The event that says why an answer ended, and the last event, in each format of streams. */
const FINISH = /"(?:finish_reason|stop_reason)":\s*"/
const LAST = /^data: \[DONE\]|^event: message_stop/m
/** The event after which a stream ends, by the name of the place. */
const PLACES = { toolCall: /"(?:arguments|partial_json)":\s*"[^"]/, finish: FINISH }

/** A stream of events that ends, breaks or falls silent at one of its events, or that has an event of the rule there. */
export const stream = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('stream'),
    /** So many events, but never the finish; the last event of the answer; the first arguments of a call; the finish. */
    after: z.union([z.int().min(0), z.enum(['answer', 'toolCall', 'finish'])]).default(3),
    end: z.enum(['error', 'close', 'reset', 'silence']).optional(),
    /** The data of an event at that place. Without `end`, the stream goes on after it. */
    event: body.optional(),
    /** Whether the last event says that the stream is whole. */
    done: z.boolean().default(false),
    message: message.default('the answer ended early'),
  }),
  summary: 'A stream that ends early, with an error event by default, or that has an event of the rule',
  finding: ({ after = 3, event, end }, operation) =>
    `${end !== undefined || event === undefined ? ENDS[end ?? 'error'] : 'an event came'} after ${after}${typeof after === 'number' ? ' events' : ''} in the stream of ${operation}`,
  example: { kind: 'stream', after: 5, end: 'close' },
  appliesTo: (_, { streamEvent }) => streamEvent !== undefined,
  scope: 'operations that can answer with a stream',
  async act({ after, event, end = event === undefined ? 'error' : undefined, done, message }, hit) {
    const answer = await hit.proceed()
    if (!isEventStream(answer)) {
      hit.missed()
      return answer
    }
    const data = event === undefined && end === 'error' ? await hit.passage.refuse(500, message).text() : toData(event)
    const isNamed = event === undefined && hit.passage.endpoint.errorShape === 'message'
    const added = data === undefined ? '' : `${isNamed ? 'event: error\n' : ''}data: ${data}\n\n`
    const inserted = done ? `${added}data: [DONE]\n\n` : added
    const place = after === 'toolCall' || after === 'finish' ? PLACES[after] : undefined
    let count = 0
    let isOver = false
    const change = (text: string) => {
      const isHere = place?.test(text) ?? (count++ === after || FINISH.test(text) || LAST.test(text))
      if (isOver || !isHere) return { text }
      isOver = true
      if (end === undefined) return { text: place === undefined ? inserted + text : text + inserted }
      const then = end === 'reset' ? ('reset' as const) : ('end' as const)
      return { text: place === undefined ? inserted : text + inserted, then }
    }
    const changed = mapEvents(answer, change, () => isOver || hit.missed())
    return end === 'silence' ? new WireFaultResponse({ kind: 'silent' }, changed) : changed
  },
})

function toData(event: unknown): string | undefined {
  return typeof event === 'string' || event === undefined ? event : JSON.stringify(event)
}
