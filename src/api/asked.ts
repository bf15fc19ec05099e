/** A request on its way to its endpoint, and what its door knows of it. */
import type { Patience } from './endpoint.ts'
import type { Prepared } from './prepared.ts'
import type { ScriptedAnswer } from './scripted.ts'
import type { Wording } from './wording.ts'

/** Asks for answers in the neutral words, whatever names the world has, with the value `neutral`. */
export const NAMES_HEADER = 'x-sim-names'

/** What a door knows of a request beside the request. */
export interface Call {
  /** Where the caller is; 127.0.0.1 unless said. */
  clientAddress?: string | undefined
  /** Path and query below the base address, where the request's own URL has a prefix. */
  path?: string | undefined
  /** Reads a header, where the door rewrites some. */
  header?: ((name: string) => string | null) | undefined
  /** Called when the request takes its place, right before its one step: to move the clock, or to wait in a queue. */
  enter?: (() => void | Promise<void>) | undefined
  /** What is answered in place of a model. */
  scripted?: ((model: string, words: string) => ScriptedAnswer | undefined) | undefined
  /** How the client waits for an answer that takes time; it does not unless said. */
  patience?: Patience | undefined
  /** Hears of the request when it has been answered. */
  received?: ((request: Received) => void) | undefined
}

/** A request that was answered. */
export interface Received {
  readonly operation: string
  readonly method: string
  /** Path and query below the base address, as they came. */
  readonly path: string
  readonly status: number
  /** The body as text; undefined where there was none, or it was an upload. */
  readonly text: string | undefined
  /** What of it nothing reads, where the world looks for that. */
  readonly unread?: readonly string[]
}

/** A request whose operation is known. */
export interface Asked<Context = unknown> {
  readonly context: Context
  readonly request: Request
  readonly call: Call
  readonly one: Prepared
  /** Without the query, in the neutral words. */
  readonly path: string
  /** In the neutral words. */
  readonly params: Readonly<Record<string, string>>
  /** The query without its question mark. */
  readonly search: string
}

/** What a client sent, for messages that may quote it. */
export interface Sent {
  readonly params: Readonly<Record<string, string>>
  readonly search: string
  readonly text: string | undefined
}

/** Where a refusal quotes nothing that a client sent. */
export const NOTHING: Sent = Object.freeze({ params: {}, search: '', text: undefined })

/**
 * A request in neutral words: the journal has no others. Whoever asks for neutral answers gets them: the typed client,
 * which is the same whatever names a world has.
 */
export function heard<Context>(wording: Wording, asked: Asked<Context>): Asked<Context> {
  const { one: found, params: named } = asked
  const params = found.hears!.params.inward(named) as Readonly<Record<string, string>>
  let path = wording.neutralPath(asked.path, found.endpoint)
  for (const [name, value] of Object.entries(params)) {
    // What is one of some words needs no escapes.
    if (value !== named[name]) path = path.replace(`/${named[name]}`, `/${value}`)
  }
  const one = headerReader(asked)(NAMES_HEADER) === 'neutral' ? found.neutral : found
  return { ...asked, one, path, params }
}

/** Path and query below the base address, as they came. */
export function targetOf({ one, request, call, path, search }: Asked): string {
  if (one.hears !== undefined) return call.path ?? pathOf(request.url)
  return search === '' ? path : `${path}?${search}`
}

export function headerReader({ request, call }: Pick<Asked, 'request' | 'call'>): (name: string) => string | null {
  return call.header ?? (name => request.headers.get(name))
}

/** Path and query of an absolute URL, without parsing the rest of it. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return '/'
  const hash = url.indexOf('#', start)
  return hash < 0 ? url.slice(start) : url.slice(start, hash)
}
