/**
 * The declaration of an endpoint: everything about it, in one object.
 *
 * Types, validation, routing, the OpenAPI document, the typed client, the endpoint table and the name in faults and
 * journal are derived from it and from nothing else.
 */
import type * as z from 'zod'
import type { Profile } from '../data/profiles/schema.ts'
import type { ModelTask } from '../data/records/enums.ts'
import type { PolledResource } from '../simulation/reporting/progress.ts'
import type { ApiScope } from './api-scope.ts'
import type { TextProtocol } from './openai/generation.ts'
import type { TaskSchemas } from './openapi/task-schemas.ts'
import type { DeferredResult, HandlerResult } from './results.ts'

/** Whether the interface document says it, a neighbour completes it, or it is ours. */
export type Provenance = 'documented' | 'neighbour' | 'assumed'

/**
 * What an operation is for the rules about clients: it creates a thing of a kind, reads one, lists them, shows them among
 * others, or gives the content of one. Or it updates, deletes, starts or stops one, or pays for it. A list comes before
 * what shows things among others.
 */
export type Role = `${RoleVerb} ${string}`
export const ROLE_VERBS = [
  'create',
  'read',
  'list',
  'show',
  'content',
  'update',
  'delete',
  'start',
  'stop',
  'pay',
] as const
export type RoleVerb = (typeof ROLE_VERBS)[number]

/** `token`: an API token is required; `optional`: judged when it is sent; `none`: not looked at. */
export type AuthRule = (typeof AUTH_RULES)[number]
export const AUTH_RULES = ['token', 'optional', 'none'] as const

/**
 * Shape of refusals: `{"error": m}`, `{"detail": m}`, `{"detail": {"error": m}}`, or that of the OpenAI-compatible
 * routes, `{"error": {"message": m, "type", "param", "code"}}`, or that of messages,
 * `{"type": "error", "error": {"type", "message": m}}`.
 */
export const ERROR_SHAPES = ['simple', 'detail', 'wrapped', 'compat', 'message'] as const
export type ErrorShape = (typeof ERROR_SHAPES)[number]

export type FieldSchemas = Readonly<Record<string, z.ZodType>>
type NoFields = Readonly<Record<never, never>>

/** The names in braces of a route. */
export type RouteParamNames<Route extends string> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | RouteParamNames<Rest>
  : never

type Simplify<T> = { [K in keyof T]: T[K] }

/** The path parameters as `handle` gets them: strings unless declared otherwise. */
export type ParamsOf<Route extends string, Params> = {
  [Name in RouteParamNames<Route>]: Name extends keyof Params
    ? Params[Name] extends z.ZodType
      ? z.output<Params[Name]>
      : string
    : string
}

// Zod types an object without fields as a map to never, which would swallow every other field beside it.
type FieldOutputs<F> = keyof F extends never
  ? NoFields
  : F extends FieldSchemas
    ? z.output<z.ZodObject<{ -readonly [K in keyof F]: F[K] }>>
    : never

/** The file of an upload, complete, in the pieces in which it came. */
export interface UploadedFile {
  /** `''` when the part names none. */
  filename: string
  chunks: Uint8Array[]
  bytes: number
  /** 16 hexadecimal digits of the content. */
  hash: string
}

/** The files of the optional parts of an upload, by the name of their part. */
export type OptionalFiles = Readonly<Record<string, UploadedFile | undefined>>

/** A limit on the size of a file, and what the 413 says. */
export interface SizeLimit {
  bytes: number
  refusal: string
}

/** A multipart form with a file, or several of one name, and text fields beside it. */
export interface UploadRules<Scope, Form> {
  /** Name of the part that is the file. Default: `file`. */
  part?: string
  /** Whether several files may come, each as a part with `[]` behind this name. Default: false. */
  isList?: boolean
  /** Names of further parts that may be files, one each. */
  optionalParts?: readonly string[]
  fields: Form
  /** The limit before anything of the form is known; a file that goes over it is cut at once. */
  limit(scope: Scope): SizeLimit
  /** The limit once the text fields are known; they may follow the file. */
  limitFor?(fields: Readonly<Record<string, string>>): SizeLimit | undefined
}

/** The schemas of an endpoint whose body depends on the task of the model that its path names. */
export interface SchemasByTask<Scope> {
  readonly schemas: Readonly<Partial<Record<ModelTask, TaskSchemas>>>
  /** Returns the task of the model that a request names: one of `schemas`. Throws RefusalError. */
  findTask(scope: Scope, params: Readonly<Record<string, string>>): ModelTask
  /** The field that is a file if the body comes as a multipart form, whose other fields are those of the JSON. */
  readonly file: { readonly part: string; readonly limit: SizeLimit }
}

type BodyFor<Body = unknown> = (
  policies: Profile['policies'],
) => (Body extends z.ZodType ? z.ZodType<z.output<Body>> : z.ZodType) | undefined

export interface EndpointInput<Route extends string, Params, Query, Body, Form> {
  params: ParamsOf<Route, Params>
  query: FieldOutputs<Query>
  body: Body extends z.ZodType ? z.output<Body> : undefined
  upload: Form extends FieldSchemas
    ? Simplify<
        FieldOutputs<Form> & { file: UploadedFile; files: readonly UploadedFile[]; optionalFiles: OptionalFiles }
      >
    : undefined
  /** The request itself; its body is read already. */
  request: Request
}

/**
 * An example request that succeeds in the default world. The documents show it, and tests of every operation send it.
 */
export interface Example {
  /** Path and query, where the path alone is not enough. A `{name}` in it is that field of the answers to `after`. */
  readonly target?: string
  readonly body?: unknown
  /** What is uploaded. */
  readonly form?: {
    readonly fields: Readonly<Record<string, string>>
    readonly filename: string
    /** A string is sent as UTF-8. */
    readonly content: string | Uint8Array<ArrayBuffer>
  }
  /** Operations whose examples are asked before. */
  readonly prerequisites?: readonly string[]
}

/** The statuses of a success. */
export const SUCCESS_STATUSES = [200, 201, 202, 204] as const
export type SuccessStatus = (typeof SUCCESS_STATUSES)[number]

export interface Declaration<Scope, Route extends string, Params, Query, Body, Form, Returns, Outcome> {
  /** Method and path, `{name}` for a parameter: `POST /deploy/{deploy_id}/start`. `{model_name}` may hold a slash. */
  route: Route
  summary: string
  /** What the interface document leaves open, and how this endpoint decides it. */
  assumptions?: readonly string[]
  /** What rules about clients need to know of it. Default: nothing. */
  roles?: readonly Role[]
  /** Refusals by status and what brings them about. All are assumed: the document shows no status codes. */
  refusals?: Readonly<Record<number, string>>
  /** The document marks the endpoint as taking `alt-api-key`. */
  acceptsKeyHeader?: boolean
  /** Whether a scoped token can send it: a request to a model. Default: no. */
  acceptsScopedTokens?: boolean
  auth?: AuthRule
  errorShape?: ErrorShape
  /** The header of each answer that names its request. Default: no such header. */
  requestIdHeader?: string
  params?: Params
  query?: Query
  body?: Body
  /** Format of the body. Default: `json`. */
  consumes?: 'json' | 'form'
  /** Most bytes of a JSON body. Default: 64 MiB. */
  maxBodyBytes?: number
  /** The maximum number of JSON values of a body. Default: `bodyValues` of the table of limits. */
  maxBodyValues?: number
  upload?: UploadRules<Scope, Form>
  /** One line of the file that it takes or answers, if the lines are JSON. A names profile can name its fields. */
  fileLine?: z.ZodType
  returns: Returns
  /** The status of a success. With 204, the answer has no body. Default: 200. */
  status?: SuccessStatus
  /** For an endpoint whose body depends on the model: `body`, `returns` and `streamEvent` then declare every task. */
  byTask?: SchemasByTask<Scope>
  /** Returns the body under the policies of a profile; undefined if `body` applies, which the documents show. */
  bodyFor?: BodyFor<Body>
  /** Whether it is served a second time under `/v1/compat`: the same endpoint by another path, and a neighbour. */
  isMirrored?: boolean
  /** Content type of a success, unless the result names another. Default: JSON. */
  produces?: string
  /** One event of a success that the caller asks to be streamed. */
  streamEvent?: z.ZodType
  /** Whether the tokenizer must be loaded before a request takes its place among the others. */
  needsTokenizer?: boolean
  /** The things whose progress it looks at: what a clock that moves on polls goes by. */
  findPolledResource?: (params: Readonly<Record<string, string>>) => PolledResource
  /** How a line of a batch is answered, where batches may run it: as a request is. */
  batchProtocol?: TextProtocol<Body extends z.ZodType ? z.output<Body> : never, string, unknown>
  example?: Example
  handle: (input: EndpointInput<Route, Params, Query, Body, Form> & Scope) => Outcome
}

type Fields<Scope, Route extends string, Params, Query, Body, Form, Returns> = Declaration<
  Scope,
  Route,
  Params,
  Query,
  Body,
  Form,
  Returns,
  unknown
>
/** Fields that each endpoint has, and those that it can lack. */
type Given =
  | ('route' | 'summary' | 'assumptions' | 'roles' | 'refusals' | 'params' | 'query' | 'body' | 'returns' | 'example')
  | ('acceptsKeyHeader' | 'acceptsScopedTokens' | 'needsTokenizer')
  | ('auth' | 'errorShape' | 'consumes' | 'produces' | 'status')
type Lackable =
  | ('requestIdHeader' | 'maxBodyBytes' | 'maxBodyValues' | 'upload' | 'fileLine' | 'byTask' | 'bodyFor')
  | ('streamEvent' | 'findPolledResource' | 'batchProtocol')
type Optional<All, Name extends keyof All> = { readonly [N in Name]-?: All[N] | undefined }

/** A declaration with its defaults. */
export interface Endpoint<
  Scope = unknown,
  Route extends string = string,
  Params = FieldSchemas,
  Query = FieldSchemas,
  Body = z.ZodType | undefined,
  Form = FieldSchemas | undefined,
  Returns extends z.ZodType = z.ZodType,
> extends Readonly<Required<Pick<Fields<Scope, Route, Params, Query, Body, Form, Returns>, Given>>>,
    Optional<Fields<Scope, Route, Params, Query, Body, Form, Returns>, Lackable> {
  readonly provenance: Provenance
  readonly method: string
  readonly path: string
  /** The other path under which it is served. */
  readonly mirror: string | undefined
  /** Method syntax, because it lets one record hold endpoints of different inputs. */
  handle(input: EndpointInput<Route, Params, Query, Body, Form> & Scope): unknown
}

/** Any endpoint of a scope, where its own input does not matter. */
export type AnyEndpoint<Scope = never> = Endpoint<
  Scope,
  string,
  FieldSchemas,
  FieldSchemas,
  z.ZodType | undefined,
  FieldSchemas | undefined
>

/** Declarations by operation id. */
export type Operations<Scope = never> = Readonly<Record<string, AnyEndpoint<Scope>>>

/** A value that a handler answers and does not change. */
type Unchanged<Value> = unknown extends Value
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]: Unchanged<Value[Name]> }
    : Value

/** A synchronous handler keeps a request one step of its world; the control plane's may wait. */
type OutcomeFor<Value, IsAsync> = IsAsync extends true
  ? HandlerResult<Value> | Promise<HandlerResult<Value>>
  : HandlerResult<Value> | DeferredResult<Value>

/**
 * Makes the function that declares endpoints of a provenance: what `handle` gets besides its input is `Scope`, and all
 * declare what `Declared` requires.
 *
 * @example
 * export const neighbour = createEndpointFactory<{ world: World }, false, { assumptions: readonly string[] }>('neighbour')
 * // Handlers may return a promise.
 * export const control = createEndpointFactory<{ sim: Simulator }, true>('assumed')
 */
export function createEndpointFactory<Scope extends object, IsAsync extends boolean = false, Declared = unknown>(
  provenance: Provenance,
) {
  return function declare<
    const Route extends string,
    Returns extends z.ZodType,
    Params extends { readonly [Name in RouteParamNames<Route>]?: z.ZodType } = NoFields,
    Query extends FieldSchemas = NoFields,
    Body extends z.ZodType | undefined = undefined,
    Form extends FieldSchemas | undefined = undefined,
  >(
    declaration: Declaration<
      Scope,
      Route,
      Params,
      Query,
      Body,
      Form,
      Returns,
      OutcomeFor<Unchanged<z.input<Returns>>, IsAsync>
    > &
      Declared,
  ): Endpoint<Scope, Route, Params, Query, Body, Form, Returns> {
    const { route } = declaration
    if (typeof route !== 'string')
      throw new RangeError(
        "Failed to declare an endpoint: its route is not a text. Give one as in 'GET /v2/pods/{id}'.",
      )
    const space = route.indexOf(' ')
    const [method, path] = [route.slice(0, space), route.slice(space + 1)]
    const paramNames = routeParamNames(path)
    for (const name of Object.keys(declaration.params ?? {})) {
      if (paramNames.includes(name)) continue
      const advice = `Rename or remove it, or add {${name}} to the path.`
      throw new RangeError(`Failed to declare the endpoint '${route}': its path has no parameter '${name}'. ${advice}`)
    }
    // Field by field, so that requests read each endpoint in the same way.
    return {
      ...{ route, provenance, method, path },
      summary: declaration.summary,
      assumptions: declaration.assumptions ?? [],
      roles: declaration.roles ?? [],
      refusals: declaration.refusals ?? {},
      acceptsKeyHeader: declaration.acceptsKeyHeader ?? false,
      acceptsScopedTokens: declaration.acceptsScopedTokens ?? false,
      auth: declaration.auth ?? 'token',
      errorShape: declaration.errorShape ?? 'simple',
      requestIdHeader: declaration.requestIdHeader,
      params: (declaration.params ?? {}) as Params,
      query: (declaration.query ?? {}) as Query,
      body: declaration.body as Body,
      consumes: declaration.consumes ?? 'json',
      maxBodyBytes: declaration.maxBodyBytes,
      maxBodyValues: declaration.maxBodyValues,
      upload: declaration.upload,
      fileLine: declaration.fileLine,
      returns: declaration.returns,
      status: declaration.status === undefined ? 200 : declaration.status,
      byTask: declaration.byTask,
      bodyFor: declaration.bodyFor,
      produces: declaration.produces ?? 'application/json',
      streamEvent: declaration.streamEvent,
      mirror: declaration.isMirrored ? mirrorOf(path) : undefined,
      needsTokenizer: declaration.needsTokenizer ?? false,
      findPolledResource: declaration.findPolledResource,
      batchProtocol: declaration.batchProtocol,
      example: declaration.example ?? {},
      handle: declaration.handle,
    }
  }
}

type WithAssumptions = { readonly assumptions: readonly string[] }

/** Declares an endpoint of the interface document; its export name is its operation id. */
export const documented = createEndpointFactory<ApiScope, false, WithAssumptions>('documented')

/** Declares an endpoint that completes those of the document; its export name is its operation id. */
export const neighbour = createEndpointFactory<ApiScope, false, WithAssumptions>('neighbour')

/** The paths of an endpoint: its own, and that of its mirror. */
export function endpointPaths({ path, mirror }: Pick<AnyEndpoint, 'path' | 'mirror'>): readonly string[] {
  return mirror === undefined ? [path] : [path, mirror]
}

/** Returns the other path under which a mirrored operation is served. */
export function mirrorOf(path: string): string {
  return path.replace('/v1/', '/v1/compat/')
}

/** The parameters of a path, in order. */
export function routeParamNames(path: string): string[] {
  // The typed client asks for each request, and most paths have no parameter.
  return path.includes('{') ? Array.from(path.matchAll(/\{([^}]+)\}/g), found => found[1]!) : []
}
