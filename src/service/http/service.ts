/** The service's API over a world: `Request` in, `Response` out. */
import type { PolledResource } from '../../simulation/reporting/progress.ts'
import type { World } from '../../simulation/world.ts'
import type { ApiScope, Operations } from '../endpoint.ts'
import { documentedOperations, operations } from '../index.ts'
import type { Names } from '../naming/names-profile.ts'
import { translateDocument } from '../naming/openapi-naming.ts'
import { VendorMapping } from '../naming/translation.ts'
import { createOpenapiDocument } from '../openapi/openapi.ts'
import { authenticate, KEY_HEADER } from './authentication.ts'
import { Pipeline } from './pipeline.ts'
import { type IncomingRequest, NAMES_HEADER, type RequestHooks, toPathAndQuery } from './request-context.ts'

export interface ApiOptions {
  /** Serves the endpoints that the interface document does not have but its lifecycles need. On by default. */
  neighbours?: boolean | undefined
  /** The names that paths, headers and bodies have for clients; the neutral ones unless given. */
  names?: Names | undefined
  /** Refuses fields of a body that are not declared. */
  strictRequests?: boolean | undefined
  /** Hears of exceptions that are bugs of ours; the caller gets a 500 with `x-sim-error`. */
  onBug?: ((error: unknown, operation: string) => void) | undefined
}

export interface Api {
  /** The operations it serves, by operation id. */
  readonly operations: Operations<ApiScope>
  /**
   * Answers a request to a world; at once, without a promise, where the request has no body to read.
   *
   * @param hooks Default: the request is answered as the world is, and nothing records it
   * @example await api.answer(world, new Request('http://sim/v1/voices', { headers: { authorization: 'Bearer …' } }))
   */
  answer(
    world: World,
    request: Request,
    incoming?: IncomingRequest,
    hooks?: RequestHooks<World>,
  ): Response | Promise<Response>
  /** The operation a method and path lead to, undefined where none does. */
  findOperationId(method: string, path: string): string | undefined
  /** The header that takes a token beside `Authorization`, by the name that clients have for it. */
  readonly keyHeader: string
  /** Every path under which an operation of this one is served: the neutral one, and that of the names. */
  servedPaths(path: string): readonly string[]
  /** The things whose progress a request looks at; undefined for one that looks at none. */
  findPolledResource(method: string, target: string): PolledResource | undefined
}

const LOCALHOST = '127.0.0.1'
const NO_SCRIPTED_ANSWERS = () => undefined
const OPENAPI_PATH = '/openapi.json'

/** @throws RangeError for names that have a meaning already where they would stand */
export function createApi(options: ApiOptions = {}): Api {
  const servedOperations: Operations<ApiScope> = options.neighbours === false ? documentedOperations : operations
  const mapping = options.names && getMapping(options.names, servedOperations)
  const pipeline = new Pipeline<World, ApiScope>({
    operations: servedOperations,
    createScope: context => ({
      world: context.backend,
      token: authenticate(
        context.backend.store,
        context,
        context.endpoint.auth,
        context.incoming.clientAddress ?? LOCALHOST,
      ),
      findScriptedAnswer: context.hooks.findScriptedAnswer ?? NO_SCRIPTED_ANSWERS,
    }),
    time: worldEpochMs,
    replaceBackend: (scope, world) => ({ ...scope, world }),
    openEntry: (world, operation, method, path, cause) => world.openRequest(operation, method, path, cause),
    amendEntry: (entry, status) => {
      ;(entry as ReturnType<World['openRequest']>).fields.status = status
    },
    closeEntry: (world, entry, status) => world.closeRequest(entry as ReturnType<World['openRequest']>, status),
    mapping,
    ...(options.strictRequests && { strictRequests: true }),
    ...(options.onBug && { onBug: options.onBug }),
  })
  const documentTexts = new Map<VendorMapping | undefined, string>()
  const respondOpenapi = (world: World, documentMapping: VendorMapping | undefined): Response => {
    let text = documentTexts.get(documentMapping)
    if (text === undefined) {
      const document = createOpenapiDocument(servedOperations)
      text = JSON.stringify(
        documentMapping === undefined ? document : translateDocument(document, documentMapping, servedOperations),
      )
      documentTexts.set(documentMapping, text)
    }
    const headers = { 'content-type': 'application/json', date: new Date(worldEpochMs(world)).toUTCString() }
    return new Response(text, { headers })
  }
  const answer: Api['answer'] = (world, request, incoming, hooks) => {
    if (!isOpenapiRequest(request, incoming)) return pipeline.answer(world, request, incoming, hooks)
    const namesHeader = incoming?.header?.(NAMES_HEADER) ?? request.headers.get(NAMES_HEADER)
    return respondOpenapi(world, namesHeader === 'neutral' ? undefined : mapping)
  }

  return {
    operations: servedOperations,
    findOperationId: (method, path) => pipeline.findOperationId(method, path),
    keyHeader: mapping?.names.toVendorHeader(KEY_HEADER) ?? KEY_HEADER,
    servedPaths: path => mapping?.servedPaths(path) ?? [path],
    findPolledResource: (method, target) => pipeline.findPolledResource(method, target),
    answer,
  }
}

/** What was compiled for some names over some operations: neither changes, and forks share both. */
const mappingCache = new WeakMap<Names, WeakMap<object, VendorMapping>>()

function getMapping(names: Names, operations: Operations): VendorMapping {
  const mappingsByOperations = mappingCache.get(names) ?? new WeakMap<object, VendorMapping>()
  mappingCache.set(names, mappingsByOperations)
  const mapping = mappingsByOperations.get(operations) ?? new VendorMapping(names, operations)
  mappingsByOperations.set(operations, mapping)
  return mapping
}

/** Milliseconds since 1970 of a world's time. */
function worldEpochMs(world: World): number {
  return world.clock.epochMs + world.clock.now / 1000
}

function isOpenapiRequest(request: Request, incoming: IncomingRequest | undefined): boolean {
  const target = incoming?.path ?? request.url
  // The cheap look first: it is asked of every request.
  return (
    target.endsWith(OPENAPI_PATH) &&
    request.method === 'GET' &&
    (incoming?.path ?? toPathAndQuery(target)) === OPENAPI_PATH
  )
}
