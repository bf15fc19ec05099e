/** From method and path to the operation, on Hono's router class and without the rest of Hono. */
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { routeParamNames } from '../endpoint.ts'

export interface Route {
  method: string
  /** `/deploy/{deploy_id}/start` */
  path: string
  /** Whether its pattern is apart from all others, because its parameters may have other names. Default: false. */
  standsAlone?: boolean
}

export type Match<Target> =
  | { target: Target; params: Readonly<Record<string, string>> }
  /** The path exists under other methods. */
  | { allow: readonly string[] }
  | undefined

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * Lazy on purpose: `/models/chat/versions` is the versions of `chat`, not a model named `chat/versions`, and
 * `/models/acme/chat/versions` still the versions of `acme/chat`.
 */
const MODEL_NAME_PATTERN = ':model_name{[^/]+?(?:/[^/]+)??}'

export class Router<Target> {
  /** Paths without a parameter; they win over paths with one, as the literal word does everywhere. */
  readonly #literalPaths = new Map<string, Map<string, Target>>()
  /**
   * The other paths. Those with the name of a model come last: `/v1/inference/{model_name}` would also match
   * `/v1/inference/deploy/x`.
   */
  readonly #patterns: readonly RegExpRouter<Target>[]
  readonly #methods = new Set<string>()

  constructor(routes: Iterable<readonly [Route, Target]>) {
    const [plain, named] = [new RegExpRouter<Target>(), new RegExpRouter<Target>()]
    const alone: { readonly length: number; readonly params: number; readonly patterns: RegExpRouter<Target> }[] = []
    for (const [route, target] of routes) {
      this.#methods.add(route.method)
      const { length: params } = routeParamNames(route.path)
      if (params > 0) {
        const patterns = route.standsAlone
          ? new RegExpRouter<Target>()
          : route.path.includes('{model_name}')
            ? named
            : plain
        if (route.standsAlone) alone.push({ length: route.path.split('/').length, params, patterns })
        patterns.add(route.method, toRouterPattern(route.path), target)
        continue
      }
      const byMethod = this.#literalPaths.get(route.path) ?? new Map<string, Target>()
      byMethod.set(route.method, target)
      this.#literalPaths.set(route.path, byMethod)
    }
    // The longest first: the name of a model in a shorter one could have a slash. A word comes before a parameter.
    const longestFirst = alone.sort((a, b) => b.length - a.length || a.params - b.params)
    this.#patterns = [plain, named, ...longestFirst.map(({ patterns }) => patterns)]
  }

  /**
   * The operation of a request. HEAD is answered as GET; a trailing slash does not count; a broken percent-encoding
   * matches nothing.
   *
   * @param pathname as it came, still percent-encoded, without the query
   */
  match(method: string, pathname: string): Match<Target> {
    const path = toCanonicalPath(pathname)
    if (path === undefined) return undefined
    const lookupMethod = method === 'HEAD' ? 'GET' : method
    const match = this.#find(lookupMethod, path)
    if (match !== undefined) return match
    const allow = [...this.#methods].filter(other => this.#find(other, path) !== undefined)
    if (allow.length === 0) return undefined
    if (allow.includes('GET')) allow.push('HEAD')
    return { allow: allow.sort() }
  }

  #find(method: string, path: string): { target: Target; params: Readonly<Record<string, string>> } | undefined {
    const byMethod = this.#literalPaths.get(path)
    if (byMethod !== undefined) {
      // With any method: `DELETE /models/deployment/list` never deletes a model of that name.
      const literal = byMethod.get(method)
      return literal === undefined ? undefined : { target: literal, params: NO_PARAMS }
    }
    for (const patterns of this.#patterns) {
      // The result is empty for an empty path.
      type Matched = [] | [[Target, Record<string, number>][], string[]]
      const [[first] = [], values = []] = patterns.match(method, path) as Matched
      if (first === undefined) continue
      const params: Record<string, string> = {}
      for (const [name, index] of Object.entries(first[1])) params[name] = decodeParam(values[index]!)
      return { target: first[0], params }
    }
    return undefined
  }
}

/**
 * Returns a path without its trailing slash, and with every escape resolved but those of `/`, `%` and other reserved
 * characters; undefined for a broken escape.
 */
export function toCanonicalPath(pathname: string): string | undefined {
  const path = pathname.length > 1 && pathname.endsWith('/') ? pathname.slice(0, -1) : pathname
  if (!path.includes('%')) return path
  try {
    return decodeURI(path.replaceAll('%25', '%2525'))
  } catch {
    return undefined
  }
}

/** What `canonical` left are escapes of reserved characters: always well-formed. */
function decodeParam(value: string): string {
  return value.includes('%') ? decodeURIComponent(value) : value
}

function toRouterPattern(path: string): string {
  return path.replaceAll('{model_name}', MODEL_NAME_PATTERN).replaceAll(/\{([^}]+)\}/g, (whole, name: string) =>
    // The braces of a regular expression inside :model_name{…} are not names.
    /^\w+$/.test(name) ? `:${name}` : whole,
  )
}
