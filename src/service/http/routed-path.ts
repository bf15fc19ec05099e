/** A routed request under a names profile: its neutral path, and the parameters that an alias sets. */
import { routeParamNames } from '../endpoint.ts'
import type { VendorMapping } from '../naming/translation.ts'
import type { RequestContext } from './request-context.ts'

/** The parts of a routed request that a names profile changes. */
type RoutedPath = Pick<RequestContext, 'operation' | 'path' | 'params' | 'search'>

/**
 * Translates a routed path into the neutral names, which are the only names in the journal. The response has the neutral
 * names if the request asks for them: the typed client does, and is the same for every names profile.
 */
export function translateRoute(mapping: VendorMapping, routed: RoutedPath, neutralResponse: boolean): RoutedPath {
  const { operation, params: vendorParams, search } = routed
  const params = operation.requestMapping!.path.toInternal(vendorParams) as Readonly<Record<string, string>>
  const compiled = neutralResponse ? operation.withNeutralResponse : operation
  const { alias, endpoint } = operation
  if (alias !== undefined)
    return { operation: compiled, ...fillRoute(endpoint.path, { ...alias.fixed, ...params }, search) }
  let path = mapping.toInternalPath(routed.path, endpoint)
  for (const [name, value] of Object.entries(params)) {
    // A translated value is one of a fixed set of words, which need no escapes.
    if (value !== vendorParams[name]) path = path.replace(`/${vendorParams[name]}`, `/${value}`)
  }
  return { operation: compiled, path, params, search }
}

/** Returns the declared path with its parameters. The other values are parameters of the query. */
function fillRoute(
  declaredPath: string,
  values: Readonly<Record<string, string>>,
  search: string,
): Omit<RoutedPath, 'operation'> {
  const params: Record<string, string> = {}
  const query = new URLSearchParams(search)
  const names = routeParamNames(declaredPath)
  for (const [name, value] of Object.entries(values)) {
    if (names.includes(name)) params[name] = value
    else if (!query.has(name)) query.set(name, value)
  }
  const path = declaredPath.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'model_name' ? params[name]! : encodeURIComponent(params[name]!),
  )
  return { path, params, search: query.toString() }
}
