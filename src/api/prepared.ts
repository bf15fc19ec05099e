/** An operation as requests find it: by its routes, with what its path and query are held to. */
import * as z from 'zod'
import { type AnyEndpoint, pathsOf } from './endpoint.ts'
import { Router } from './router.ts'
import { tokenizer } from './tokenizer.ts'
import type { EndpointWords, Wording } from './wording.ts'

/** What the path and the query of a request are held to. */
interface Rules {
  /** Undefined where any text will do. */
  readonly params: z.ZodObject | undefined
  readonly query: z.ZodObject | undefined
  /** The query when there is none, where that is valid. */
  readonly emptyQuery: unknown
}

/** To compile a parser takes about as long as it saves on so many bodies: 10 ms. */
const MANY_BODIES = 1_000

/** An operation with all that need not be settled at each request. */
export class Prepared {
  readonly operation: string
  readonly endpoint: AnyEndpoint
  readonly readsBody: boolean
  /** The names that requests may have beside the neutral ones. */
  readonly hears: EndpointWords | undefined
  /** The names that answers have. */
  readonly speaks: EndpointWords | undefined
  #rules: Rules | undefined
  #bodies = 0
  #compiled: z.ZodType | undefined

  constructor(
    operation: string,
    endpoint: AnyEndpoint,
    hears: EndpointWords | undefined,
    speaks: EndpointWords | undefined,
  ) {
    this.operation = operation
    this.endpoint = endpoint
    this.readsBody = endpoint.body !== undefined || endpoint.upload !== undefined
    this.hears = hears
    this.speaks = speaks
  }

  /** Made at the first request: few processes ask for every operation, and all of them have to start. */
  get rules(): Rules {
    this.#rules ??= rulesOf(this.endpoint)
    return this.#rules
  }

  /** What a body is held to: to the same, but faster once there were many. */
  body(): z.ZodType {
    this.#bodies++
    if (this.#bodies === MANY_BODIES) this.#compiled = z.compile(this.endpoint.body!)
    return this.#compiled ?? this.endpoint.body!
  }

  /** The same, which answers in the neutral words. */
  get neutral(): Prepared {
    return new Prepared(this.operation, this.endpoint, this.hears, undefined)
  }

  /** Whether it needs a tokenizer that is not loaded yet. */
  get lacksTokenizer(): boolean {
    return this.endpoint.needs.includes('tokenizer') && tokenizer() === undefined
  }
}

function rulesOf({ params, query: fields }: AnyEndpoint): Rules {
  const query = Object.keys(fields).length > 0 ? z.object(fields) : undefined
  const empty = query?.safeParse({})
  return {
    params: Object.values(params).every(isPlainString) ? undefined : z.object(params),
    query,
    emptyQuery: empty?.success ? Object.freeze(empty.data) : undefined,
  }
}

/** Any string will do: nothing to check per request. */
function isPlainString(schema: z.ZodType): boolean {
  return schema instanceof z.ZodString && (schema.def.checks ?? []).length === 0
}

/** Routers by what they were made from: neither changes, and a process makes many pipelines of them. */
const routers = new WeakMap<object, Router<Prepared>>()

export function routerOf(operations: object, wording: Wording | undefined): Router<Prepared> {
  const made = routers.get(wording ?? operations)
  if (made !== undefined) return made
  const router = new Router(
    Object.entries(operations).flatMap(([operation, endpoint]: [string, AnyEndpoint]) => {
      const words = wording?.of(endpoint)
      const one = new Prepared(operation, endpoint, words, words)
      const paths = pathsOf(endpoint)
      const named = wording === undefined ? paths : paths.flatMap(path => wording.paths(path))
      return named.map(path => [{ method: endpoint.method, path }, one] as const)
    }),
  )
  routers.set(wording ?? operations, router)
  return router
}
