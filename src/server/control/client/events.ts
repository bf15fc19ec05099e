/** Live events for clients of the control plane: an async iterator over server-sent events. */
import type * as z from 'zod'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import { ServerSentEventParser } from '../../../lib/text/server-sent-events.ts'
import { Refusal } from '../../../service/client/refusal.ts'
import type { JournalEntrySchema, RequestSchema } from '../event-views.ts'

/** A journal entry. */
export type ControlEntry = z.output<typeof JournalEntrySchema>
/** A received request. */
export type ControlRequest = z.output<typeof RequestSchema>

/** An event. `id` is where to continue: give it as `after`. */
export type ControlEvent = { readonly id: string } & (
  | { readonly type: 'entry'; readonly entry: ControlEntry }
  | { readonly type: 'request'; readonly request: ControlRequest }
  /** Events that were no longer kept when the reader came to them. */
  | { readonly type: 'gap'; readonly entries: number; readonly requests: number; readonly message: string }
  /** A reset or a restore: the journal and the requests begin again. */
  | { readonly type: 'world'; readonly message: string }
  /** The last event. `slow`: the client did not read. `closed`: the simulator or the server ends. */
  | { readonly type: 'end'; readonly reason: 'slow' | 'closed'; readonly message: string }
)

/** Which events are read, and from where on. */
export interface EventsOptions {
  /** A kind of journal entry, or `request`. `*` is any text, as in `deployment.*`. Default: all. */
  readonly kind?: string | readonly string[]
  /** The id of a thing. `*` is any text. Default: all. */
  readonly subject?: string | readonly string[]
  /** `now`, `start` for the oldest event that is kept, or the id of an event. Default: `now`. */
  readonly after?: string
  /** Whether to wait for further events. Default: true. */
  readonly follow?: boolean
  /** Ends the iterator: its `next` rejects with the reason. */
  readonly signal?: AbortSignal
}

/** Returns the query of `GET /_sim/events`. */
export function eventsQuery({ kind, subject, after, follow }: EventsOptions): string {
  const query = new URLSearchParams()
  if (kind !== undefined) query.set('kind', [kind].flat().join(','))
  if (subject !== undefined) query.set('subject', [subject].flat().join(','))
  if (after !== undefined) query.set('after', after)
  if (follow !== undefined) query.set('follow', String(follow))
  return query.size === 0 ? '' : `?${query}`
}

/** Reads events. The request is sent by the first `next`. `return`, as by a `break`, ends the connection. */
export function readEvents(
  open: () => Promise<Response>,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<ControlEvent> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let isOver = false
  const end = () => {
    isOver = true
    reader?.cancel().catch(() => {})
  }
  async function* read() {
    try {
      signal?.throwIfAborted()
      signal?.addEventListener('abort', end)
      const response = await open()
      if (!response.ok || response.body === null) {
        throw new Refusal('events', response.status, parseJsonOrText(await response.text()), response.headers)
      }
      reader = response.body.getReader()
      const parser = new ServerSentEventParser()
      while (!isOver) {
        const { done, value } = await reader.read()
        if (done) break
        for (const { type, id, data } of parser.read(value)) {
          if (!isOver) yield toControlEvent(type, id, JSON.parse(data))
        }
      }
      signal?.throwIfAborted()
    } finally {
      signal?.removeEventListener('abort', end)
      end()
    }
  }
  const events = read()
  const conclude = events.return.bind(events)
  // That of the generator alone would wait for the next event.
  return Object.assign(events, {
    return() {
      end()
      return conclude(undefined)
    },
  })
}

function toControlEvent(type: string, id: string, value: object): ControlEvent {
  return (type === 'entry' || type === 'request' ? { type, id, [type]: value } : { type, id, ...value }) as ControlEvent
}
