/** A request on its way to its endpoint, and what its door knows of it. */
import type { ResponseWaiter } from '../endpoint.ts'
import type { VendorMapping } from '../naming/translation.ts'
import type { ScriptedAnswer } from '../openai/scripted-answers.ts'
import type { CompiledOperation } from './compiled-operation.ts'

/** Asks for answers in the neutral words, whatever names the world has, with the value `neutral`. */
export const NAMES_HEADER = 'x-sim-names'

/** What a door knows of a request beside the request. */
export interface IncomingRequest {
  /** Where the caller is; 127.0.0.1 unless said. */
  clientAddress?: string | undefined
  /** Path and query below the base address, where the request's own URL has a prefix. */
  path?: string | undefined
  /** Reads a header, where the door rewrites some. */
  header?: ((name: string) => string | null) | undefined
  /** Called when the request takes its place, right before its one step: to move the clock, or to wait in a queue. */
  beforeHandling?: (() => void | Promise<void>) | undefined
  /** What is answered in place of a model. */
  findScriptedAnswer?: ((model: string, words: string) => ScriptedAnswer | undefined) | undefined
  /** How the client waits for an answer that takes time; it does not unless said. */
  waiter?: ResponseWaiter | undefined
  /** Hears of the request when it has been answered. */
  onReceived?: ((request: AnsweredRequest) => void) | undefined
}

/** A request that was answered. */
export interface AnsweredRequest {
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
export interface RequestContext<Backend = unknown> {
  readonly backend: Backend
  readonly request: Request
  readonly incoming: IncomingRequest
  readonly operation: CompiledOperation
  /** Without the query, in the neutral words. */
  readonly path: string
  /** In the neutral words. */
  readonly params: Readonly<Record<string, string>>
  /** The query without its question mark. */
  readonly search: string
}

/** What a client sent, for messages that may quote it. */
export interface QuotableInput {
  readonly params: Readonly<Record<string, string>>
  readonly search: string
  readonly text: string | undefined
}

/** Where a refusal quotes nothing that a client sent. */
export const EMPTY_INPUT: QuotableInput = Object.freeze({ params: {}, search: '', text: undefined })

/**
 * A request in neutral words: the journal has no others. Whoever asks for neutral answers gets them: the typed client,
 * which is the same whatever names a world has.
 */
export function translateRequest<Backend>(
  mapping: VendorMapping,
  context: RequestContext<Backend>,
): RequestContext<Backend> {
  const { operation: matchedOperation, params: vendorParams } = context
  const params = matchedOperation.requestMapping!.params.toInternal(vendorParams) as Readonly<Record<string, string>>
  let path = mapping.toInternalPath(context.path, matchedOperation.endpoint)
  for (const [name, value] of Object.entries(params)) {
    // What is one of some words needs no escapes.
    if (value !== vendorParams[name]) path = path.replace(`/${vendorParams[name]}`, `/${value}`)
  }
  const operation =
    createHeaderReader(context)(NAMES_HEADER) === 'neutral' ? matchedOperation.withNeutralResponse : matchedOperation
  return { ...context, operation, path, params }
}

/** Path and query below the base address, as they came. */
export function requestTarget({ operation, request, incoming, path, search }: RequestContext): string {
  if (operation.requestMapping !== undefined) return incoming.path ?? toPathAndQuery(request.url)
  return search === '' ? path : `${path}?${search}`
}

export function createHeaderReader({
  request,
  incoming,
}: Pick<RequestContext, 'request' | 'incoming'>): (name: string) => string | null {
  return incoming.header ?? (name => request.headers.get(name))
}

/** Path and query of an absolute URL, without parsing the rest of it. */
export function toPathAndQuery(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return '/'
  const hash = url.indexOf('#', start)
  return hash < 0 ? url.slice(start) : url.slice(start, hash)
}
