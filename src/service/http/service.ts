/** The service's API over a world: `Request` in, `Response` out. */
import { purpose } from '../../kernel/random.ts'
import { oncePer } from '../../lib/once.ts'
import type { WebhookAttempt } from '../../simulation/inference/webhooks.ts'
import type { PolledResource } from '../../simulation/reporting/progress.ts'
import type { World } from '../../simulation/world.ts'
import type { ApiScope } from '../api-scope.ts'
import type { AnyEndpoint, Operations } from '../endpoint.ts'
import { documentedOperations, documentedRoutes, operations, routes } from '../index.ts'
import type { LineNames } from '../naming/line-names.ts'
import type { Names } from '../naming/names-profile.ts'
import * as openapiNaming from '../naming/openapi-naming.ts'
import type { VendorMapping } from '../naming/translation.ts'
import * as translation from '../naming/translation.ts'
import * as nativeWebhooks from '../native/webhooks.ts'
import * as openapi from '../openapi/openapi.ts'
import type { Routes } from '../operation-table.ts'
import { type OwnEndpoints, type ServedOperations, withOwnEndpoints } from '../own-endpoints.ts'
import { authenticate, KEY_HEADERS } from './authentication.ts'
import type { CredentialChange } from './bodies/credential-fields.ts'
import * as credentialFields from './bodies/credential-fields.ts'
import { getRouter } from './compiled-operation.ts'
import { type IncomingRequest, LOCALHOST } from './incoming-request.ts'
import { Pipeline } from './pipeline.ts'
import { NAMES_HEADER, type RequestContext, type RequestHooks, toPathAndQuery } from './request-context.ts'
import type { LoggedInput } from './unread-fields.ts'
import * as unread from './unread-fields.ts'

export interface ApiOptions {
  /** Serves the endpoints that the interface document lacks but its lifecycles need. Default: true. */
  neighbours?: boolean | undefined
  /** The names that paths, headers and bodies have for clients. Default: the neutral names. */
  names?: Names | undefined
  /** Refuses fields of a body that are not declared. */
  strictRequests?: boolean | undefined
  /** Hosts beside loopback addresses that webhooks may have. Default: none. */
  webhookHosts?: readonly string[] | undefined
  /** Endpoints of the user, served beside those of the provider. */
  endpoints?: OwnEndpoints | undefined
  /** Called with exceptions that are bugs of the simulator; the client gets a 500 with `x-sim-error`. */
  onBug?: ((error: unknown, operation: string) => void) | undefined
}

export interface Api {
  /** The operations it serves, by operation id. */
  readonly operations: Operations<ApiScope>
  /** The neutral routes of these operations. */
  readonly routes: Routes
  /**
   * Answers a request to a world; at once, without a promise, where the request has no body to read.
   *
   * @param hooks Default: time does not move before the request, and the request log omits it
   * @example await api.answer(world, new Request('http://sim/v1/voices', { headers: { authorization: 'Bearer …' } }))
   */
  answer(
    world: World,
    request: Request,
    incoming?: IncomingRequest,
    hooks?: RequestHooks<World>,
  ): Response | Promise<Response>
  /** Makes responses keep what they were made of, for `sourceOf`. */
  keepSources(): void
  /** Returns the operation that a method and a path lead to, or undefined. */
  findOperationId(method: string, path: string): string | undefined
  /** The headers that take a token beside `Authorization`, by their vendor names. */
  readonly keyHeaders: readonly string[]
  /** Returns the fields of a request that nothing reads, as in `body hub.repo`. Those of an upload are not looked at. */
  findUnreadFields(world: World, request: LoggedInput): readonly string[]
  /**
   * Returns the JSON body of a request with its credentials replaced: the declared ones, and those in what no answer
   * depends on. Undefined for a body that is not JSON.
   */
  replaceCredentials(
    world: World,
    request: LoggedInput & { readonly text: string },
    change: CredentialChange,
  ): string | undefined
  /** Returns every path that serves the operation of this one: the neutral path and the vendor path. */
  servedPaths(path: string): readonly string[]
  /** Returns the resource whose progress a request reads, or undefined. */
  findPolledResource(method: string, target: string): PolledResource | undefined
  /** The names of the lines of batch files; undefined without a names profile. */
  readonly lineNames: LineNames | undefined
  /** Returns the JSON that is posted to a webhook. */
  createWebhookText(world: World, attempt: WebhookAttempt): string
}

const REQUEST_ID_DRAW = purpose('request.id')
const NO_SCRIPTED_ANSWERS = () => undefined
const OPENAPI_PATH = '/openapi.json'

/** @throws RangeError for names that collide with other names of the interface */
export function createApi(options: ApiOptions = {}): Api {
  const { operations: servedOperations, routes: servedRoutes } = servedBy(options)
  const { webhookHosts = [] } = options
  const mapping = options.names && mappingOf(options.names)(servedOperations)
  const pipeline = new Pipeline<World, ApiScope>({
    operations: servedOperations,
    routes: servedRoutes,
    createScope(context) {
      const world = context.backend
      const { store } = world
      const isOpen = world.profile.policies.unknownTokens === 'accept'
      const token = authenticate(
        isOpen ? { tokenByValue: value => store.tokenByValue(value) ?? store.tokens.all()[0] } : store,
        context,
        context.endpoint.auth,
        context.incoming.clientAddress ?? LOCALHOST,
        context.endpoint.acceptsScopedTokens ? world.access.scopedTokens : undefined,
      )
      if (token !== undefined) context.client = token.token_id
      return {
        world,
        token,
        findEndpoint,
        webhookHosts,
        findScriptedAnswer: scriptedAnswersFor(context),
        inputNames: mapping,
        outputNames: context.operation.responseMapping && mapping,
      }
    },
    clock: world => world.clock,
    lastSeq: world => world.journal.last,
    isLax: world => world.profile.policies.validation === 'lax',
    replaceBackend: (scope, world) => ({ ...scope, world }),
    openEntry: (world, operation, method, path, cause) => world.openRequest(operation, method, path, cause),
    amendEntry: (entry, status, decidedBy) => {
      Object.assign(entry!.fields, { status, decidedBy })
    },
    closeEntry: (world, entry, status, decidedBy) => world.closeRequest(entry!, status, decidedBy),
    createRequestId: ({ chance }, entry) =>
      `req_${chance.letters(24, chance.key('request', String(entry!.seq)), REQUEST_ID_DRAW)}`,
    mapping,
    ...(options.strictRequests && { strictRequests: true }),
    ...(options.onBug && { onBug: options.onBug }),
  })
  const respondOpenapi = (world: World, documentMapping: VendorMapping | undefined): Response => {
    const text = documentMapping === undefined ? neutralText(servedOperations) : vendorText(documentMapping)
    const headers = { 'content-type': 'application/json', date: new Date(world.clock.unix() * 1000).toUTCString() }
    return new Response(text, { headers })
  }
  const answer: Api['answer'] = (world, request, incoming, hooks) => {
    if (!isOpenapiRequest(request, incoming)) return pipeline.answer(world, request, incoming, hooks)
    const namesHeader = incoming?.header?.(NAMES_HEADER) ?? request.headers.get(NAMES_HEADER)
    return respondOpenapi(world, namesHeader === 'neutral' ? undefined : mapping)
  }

  return {
    operations: servedOperations,
    routes: servedRoutes,
    keepSources: () => pipeline.keepSources(),
    findOperationId: (method, path) => pipeline.findOperationId(method, path),
    findUnreadFields: (world, request) =>
      unread.findUnreadFields(getRouter(servedOperations, servedRoutes, mapping), mapping, { world }, request),
    replaceCredentials: (world, request, change) => {
      const router = getRouter(servedOperations, servedRoutes, mapping)
      const { endpoint = {}, operation } = unread.findDeclared(router, mapping, { world }, request) ?? {}
      // What an own endpoint declares says nothing about credentials.
      return credentialFields.replaceCredentials(
        'isOwn' in endpoint ? {} : endpoint,
        request.text,
        operation?.requestMapping,
        change,
      )
    },
    keyHeaders: KEY_HEADERS.flatMap(name => mapping?.names.headers.get(name) ?? [name]),
    servedPaths: path => (mapping === undefined ? [path] : [...mapping.servedPaths(path), ...mapping.aliasPaths(path)]),
    get lineNames() {
      return mapping?.lines
    },
    findPolledResource: (method, target) => pipeline.findPolledResource(method, target),
    answer,
    createWebhookText: (world, attempt) => {
      const body = nativeWebhooks.createWebhookBody(world, attempt)
      return JSON.stringify(mapping?.forEndpoint(operations.createInference as never).returns.toVendor(body) ?? body)
    },
  }
}

const WHOLE: ServedOperations = { operations, routes }
const DOCUMENTED: ServedOperations = { operations: documentedOperations, routes: documentedRoutes }

/**
 * Returns the operations that options serve.
 *
 * @throws RangeError for an invalid endpoint of the user
 */
export function servedBy({ neighbours, endpoints }: Pick<ApiOptions, 'neighbours' | 'endpoints'>): ServedOperations {
  const served = neighbours === false ? DOCUMENTED : WHOLE
  return Object.keys(endpoints ?? {}).length === 0 ? served : withOwnEndpoints(endpoints!)(served)
}

/** Returns the declaration of the endpoint that answers a method and a neutral path, or undefined. */
function findEndpoint(method: string, path: string): AnyEndpoint | undefined {
  const match = getRouter(operations, routes, undefined).match(method, path)
  return match !== undefined && 'target' in match ? match.target.endpoint : undefined
}

/** Returns the look-up of scripted answers, which notes that a rule decided the request. */
function scriptedAnswersFor(context: RequestContext<World>): ApiScope['findScriptedAnswer'] {
  const { findScriptedAnswer } = context.hooks
  if (findScriptedAnswer === undefined) return NO_SCRIPTED_ANSWERS
  return (model, words) => {
    const answer = findScriptedAnswer(model, words)
    if (answer !== undefined) context.decide('rule', 'scripted answer')
    return answer
  }
}

/** Returns the mapping of names for operations. Neither changes, and forks share both. */
const mappingOf = oncePer((names: Names) =>
  oncePer((operations: Operations) => new translation.VendorMapping(names, operations)),
)

/** OpenAPI documents as JSON: with neutral names, and with those of a mapping. */
const neutralText = oncePer((operations: Operations) => JSON.stringify(openapi.createOpenapiDocument(operations)))
const vendorText = oncePer((mapping: VendorMapping) => JSON.stringify(openapiNaming.createVendorDocument(mapping)))

/** Returns whether a request reads the document that describes the interface, which no operation answers. */
export function isOpenapiRequest(request: Request, incoming: IncomingRequest | undefined): boolean {
  const target = incoming?.path ?? request.url
  // The cheap comparison comes first: every request passes here.
  return (
    target.endsWith(OPENAPI_PATH) &&
    request.method === 'GET' &&
    (incoming?.path ?? toPathAndQuery(target)) === OPENAPI_PATH
  )
}
