/** The sections of a names profile, and what their words can be. */
import * as z from 'zod'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { globOf } from '../../lib/patterns.ts'
import { type AnyEndpoint, ERROR_SHAPES, type Operations, routeParamNames } from '../endpoint.ts'
import { vocabularyOf } from './vocabulary.ts'

/** The position of each path word: the first segment, or the segment after the version, or that after `/deploy`. */
export const PATH_WORDS = {
  vendor_a: 'first',
  aggregator: 'first',
  hosted: 'versioned',
  compat: 'versioned',
  hub: 'deploy',
} as const
export const HEADER_WORDS = ['alt-api-key', 'x-api-key'] as const
export const VARIANT_WORDS = ['compat-', 'altvendor-'] as const

const target = (pattern: RegExp, expected: string) => z.string().max(64).regex(pattern, expected)
const HEADER_EXPECTED = 'text that is the name of a header'
const HEADER = target(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, HEADER_EXPECTED)
const HEADERS = z.union([HEADER, z.array(HEADER).min(1)], `${HEADER_EXPECTED}, or a list of names`)
const SEGMENT = target(/^[A-Za-z0-9][A-Za-z0-9._~-]*$/, 'text that is one segment of a path')
const FIELD = target(/^[A-Za-z_$][\w$.-]*$/, 'text that is the name of a field')
const VALUE = target(/^\S(?:.*\S)?$/, 'text without spaces around it')
const KEY_START = target(/^[a-z0-9][a-z0-9-]*$/, 'text of small letters, digits and dashes')

export const NamesSchema = z
  .strictObject({
    paths: z.partialRecord(z.enum(Object.keys(PATH_WORDS)), SEGMENT).describe('Segments of paths'),
    fields: z.record(z.string(), FIELD).describe('Names of fields'),
    values: z.record(z.string(), VALUE).describe('Words of fields'),
    headers: z.partialRecord(z.enum(HEADER_WORDS), HEADERS).describe('Headers that take a token'),
    variants: z.partialRecord(z.enum(VARIANT_WORDS), KEY_START).describe('What keys of model schemas begin with'),
    tags: z.record(z.string(), z.string().min(1)).describe('Tags of catalog models'),
    aliases: z.record(z.string(), z.string()).describe('Further routes of operations'),
    errors: z.record(z.string(), z.enum(ERROR_SHAPES)).describe('The error shapes of operations'),
  })
  .partial()

/** Returns the JSON Schema of a profile, for editors. It cannot express collisions of names. */
export function namesJsonSchema() {
  const { $schema: _, ...schema } = z.toJSONSchema(NamesSchema)
  return schema
}

/** Headers that are already in use. */
const RESERVED_HEADERS =
  /^(?:authorization|cookie|host|date|te|trailer|upgrade|origin|content-.*|transfer-encoding|connection|keep-alive|x-sim-.*|x-forwarded-.*|sec-.*|accept.*|user-agent)$/i

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

/** Returns a text for each word of a profile that is unknown, and for each target that has a meaning already. */
export function findProblems(profile: z.infer<typeof NamesSchema>, operations: Operations): string[] {
  const vocabulary = vocabularyOf(operations)
  const places = [...vocabulary.keys()]
  const fields = [...places.map(place => place.slice(place.lastIndexOf('.') + 1)), ...places]
  const values = [...vocabulary].flatMap(([place, words]) => [...words].flatMap(word => [word, `${place}.${word}`]))
  const { headers = {}, aliases = {}, errors = {} } = profile
  return [
    ...findUnknown('fields', profile.fields, fields),
    ...findUnknown('values', profile.values, values),
    ...(['paths', 'fields', 'values', 'headers', 'variants'] as const).flatMap(name => findEqual(name, profile[name])),
    ...Object.entries(headers).flatMap(([word, names]) =>
      [names]
        .flat()
        .filter(name => RESERVED_HEADERS.test(name))
        .map(name => `headers.${word}: '${name}' is a header in use. Give it another.`),
    ),
    ...Object.entries(aliases).flatMap(([route, target]) =>
      findAliasProblems(parseAlias(route, target), operations).map(problem => `aliases.${route}: ${problem}`),
    ),
    ...Object.keys(errors).flatMap(pattern => {
      const known = Object.entries(operations as Operations<unknown>).flatMap(([name, { route }]) => [name, route])
      if (known.some(globOf(pattern))) return []
      const advice = formatSuggestion(pattern, known, "Give an operation, a route, or a pattern like 'create*'.")
      return [`errors.${pattern}: unknown operation. ${advice}`]
    }),
  ]
}

type Words = Readonly<Record<string, string | readonly string[] | undefined>>

function findUnknown(section: string, words: Words = {}, known: readonly string[]): string[] {
  return Object.keys(words)
    .filter(word => !known.includes(word))
    .map(word => `${section}.${word}: unknown word. ${formatSuggestion(word, known, 'GET /_sim/fields lists them.')}`)
}

/** Returns a text for each word with the target of another one. Names in single places may be equal. */
function findEqual(section: string, words: Words = {}): string[] {
  const wordsByTarget = new Map<string, string>()
  return Object.entries(words).flatMap(([word, targets]) =>
    [targets ?? []].flat().flatMap(target => {
      const key = section === 'headers' ? target.toLowerCase() : target
      const other = word.includes('.') ? undefined : wordsByTarget.get(key)
      if (!word.includes('.')) wordsByTarget.set(key, word)
      if (other === undefined) return []
      return [`${section}.${word}: '${target}' is already the name of ${section}.${other}. Give it another.`]
    }),
  )
}

const ROUTE = /^(?:GET|POST|PUT|PATCH|DELETE) (?:\/(?:[A-Za-z0-9._~-]+|\{\w+\}))+$/

function findAliasProblems({ route, method, path, operation, fixed }: Alias, operations: Operations): string[] {
  if (!ROUTE.test(route)) return ["invalid route. Give a method and a path, as in 'GET /catalog/{model_name}'."]
  if (path.startsWith('/_sim')) return ["'/_sim' is the control plane. Give another path."]
  const endpoint = operations[operation] as AnyEndpoint | undefined
  if (endpoint === undefined) {
    const advice = formatSuggestion(operation, Object.keys(operations), 'GET /_sim/fields lists the operations.')
    return [`unknown operation '${operation}'. ${advice}`]
  }
  if (endpoint.method !== method) return [`${operation} is a ${endpoint.method}. Begin the route with it.`]
  const own = routeParamNames(endpoint.path)
  const given = [...routeParamNames(path), ...Object.keys(fixed)]
  const known = [...own, ...Object.keys(endpoint.query)]
  return [
    ...given
      .filter(name => !known.includes(name))
      .map(
        name => `unknown parameter '${name}'. ${formatSuggestion(name, known, `Parameters are ${known.join(', ')}.`)}`,
      ),
    ...own
      .filter(name => given.filter(one => one === name).length !== 1)
      .map(
        name =>
          `give the parameter '${name}' once: as {${name}} in the path, or as ?${name}=value after the operation.`,
      ),
  ]
}
