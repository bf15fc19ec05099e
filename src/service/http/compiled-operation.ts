/** An operation as requests find it: by its routes, with what its path and query are held to. */
import * as z from 'zod'
import { type AnyEndpoint, endpointPaths } from '../endpoint.ts'
import type { EndpointMapping, VendorMapping } from '../naming/translation.ts'
import { getTokenCounter } from '../openai/tokenizer.ts'
import { Router } from './router.ts'

/** What the path and the query of a request are held to. */
interface InputSchemas {
  /** Undefined where any text will do. */
  readonly params: z.ZodObject | undefined
  readonly query: z.ZodObject | undefined
  /** The query when there is none, where that is valid. */
  readonly emptyQuery: unknown
}

/** To compile a parser takes about as long as it saves on so many bodies: 10 ms. */
const COMPILE_AFTER_BODIES = 1_000

/** An operation with all that need not be settled at each request. */
export class CompiledOperation {
  readonly operationId: string
  readonly endpoint: AnyEndpoint
  readonly readsBody: boolean
  /** The names that requests may have beside the neutral ones. */
  readonly requestMapping: EndpointMapping | undefined
  /** The names that answers have. */
  readonly responseMapping: EndpointMapping | undefined
  #inputSchemas: InputSchemas | undefined
  #bodyCount = 0
  #compiledBody: z.ZodType | undefined

  constructor(
    operation: string,
    endpoint: AnyEndpoint,
    requestMapping: EndpointMapping | undefined,
    responseMapping: EndpointMapping | undefined,
  ) {
    this.operationId = operation
    this.endpoint = endpoint
    this.readsBody = endpoint.body !== undefined || endpoint.upload !== undefined
    this.requestMapping = requestMapping
    this.responseMapping = responseMapping
  }

  /** Made at the first request: few processes ask for every operation, and all of them have to start. */
  get inputSchemas(): InputSchemas {
    this.#inputSchemas ??= createInputSchemas(this.endpoint)
    return this.#inputSchemas
  }

  /** What a body is held to: to the same, but faster once there were many. */
  bodyParser(): z.ZodType {
    this.#bodyCount++
    if (this.#bodyCount === COMPILE_AFTER_BODIES) this.#compiledBody = z.compile(this.endpoint.body!)
    return this.#compiledBody ?? this.endpoint.body!
  }

  /** The same, which answers in the neutral words. */
  get withNeutralResponse(): CompiledOperation {
    return new CompiledOperation(this.operationId, this.endpoint, this.requestMapping, undefined)
  }

  /** Whether it needs a tokenizer that is not loaded yet. */
  get lacksTokenizer(): boolean {
    return this.endpoint.needs.includes('tokenizer') && getTokenCounter() === undefined
  }
}

function createInputSchemas({ params, query: fields }: AnyEndpoint): InputSchemas {
  const query = Object.keys(fields).length > 0 ? z.object(fields) : undefined
  const emptyResult = query?.safeParse({})
  return {
    params: Object.values(params).every(isPlainString) ? undefined : z.object(params),
    query,
    emptyQuery: emptyResult?.success ? Object.freeze(emptyResult.data) : undefined,
  }
}

/** Any string will do: nothing to check per request. */
function isPlainString(schema: z.ZodType): boolean {
  return schema instanceof z.ZodString && (schema.def.checks ?? []).length === 0
}

/** Routers by what they were made from: neither changes, and a process makes many pipelines of them. */
const routers = new WeakMap<object, Router<CompiledOperation>>()

export function getRouter(operations: object, mapping: VendorMapping | undefined): Router<CompiledOperation> {
  const cachedRouter = routers.get(mapping ?? operations)
  if (cachedRouter !== undefined) return cachedRouter
  const router = new Router(
    Object.entries(operations).flatMap(([operation, endpoint]: [string, AnyEndpoint]) => {
      const endpointMapping = mapping?.forEndpoint(endpoint)
      const compiled = new CompiledOperation(operation, endpoint, endpointMapping, endpointMapping)
      const paths = endpointPaths(endpoint)
      const servedPaths = mapping === undefined ? paths : paths.flatMap(path => mapping.servedPaths(path))
      return servedPaths.map(path => [{ method: endpoint.method, path }, compiled] as const)
    }),
  )
  routers.set(mapping ?? operations, router)
  return router
}
