/** The fields of an answered request that nothing reads, for those who look at it later. */
import type { AnyEndpoint } from '../endpoint.ts'
import type { VendorMapping } from '../naming/translation.ts'
import { RefusalError } from '../refusals.ts'
import type { CompiledOperation } from './compiled-operation.ts'
import { translateRoute } from './routed-path.ts'
import type { Router } from './router.ts'
import { findUnknownFields } from './unknown-fields.ts'
import { toUnreadFields } from './validate-input.ts'

/** What a log keeps of a request. */
export interface LoggedInput {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** The body; undefined for no body and for an upload. */
  readonly text: string | undefined
}

/**
 * Returns the unknown fields of the query and the body of a request, as in `query stauts` or `body hub.repo`. Those of an
 * upload are not known any more.
 *
 * @param scope what its handler would get now
 */
export function findUnreadFields(
  router: Router<CompiledOperation>,
  mapping: VendorMapping | undefined,
  scope: object,
  { method, target, text }: LoggedInput,
): readonly string[] {
  const declared = findDeclared(router, mapping, scope, { method, target })
  if (declared === undefined) return []
  const { operation, endpoint, search } = declared
  return toUnreadFields(findUnknownFields(endpoint, { search, text }, operation.requestMapping), operation)
}

/** Returns the operation of a request and its endpoint with the body that it reads now. Undefined for an unknown path. */
export function findDeclared(
  router: Router<CompiledOperation>,
  mapping: VendorMapping | undefined,
  scope: object,
  { method, target }: Pick<LoggedInput, 'method' | 'target'>,
): { readonly operation: CompiledOperation; readonly endpoint: AnyEndpoint; readonly search: string } | undefined {
  const [path = '', search = ''] = target.split(/\?(.*)/s)
  const match = router.match(method, path)
  if (match === undefined || !('target' in match)) return undefined
  const found = { operation: match.target, path, params: match.params, search }
  const routed = mapping === undefined ? found : translateRoute(mapping, found, false)
  const { operation } = routed
  const { endpoint } = operation
  let body = endpoint.byTask === undefined ? endpoint.body : undefined
  try {
    body = operation.bodySchemaFor(scope, routed.params) ?? body
  } catch (error) {
    // The fields of a model that is unknown now cannot be compared.
    if (!(error instanceof RefusalError)) throw error
  }
  return { operation, endpoint: { ...endpoint, body }, search: routed.search }
}
