/** The sections of a names profile whose words are of the user: tags, aliases and error shapes. */
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { globOf } from '../../lib/glob.ts'
import { type AnyEndpoint, ERROR_SHAPES, type Operations, routeParamNames } from '../endpoint.ts'
import type { Vocabulary } from './vocabulary.ts'

/** A further route of an operation. */
export interface Alias {
  readonly method: string
  /** With the neutral names of parameters in braces. */
  readonly path: string
  readonly operation: string
  /** Values of parameters of the path and the query that the route does not have. */
  readonly fixed: Readonly<Record<string, string>>
  /** The route as the profile writes it. */
  readonly route: string
}

/** Parses a route and its target, as in `getModelSchema?variantKey=default`. */
export function parseAlias(route: string, target: string): Alias {
  const [method = '', path = ''] = route.split(' ')
  const [operation = '', search = ''] = target.split('?')
  return { method, path, operation, fixed: Object.fromEntries(new URLSearchParams(search)), route }
}

type Targets = Readonly<Record<string, string | readonly string[]>>
type FindProblems = (words: Targets, operations: Operations, vocabulary: Vocabulary) => string[]

/** The checks of each section. Each returns one text for each problem. */
export const FREE_SECTIONS: Readonly<Record<'tags' | 'aliases' | 'errors', FindProblems>> = {
  tags: words =>
    Object.entries(words).flatMap(([tag, named]) =>
      typeof named === 'string' && named !== '' ? [] : [`tags.${tag} is not a text. Give the tag of the provider.`],
    ),
  aliases: findAliasProblems,
  errors(words, operations) {
    const names = Object.entries(operations as Operations<unknown>)
    return Object.entries(words).flatMap(([pattern, shape]) => {
      const matches = globOf(pattern)
      if (!names.some(([name, { route }]) => matches(name) || matches(route))) {
        const known = pattern.includes(' ') ? names.map(([, { route }]) => route) : names.map(([name]) => name)
        const advice = formatSuggestion(pattern, known, "Give an operation, a route, or a pattern like 'create*'.")
        return [`errors.${pattern}: unknown operation. ${advice}`]
      }
      if (ERROR_SHAPES.some(known => known === shape)) return []
      const advice = formatSuggestion(String(shape), ERROR_SHAPES, `Shapes are ${ERROR_SHAPES.join(', ')}.`)
      return [`errors.${pattern}: unknown error shape '${shape}'. ${advice}`]
    })
  },
}

const ROUTE = /^(?:GET|POST|PUT|PATCH|DELETE) (?:\/(?:[A-Za-z0-9._~-]+|\{\w+\}))+$/

function findAliasProblems(words: Targets, operations: Operations): string[] {
  return Object.entries(words).flatMap(([route, target]) => {
    const location = `aliases.${route}`
    if (typeof target !== 'string') return [`${location} is not a text. Give an operation.`]
    if (!ROUTE.test(route)) {
      return [`${location}: invalid route. Give a method and a path, as in 'GET /catalog/{model_name}'.`]
    }
    const alias = parseAlias(route, target)
    if (alias.path.startsWith('/_sim')) return [`${location}: '/_sim' is the control plane. Give another path.`]
    if (!Object.hasOwn(operations, alias.operation)) {
      const known = Object.keys(operations)
      const advice = formatSuggestion(alias.operation, known, 'GET /_sim/fields lists the operations.')
      return [`${location}: unknown operation '${alias.operation}'. ${advice}`]
    }
    const endpoint = operations[alias.operation] as AnyEndpoint
    if (endpoint.method !== alias.method) {
      return [`${location}: ${alias.operation} is a ${endpoint.method}. Begin the route with ${endpoint.method}.`]
    }
    return findParameterProblems(alias, endpoint).map(problem => `${location}: ${problem}`)
  })
}

function findParameterProblems({ path, fixed }: Alias, endpoint: AnyEndpoint): string[] {
  const own = routeParamNames(endpoint.path)
  const known = [...own, ...Object.keys(endpoint.query)]
  const given = routeParamNames(path)
  const unknown = [
    ...given.filter(name => !own.includes(name)),
    ...Object.keys(fixed).filter(name => !known.includes(name)),
  ]
  const missing = own.filter(name => !given.includes(name) && !Object.hasOwn(fixed, name))
  const both = given.filter(name => Object.hasOwn(fixed, name))
  return [
    ...unknown.map(
      name => `unknown parameter '${name}'. ${formatSuggestion(name, known, `Parameters are ${known.join(', ')}.`)}`,
    ),
    ...missing.map(
      name => `the parameter '${name}' is missing. Put {${name}} into the path, or ?${name}=value after the operation.`,
    ),
    ...both.map(name => `'${name}' is in the path and has a value. Give one of them.`),
  ]
}
