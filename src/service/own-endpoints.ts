/** Endpoints of a user, which a simulator serves beside those of the provider. */
import type * as z from 'zod'
import type { Clock } from '../kernel/clock.ts'
import { formatSuggestion, nearestWord } from '../lib/did-you-mean.ts'
import { assertKnownKeys } from '../lib/known-keys.ts'
import { oncePer } from '../lib/once.ts'
import { quote } from '../lib/quote.ts'
import { describeProblems, parseOwnFields } from '../lib/zod-problems.ts'
import { type AnySchema, type OutputOf, PROVIDER_KINDS, RECORD_KIND } from '../simulation/account/own-records.ts'
import type { World } from '../simulation/world.ts'
import type { ApiScope } from './api-scope.ts'
import {
  type AnyEndpoint,
  AUTH_RULES,
  createEndpointFactory,
  type Declaration,
  ERROR_SHAPES,
  endpointPaths,
  type Operations,
  ROLE_VERBS,
  type RoleVerb,
  type RouteParamNames,
  SUCCESS_STATUSES,
} from './endpoint.ts'
import type { Routes } from './operation-table.ts'

/** What the handler of an own endpoint gets besides its input. */
export interface OwnScope {
  /** The state of own endpoints: `world.records(pods).put({ … })`. */
  readonly world: Pick<World, 'records'>
  /** The virtual time: `clock.iso()`, `clock.unix()`. */
  readonly clock: Pick<Clock, 'now' | 'iso' | 'unix'>
}

type Schemas = Readonly<Record<string, AnySchema>>
type OutputsOf<Fields> = { readonly [Name in keyof Fields]: OutputOf<Fields[Name]> }

/** The fields of a declaration that are equal for all endpoints. */
type CommonFields = Pick<
  Declaration<unknown, string, unknown, unknown, undefined, undefined, never, unknown>,
  'summary' | 'roles' | 'refusals' | 'auth' | 'errorShape' | 'consumes' | 'status' | 'example'
>

/** The declaration of an own endpoint. Its schemas are those of zod 4. */
export interface OwnDeclaration<Route extends string, Params, Query, Body, Returns> extends CommonFields {
  /** Method and path, as in `GET /v2/pods/{id}`. */
  readonly route: Route
  /** Schemas of parameters of the path. Default: any text. */
  readonly params?: Params
  /** Schemas of parameters of the query. Default: none. */
  readonly query?: Query
  /** The schema of the body. Default: the endpoint reads no body. */
  readonly body?: Body
  readonly returns: Returns
  /** Returns the answer, or throws by `refuse` before it changes anything. */
  handle(
    input: {
      readonly params: { readonly [N in RouteParamNames<Route>]: N extends keyof Params ? OutputOf<Params[N]> : string }
      readonly query: OutputsOf<Query>
      readonly body: OutputOf<Body>
      readonly request: Request
    } & OwnScope,
  ): Returns extends AnySchema ? Returns['_zod']['input'] : never
}

/** An endpoint of a user. Its key in the option `endpoints` is its operation id. */
export interface OwnEndpoint extends Pick<AnyEndpoint, 'route' | 'summary' | 'roles'> {
  /** Marks the type: only `endpoint` makes one. */
  readonly isOwn: true
}

interface DeclaredEndpoint extends OwnEndpoint {
  /** Whether its declaration has roles. Otherwise, method and path tell. */
  readonly hasRoles: boolean
}

/** Endpoints of a user by operation id. */
export type OwnEndpoints = Readonly<Record<string, OwnEndpoint>>

const KEYS = [
  ...['route', 'summary', 'roles', 'refusals', 'auth', 'errorShape', 'params', 'query', 'body', 'consumes', 'returns'],
  ...['status', 'example', 'handle'],
]
/** The fields whose value is one of some words. */
const WORDS = { auth: AUTH_RULES, errorShape: ERROR_SHAPES, consumes: ['json', 'form'] } as const
const ROUTE = /^(?:GET|POST|PUT|PATCH|DELETE) (?:\/(?:\w[\w.~-]*|\{\w+\}))+$/
const declare = createEndpointFactory<ApiScope>('assumed')

/**
 * Declares an endpoint of your own, for the option `endpoints`. Requests are validated by its schemas and authenticated by
 * an API token, and faults, the journal, `/openapi.json` and `explore` know it as they know the endpoints of the provider.
 *
 * The handler is synchronous. It throws by `refuse(404, …)` before it changes anything. The roles tell `explore` what the
 * operation does: `create pod`, `read pod`, `list pod`. The word is the `kind` of the record table. Without roles, a
 * delete, an update, a start and a stop follow from method and path.
 *
 * @example
 * export const getPod = endpoint({
 *   route: 'GET /v2/pods/{id}',
 *   summary: 'Get a pod',
 *   roles: ['read pod'],
 *   returns: Pod,
 *   handle: ({ params, world }) => world.records(pods).get(params.id) ?? refuse(404, 'no such pod'),
 * })
 */
export function ownEndpoint<
  const Route extends string,
  Returns extends AnySchema,
  Params extends { readonly [Name in RouteParamNames<Route>]?: AnySchema } = Readonly<Record<never, never>>,
  Query extends Schemas = Readonly<Record<never, never>>,
  Body extends AnySchema | undefined = undefined,
>(declaration: OwnDeclaration<Route, Params, Query, Body, Returns>): OwnEndpoint {
  assertKnownKeys(declaration, KEYS, 'Failed to declare an endpoint', { noun: 'field' })
  const { route, roles = [], params, query, returns, body = returns, handle } = declaration
  const problem = (reason: string) => new RangeError(`Failed to declare the endpoint '${route}': ${reason}`)
  const unknown = (field: string, value: unknown, known: readonly string[]) => {
    const word = String(value)
    const advice = formatSuggestion(word, known, `Give one of ${known.join(', ')}.`)
    return problem(`unknown ${field} '${word}'. ${advice}`)
  }
  const isSchema = (value: unknown) => typeof value === 'object' && value !== null && '_zod' in value
  const one = Object.entries({ params, query }).find(([, schemas]) => isSchema(schemas))
  if (one) throw problem(`'${one[0]}' is one schema. Give an object of schemas, as in { id: z.string() }.`)
  for (const [field, schema] of Object.entries({ ...params, ...query, returns, body })) {
    const advice = 'Install zod 4, and declare the schema with it, as in z.string().'
    if (!isSchema(schema)) throw problem(`the schema '${field}' is missing, or not one of zod 4. ${advice}`)
  }
  if (declaration.body !== undefined && String(route).startsWith('GET ')) {
    throw problem('a GET has no body. Leave body out, or give another method.')
  }
  if (declaration.status === 204 && (returns as unknown as z.ZodType)._zod.def.type !== 'null') {
    throw problem('with the status 204, the answer has no body. Give returns: z.null().')
  }
  const noRefusal = Object.keys(declaration.refusals ?? {}).find(status => !/^[45]\d\d$/.test(status))
  if (noRefusal !== undefined) {
    throw problem(`the refusal '${noRefusal}' is not a status from 400 to 599. Give one of those.`)
  }
  if (typeof handle !== 'function') throw problem("'handle' is not a function. Give one that returns the answer.")
  for (const [field, known] of Object.entries(WORDS)) {
    const word = declaration[field as keyof typeof WORDS] ?? known[0]!
    if (!(known as readonly string[]).includes(word)) throw unknown(field, word, known)
  }
  if (!Array.isArray(roles)) throw problem(`'roles' is ${quote(roles)}. Give a list, as in ['create pod'].`)
  for (const role of roles) {
    const [verb, kind, ...rest] = String(role).split(' ')
    const isKnown = ROLE_VERBS.some(one => one === verb) && RECORD_KIND.test(kind ?? '') && rest.length === 0
    const known = ROLE_VERBS.map(one => `${one} ${kind || rest.at(-1) || 'pod'}`)
    if (!isKnown) throw unknown('role', role, known)
    if (PROVIDER_KINDS.test(kind!)) {
      throw problem(
        `the role '${role}' has a kind of the provider. Give the kind of a table of yours, as in '${verb} pod'.`,
      )
    }
  }
  const [verb, table] = roles.find(role => /^(?:read|list) /.test(role))?.split(/ (.*)/s) ?? []
  const findPolledResource: AnyEndpoint['findPolledResource'] = params => ({
    ...{ kind: 'ownRecords', table },
    ...(verb === 'read' && { id: Object.values(params).at(-1)! }),
  })
  const declared = {
    ...{ ...declaration, roles },
    ...(verb !== undefined && { findPolledResource }),
    handle: (input: Parameters<typeof handle>[0] & ApiScope) => {
      const answer = handle(Object.assign(input, { clock: input.world.clock }))
      assertTables(route, roles, input.world.ownRecords.declared)
      return checkAnswer(route, returns as unknown as z.ZodType, answer)
    },
  }
  const hasRoles = declaration.roles !== undefined
  return { ...declare(declared as never), isOwn: true, hasRoles } as DeclaredEndpoint
}

/** Operations with their routes. */
export interface ServedOperations {
  readonly operations: Operations<ApiScope>
  readonly routes: Routes
}

/**
 * Returns operations with a user's endpoints among them. Neither changes.
 *
 * @throws RangeError that names the endpoint
 */
export const withOwnEndpoints = oncePer((own: OwnEndpoints) =>
  oncePer((served: ServedOperations) => combine(served, own)),
)

function combine({ operations, routes }: ServedOperations, own: OwnEndpoints): ServedOperations {
  const taken = new Map([['GET /openapi.json', 'the OpenAPI document']])
  for (const [id, route] of Object.entries(routes)) for (const key of keysOf(route)) taken.set(key, id)
  for (const [id, endpoint] of Object.entries(own as unknown as Operations)) {
    const problem = (reason: string) => new RangeError(`Failed to make a simulator: endpoints.${id}: ${reason}`)
    if (typeof endpoint?.handle !== 'function' || typeof endpoint.route !== 'string') {
      throw problem(`${quote(endpoint)} is not an endpoint. Give the result of endpoint({ … }).`)
    }
    if (!SUCCESS_STATUSES.includes(endpoint.status)) {
      const advice = `Give one of ${SUCCESS_STATUSES.join(', ')}. For a refusal, use refuse(…).`
      throw problem(`the status ${quote(endpoint.status)} is invalid. ${advice}`)
    }
    if (!/^[a-z]\w*$/i.test(id))
      throw problem('this key is not a valid operation id. Begin with a letter, then use letters, digits and _.')
    if (Object.hasOwn(routes, id)) throw problem('the provider has an operation of this name. Give it another.')
    if (!ROUTE.test(endpoint.route) || endpoint.path.startsWith('/_sim')) {
      const advice = "Give a method and a path, as in 'GET /v2/pods/{id}'. A parameter is a whole part between slashes."
      throw problem(`the route '${endpoint.route}' is invalid. ${advice}`)
    }
    const twice = endpoint.path.match(/\{(\w+)\}(?=.*\{\1\})/)
    if (twice !== null) throw problem(`the route has the parameter ${twice[0]} twice. Give each another name.`)
    for (const key of keysOf(endpoint)) {
      if (taken.has(key)) throw problem(`${endpoint.route} is the route of ${taken.get(key)}. Give it another path.`)
      taken.set(key, id)
    }
  }
  const endpoints = concludeRoles(own as unknown as Operations)
  // Descriptors, so that no declaration of the provider is read.
  const declared = { ...Object.getOwnPropertyDescriptors(operations), ...Object.getOwnPropertyDescriptors(endpoints) }
  return { operations: Object.defineProperties({}, declared), routes: { ...routes, ...(own as unknown as Routes) } }
}

/**
 * Gives endpoints without `roles` the one that follows from method and path. The kind is that of the endpoint that reads a
 * thing at this path, or else that creates or lists things one word before it.
 */
function concludeRoles(own: Operations): Operations {
  const kinds = new Map<string, string>()
  for (const { path, roles } of Object.values(own)) {
    for (const role of roles) {
      const [verb, kind] = role.split(' ') as [string, string]
      const things = `${withoutNames(path)}/{}`
      if (verb === 'read') kinds.set(withoutNames(path), kind)
      else if (/^(?:create|list)$/.test(verb) && !kinds.has(things)) kinds.set(things, kind)
    }
  }
  return Object.fromEntries(
    Object.entries(own).map(([id, endpoint]) => {
      const [verb, path] = verbOf(endpoint)
      const kind = kinds.get(withoutNames(path))
      if ((endpoint as Partial<DeclaredEndpoint>).hasRoles !== false || verb === undefined || kind === undefined)
        return [id, endpoint]
      return [id, { ...endpoint, roles: [`${verb} ${kind}` as const] }]
    }),
  )
}

/** Returns what method and path say that an endpoint does, and the path of the thing to which it does that. */
function verbOf({ method, path }: Pick<AnyEndpoint, 'method' | 'path'>): [verb: RoleVerb | undefined, path: string] {
  if (method === 'DELETE') return ['delete', path]
  if (method === 'PUT' || method === 'PATCH') return ['update', path]
  const [end, order] = /\/(start|stop|cancel|terminate)$/.exec(path) ?? []
  if (method !== 'POST' || end === undefined) return [undefined, path]
  return [order === 'start' ? 'start' : 'stop', path.slice(0, -end.length)]
}

/** Returns the method and paths of an endpoint, without the names of parameters. */
function keysOf(route: Routes[string]): string[] {
  return endpointPaths(route).map(path => `${route.method} ${withoutNames(path)}`)
}

function withoutNames(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '{}')
}

/** Throws TypeError for a role whose kind no table has, but nearly: a bug of the endpoint. */
function assertTables(route: string, roles: readonly string[], tables: ReadonlyMap<string, unknown>): void {
  for (const role of roles) {
    const [verb, kind] = role.split(' ') as [string, string]
    const near = tables.has(kind) ? undefined : nearestWord(kind, tables.keys())
    if (near === undefined) continue
    throw new TypeError(`no table has the kind of the role '${role}' of ${route}. Did you mean '${verb} ${near}'?`)
  }
}

/** Returns an answer that fits its schema. Throws TypeError for another one, which is a bug of the endpoint. */
function checkAnswer(route: string, returns: z.ZodType, answer: unknown): unknown {
  if (answer instanceof Promise) {
    // Its error belongs to this one.
    answer.catch(() => {})
    const advice = 'A handler is one step of the world: return a value'
    throw new TypeError(`the handler of ${route} returned a promise. ${advice}`)
  }
  const checked = parseOwnFields(returns, answer)
  if (checked.success && !['undefined', 'function', 'symbol'].includes(typeof answer)) return answer
  // Schemas such as z.any() accept more than JSON has.
  const problems = checked.success ? `it is ${quote(answer)}` : describeProblems(returns, answer, checked.error)
  throw new TypeError(`the answer of ${route} does not fit 'returns': ${problems}`)
}
