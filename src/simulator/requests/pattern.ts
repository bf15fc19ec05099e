/** Patterns of requests: which requests are meant, and in what a request differs from a pattern. */

import { DECIDERS, type DecidedBy } from '../../kernel/journal.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { type Difference, differences, formatJsonValue } from '../../lib/differences.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { globOf } from '../../lib/patterns.ts'
import { quote } from '../../lib/quote.ts'
import { HIDDEN } from '../../lib/text/secrets.ts'
import { SCOPED_PREFIX } from '../../simulation/account/access/scoped-tokens.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { Simulator } from '../simulator-interface.ts'

/** A status, or a class of them such as `'4xx'`. 0: a fault left the client without a response. */
export type StatusPattern = number | `${1 | 2 | 3 | 4 | 5}xx`

/** Which requests are meant. A request has to match every field that is given; a list matches if one of its items does. */
export interface RequestPattern {
  /** An operation id; `*` is any text, as in `create*`. `''`: an unknown path. */
  readonly operation?: string | readonly string[] | undefined
  readonly method?: string | undefined
  /** The path without its query; `*` is any text. With a `?`, the query counts too. */
  readonly path?: string | undefined
  readonly status?: StatusPattern | readonly StatusPattern[] | undefined
  /** Fields that the body must have. Other fields do not matter. Lists have their full length. */
  readonly body?: unknown
  /** The id or the name of an API token, never its secret. `''`: requests without a known token. */
  readonly token?: string | undefined
  readonly decidedBy?: DecidedBy | readonly DecidedBy[] | undefined
  /** The id of a thing that the request is about: see `ReceivedRequest.subjects`. */
  readonly subject?: string | undefined
}

export const PATTERN_FIELDS = [
  ...(['operation', 'method', 'path', 'status', 'body', 'token', 'decidedBy', 'subject'] as const),
] as const satisfies readonly (keyof RequestPattern)[]

/** A pattern that was checked. */
export interface CompiledPattern {
  /** Returns what differs, the most telling difference first; nothing if the request matches. */
  mismatches(request: ReceivedRequest): readonly Difference[]
  matches(request: ReceivedRequest): boolean
  /** Names the requests, as in `createLlmDeployment with status 429`. */
  readonly words: string
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']

type Part = (request: ReceivedRequest) => readonly Difference[]

/**
 * Checks a pattern.
 *
 * @param context begin of errors, as in `Failed to list requests`
 * @throws RangeError for an unknown field, operation, status or token
 */
export function compilePattern(sim: Simulator, pattern: RequestPattern, context: string): CompiledPattern {
  assertKnownKeys(pattern, PATTERN_FIELDS, context, { noun: 'field' })
  const { operation, method, path, status, body, token, decidedBy, subject } = pattern
  const parts: Part[] = []
  if (operation !== undefined) parts.push(operationPart(sim, requireList(operation, 'operation', context), context))
  if (method !== undefined) parts.push(methodPart(requireText(method, 'method', context).toUpperCase(), context))
  if (path !== undefined) parts.push(pathPart(requireText(path, 'path', context), context))
  if (status !== undefined) parts.push(statusPart(requireList(status, 'status', context), context))
  if (decidedBy !== undefined) parts.push(deciderPart(requireList(decidedBy, 'decidedBy', context), context))
  if (token !== undefined) parts.push(tokenPart(sim, requireText(token, 'token', context), context))
  if (subject !== undefined) parts.push(subjectPart(requireText(subject, 'subject', context)))
  if (body !== undefined) parts.push(request => differences(request.body, body, 'body'))
  const mismatches = (request: ReceivedRequest) => parts.flatMap(part => part(request))
  return {
    mismatches,
    matches: request => parts.every(part => part(request).length === 0),
    words: describePattern(pattern),
  }
}

/** Names the requests that a pattern means. */
function describePattern({ operation, method, path, ...others }: RequestPattern): string {
  const names = [operation ?? []].flat().map(name => (name === '' ? 'unknown paths' : name))
  const place = [method?.toUpperCase(), path].filter(part => part !== undefined).join(' ')
  const head = [names.join(' or '), place].filter(part => part !== '').join(', ') || 'any request'
  const rest = Object.entries(others).filter(([, value]) => value !== undefined)
  if (rest.length === 0) return head
  return `${head} with ${rest.map(([name, value]) => `${name} ${formatJsonValue(value)}`).join(', ')}`
}

/** Formats a difference in words, as in `body.model: expected "a", received "b"`. */
export function formatDifference({ path, expected, found }: Difference): string {
  if (found === HIDDEN) return `${path}: received another value than expected`
  return `${path}: expected ${expected}, received ${found}`
}

/** Rejects an empty list, which no request can match. */
function requireList<Item>(value: Item | readonly Item[], field: string, context: string): readonly Item[] {
  const items = [value].flat() as readonly Item[]
  if (items.length > 0) return items
  throw new RangeError(`${context}: ${field} is an empty list. Give at least one item, or leave it out.`)
}

function requireText(value: unknown, field: string, context: string): string {
  if (typeof value === 'string') return value
  throw new RangeError(`${context}: ${field} is ${quote(value)}. Give a text.`)
}

function operationPart(sim: Simulator, names: readonly string[], context: string): Part {
  const known = Object.keys(sim.api.routes)
  const tests = names.map(name => {
    const glob = globOf(requireText(name, 'operation', context))
    if (name !== '' && !known.some(glob)) {
      const advice = formatSuggestion(name, known, 'docs/endpoints.md lists them.')
      throw new RangeError(`${context}: unknown operation '${name}'. ${advice}`)
    }
    return glob
  })
  const expected = names.join(' or ')
  return ({ operation }) =>
    tests.some(test => test(operation))
      ? []
      : [{ path: 'operation', expected, found: operation === '' ? 'an unknown path' : operation }]
}

function methodPart(expected: string, context: string): Part {
  if (!METHODS.includes(expected)) {
    const advice = formatSuggestion(expected, METHODS, `Give one of ${METHODS.join(', ')}.`)
    throw new RangeError(`${context}: unknown method ${quote(expected)}. ${advice}`)
  }
  return ({ method }) => (method === expected ? [] : [{ path: 'method', expected, found: method }])
}

function pathPart(pattern: string, context: string): Part {
  if (!/^[/*]/.test(pattern)) {
    throw new RangeError(`${context}: invalid path ${quote(pattern)}. Give one that begins with a slash, or with *.`)
  }
  const glob = globOf(pattern)
  const hasQuery = pattern.includes('?')
  return ({ path }) => {
    const found = hasQuery ? path : path.split('?', 1)[0]!
    return glob(found) ? [] : [{ path: 'path', expected: pattern, found }]
  }
}

function statusPart(statuses: readonly unknown[], context: string): Part {
  const tests = statuses.map((status): ((found: number) => boolean) => {
    if (Number.isInteger(status) && (status === 0 || ((status as number) >= 100 && (status as number) <= 599))) {
      return found => found === status
    }
    const digit = typeof status === 'string' ? /^([1-5])xx$/i.exec(status)?.[1] : undefined
    if (digit !== undefined) return found => Math.floor(found / 100) === Number(digit)
    throw new RangeError(
      `${context}: invalid status ${quote(status)}. Give one as in 429, a class as in '4xx', or 0 for no response.`,
    )
  })
  const expected = statuses.join(' or ')
  return ({ status }) => (tests.some(test => test(status)) ? [] : [{ path: 'status', expected, found: String(status) }])
}

function deciderPart(deciders: readonly string[], context: string): Part {
  for (const decider of deciders) {
    if ((DECIDERS as readonly string[]).includes(decider)) continue
    const advice = formatSuggestion(String(decider), DECIDERS, `Give one of ${DECIDERS.join(', ')}.`)
    throw new RangeError(`${context}: unknown decidedBy ${quote(decider)}. ${advice}`)
  }
  const expected = deciders.join(' or ')
  return ({ decidedBy }) => (deciders.includes(decidedBy) ? [] : [{ path: 'decidedBy', expected, found: decidedBy }])
}

function tokenPart(sim: Simulator, token: string, context: string): Part {
  const ids = token === '' ? [''] : idsOfToken(sim, token, context)
  const expected = token === '' ? 'none' : token
  return ({ client }) => (ids.includes(client) ? [] : [{ path: 'token', expected, found: client || 'none' }])
}

/** Returns the ids of the tokens with this id or name, also of a deleted token that sent requests. */
function idsOfToken({ world, requests }: Simulator, token: string, context: string): readonly string[] {
  const tokens = world.store.tokens.all()
  const ids = tokens.filter(({ token_id, name }) => token_id === token || name === token).map(one => one.token_id)
  if (ids.length > 0) return ids
  if (requests.some(({ client }) => client === token)) return [token]
  const known = tokens.flatMap(({ token_id, name }) => [token_id, name])
  const { store, apiTokens } = world
  if (store.tokenByValue(token) || apiTokens.formerValues.includes(token) || token.startsWith(SCOPED_PREFIX)) {
    throw new RangeError(`${context}: the token is given by its secret. Give its id or its name: ${known.join(', ')}.`)
  }
  const advice = formatSuggestion(token, known, `Tokens are ${known.join(', ') || 'missing in this world'}.`)
  throw new RangeError(`${context}: unknown token ${quote(token)}. ${advice}`)
}

function subjectPart(expected: string): Part {
  return ({ subjects }) =>
    subjects.includes(expected)
      ? []
      : [{ path: 'subject', expected, found: subjects.length === 0 ? 'none' : subjects.join(', ') }]
}
