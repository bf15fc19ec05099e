/** An operation with its routes and the schemas of its path and query, compiled once. */
import * as z from 'zod'
import type { ApiScope } from '../api-scope.ts'
import { type AnyEndpoint, endpointPaths, type Operations } from '../endpoint.ts'
import type { EndpointMapping } from '../naming/endpoint-mapping.ts'
import type { Alias } from '../naming/sections.ts'
import type { VendorMapping } from '../naming/translation.ts'
import { getTokenCounter, loadTokenizer } from '../openai/tokenizer.ts'
import type { Routes } from '../operation-table.ts'
import { RefusalError } from '../refusals.ts'
import * as listField from './list-field.ts'
import { Router } from './router.ts'

/** The schemas of the path and the query of a request. */
interface InputSchemas {
  /** Undefined if every text is valid. */
  readonly params: z.ZodObject | undefined
  readonly query: z.ZodObject | undefined
  /** The parsed empty query; undefined if an empty query is invalid. */
  readonly emptyQuery: unknown
  /** The parameters of the query that are lists. */
  readonly queryLists: readonly string[]
}

/** Compiling a parser takes 10 ms, about as much as it saves on this number of bodies. */
const COMPILE_AFTER_BODIES = 1_000

/** An operation with everything that does not depend on the request. */
export class CompiledOperation {
  readonly operationId: string
  /** The vendor names of requests. */
  readonly requestMapping: EndpointMapping | undefined
  /** The vendor names of responses. */
  readonly responseMapping: EndpointMapping | undefined
  /** The further route that leads to the operation; undefined for its own. */
  readonly alias: Alias | undefined
  readonly #operations: Operations
  #endpoint: AnyEndpoint | undefined
  #inputSchemas: InputSchemas | undefined
  #bodyCount = 0
  #compiledBody: z.ZodType | undefined

  /** @param operations where its declaration is, by operation id */
  constructor(
    operation: string,
    operations: Operations,
    requestMapping: EndpointMapping | undefined,
    responseMapping: EndpointMapping | undefined,
    alias?: Alias,
  ) {
    this.operationId = operation
    this.#operations = operations
    this.requestMapping = requestMapping
    this.responseMapping = responseMapping
    this.alias = alias
  }

  /** Its declaration, which is read with the first request. */
  get endpoint(): AnyEndpoint {
    this.#endpoint ??= this.#operations[this.operationId]!
    return this.#endpoint
  }

  get readsBody(): boolean {
    return this.endpoint.body !== undefined || this.endpoint.upload !== undefined
  }

  /** The shape of its errors. A names profile can change it. */
  get errorShape(): AnyEndpoint['errorShape'] {
    return this.requestMapping?.errorShape ?? this.endpoint.errorShape
  }

  /** Returns the refusal without a body in another shape, if the names profile gives the operation a shape. */
  withoutOwnBody(refusal: RefusalError): Pick<RefusalError, 'status' | 'message' | 'body' | 'isQuoted'> {
    const { status, message, isQuoted } = refusal
    const keepsBody = this.requestMapping?.errorShape === undefined || isQuoted || status === 422
    return keepsBody ? refusal : { status, message, body: undefined, isQuoted }
  }

  /** Compiled at the first request: few processes use every operation, and all of them have to start. */
  get inputSchemas(): InputSchemas {
    this.#inputSchemas ??= createInputSchemas(this.endpoint)
    return this.#inputSchemas
  }

  /** Returns the schema of the body. After 1,000 bodies it is a compiled one, which is faster. */
  bodyParser(): z.ZodType {
    this.#bodyCount++
    if (this.#bodyCount === COMPILE_AFTER_BODIES) this.#compiledBody = z.compile(this.endpoint.body!)
    return this.#compiledBody ?? this.endpoint.body!
  }

  /**
   * Returns the schema of a request's body if it depends on the model that the path names, or on a policy.
   *
   * @throws RefusalError for an unknown model
   */
  bodySchemaFor(scope: object, params: Readonly<Record<string, string>>): z.ZodType | undefined {
    const { byTask, bodyFor } = this.endpoint
    if (bodyFor !== undefined) return bodyFor((scope as Pick<ApiScope, 'world'>).world.profile.policies)
    return byTask?.schemas[byTask.findTask(scope as never, params)]?.body
  }

  /** The same operation with neutral names in responses. */
  get withNeutralResponse(): CompiledOperation {
    return new CompiledOperation(this.operationId, this.#operations, this.requestMapping, undefined, this.alias)
  }

  /** Whether a request may need the tokenizer before it is loaded. */
  get mayLackTokenizer(): boolean {
    const { needsTokenizer, byTask } = this.endpoint
    return byTask !== undefined || (needsTokenizer && getTokenCounter() === undefined)
  }

  /**
   * Loads the tokenizer if a request needs it.
   *
   * @param scope what its handler would get now, or why it would be refused
   */
  async loadTokenizer(scope: object, params: Readonly<Record<string, string>>): Promise<void> {
    if (this.endpoint.needsTokenizer || this.#taskNeedsTokenizer(scope, params)) await loadTokenizer()
  }

  #taskNeedsTokenizer(scope: object, params: Readonly<Record<string, string>>): boolean {
    const { byTask } = this.endpoint
    if (byTask === undefined || scope instanceof RefusalError) return false
    try {
      return byTask.schemas[byTask.findTask(scope as never, params)]?.needsTokenizer ?? false
    } catch (error) {
      if (error instanceof RefusalError) return false
      throw error
    }
  }
}

function createInputSchemas({ params, query: fields }: AnyEndpoint): InputSchemas {
  const query = Object.keys(fields).length > 0 ? z.object(fields) : undefined
  const emptyResult = query?.safeParse({})
  return {
    params: Object.values(params).every(isPlainString) ? undefined : z.object(params),
    query,
    emptyQuery: emptyResult?.success ? Object.freeze(emptyResult.data) : undefined,
    queryLists: Object.keys(fields).filter(name => listField.isListField(fields[name]!)),
  }
}

/** Whether every string is valid, so that requests need no check. */
export function isPlainString(schema: z.ZodType): boolean {
  return schema instanceof z.ZodString && (schema.def.checks ?? []).length === 0
}

/** Routers by their operations or mapping. Neither changes, and a process creates many pipelines. */
const routers = new WeakMap<object, Router<CompiledOperation>>()

/**
 * Returns the router of some operations.
 *
 * @param routes the routes of exactly these operations
 */
export function getRouter(
  operations: Operations,
  routes: Routes,
  mapping: VendorMapping | undefined,
): Router<CompiledOperation> {
  const cachedRouter = routers.get(mapping ?? operations)
  if (cachedRouter !== undefined) return cachedRouter
  const mappingOf = (operation: string) => mapping?.forEndpoint(operations[operation]!)
  const aliases = (mapping?.aliases ?? []).map(alias => {
    const endpointMapping = mappingOf(alias.operation)
    const compiled = new CompiledOperation(alias.operation, operations, endpointMapping, endpointMapping, alias)
    return [{ method: alias.method, path: alias.path, standsAlone: true }, compiled] as const
  })
  const router = new Router<CompiledOperation>([
    ...Object.entries(routes).flatMap(([operation, route]) => {
      const endpointMapping = mappingOf(operation)
      const compiled = new CompiledOperation(operation, operations, endpointMapping, endpointMapping)
      const paths = endpointPaths(route)
      const servedPaths = mapping === undefined ? paths : paths.flatMap(path => mapping.servedPaths(path))
      // Routes of a user may overlap.
      const standsAlone = 'isOwn' in route
      return servedPaths.map(path => [{ method: route.method, path, standsAlone }, compiled] as const)
    }),
    ...aliases,
  ])
  routers.set(mapping ?? operations, router)
  return router
}
