/** Random requests to an endpoint, generated from its declaration. */
import fc from 'fast-check'
import type { z } from 'zod'
import { type AnyEndpoint, routeParamNames } from '../../../src/service/endpoint.ts'
import { forms, uploads } from './forms.ts'
import { bodies, jsonContentType } from './json-bodies.ts'
import type { Content, SentRequest } from './sent-request.ts'
import { headerText, type KnownValues, knownAs, nasty } from './values.ts'

/** What is known of the requests that an endpoint accepts, beside its declaration. */
export interface Likely {
  readonly content?: fc.Arbitrary<Content>
  /** How often it replaces the declared content, which has a weight of 1. */
  readonly weight?: number
  /** Whether the control plane has the endpoint: it refuses each unknown query parameter. */
  readonly isControl?: boolean
}

/** Generates requests to an endpoint: valid, almost valid and invalid ones. */
export function requests(known: KnownValues, endpoint: AnyEndpoint, likely: Likely = {}): fc.Arbitrary<SentRequest> {
  const method = endpoint.method
  const { upload } = endpoint
  const declared =
    endpoint.consumes === 'form'
      ? forms(known, Object.keys((endpoint.body as z.ZodObject).shape))
      : upload === undefined
        ? fc.tuple(jsonContentType, method === 'GET' ? fc.constant(undefined) : bodies(known, endpoint.body))
        : uploads(Object.keys(upload.fields ?? {}), upload.part, endpoint.example.form)
  const { content: given, weight = 1, isControl = false } = likely
  const content =
    given === undefined ? declared : fc.oneof({ weight, arbitrary: given }, { weight: 1, arbitrary: declared })
  return fc
    .tuple(
      paths(known, endpoint.path),
      queries(known, endpoint.query, isControl),
      fc.boolean(),
      callers(known),
      encoding,
      content,
    )
    .map(([path, query, raw, from, encoded, [contentType, body]]) => ({
      method,
      target: path + query,
      raw,
      headers: [...from, ...encoded, ...contentType],
      body,
    }))
}

// Paths and queries.

function paths(known: KnownValues, path: string): fc.Arbitrary<string> {
  const pieces = path.split(/\{([^}]+)\}/)
  const names = routeParamNames(path)
  const segment = (name: string) =>
    fc.oneof(
      { weight: 5, arbitrary: knownAs(known, name) },
      { weight: 2, arbitrary: knownAs(known, name).map(encodeURIComponent) },
      { weight: 3, arbitrary: nasty },
      { weight: 1, arbitrary: fc.tuple(knownAs(known, name), nasty).map(both => both.join('')) },
    )
  const ending = fc.oneof(
    { weight: 12, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('/', '//', '/x', '%', '%20', ';a=b', '/..') },
  )
  return fc.tuple(fc.tuple(...names.map(segment)), ending).map(([values, end]) => {
    // A question mark or a hash would end the path.
    const clean = values.map(value => value.replaceAll(/[?#]/g, ''))
    return pieces.map((piece, i) => (i % 2 === 0 ? piece : clean[(i - 1) / 2])).join('') + end
  })
}

function queries(
  known: KnownValues,
  fields: Readonly<Record<string, z.ZodType>>,
  isControl: boolean,
): fc.Arbitrary<string> {
  const value = (name: string) =>
    fc.oneof(
      { weight: 6, arbitrary: knownAs(known, name) },
      { weight: 4, arbitrary: fc.integer({ min: -1, max: 1_800_000_000 }).map(String) },
      { weight: 2, arbitrary: nasty },
      { weight: 1, arbitrary: fc.constantFrom('running,stopped', 'running, deleted,', '1.5', '1e400', '-0', '+5') },
    )
  const named = [...Object.keys(fields), ...(isControl ? [] : ['from'])].map(name =>
    fc.tuple(fc.constant(name), value(name), fc.boolean()),
  )
  const pair = fc
    .oneof(
      { weight: 10, arbitrary: named.length > 0 ? fc.oneof(...named) : fc.tuple(nasty, nasty, fc.boolean()) },
      { weight: 1, arbitrary: fc.tuple(nasty, nasty, fc.boolean()) },
    )
    .map(([left, right, isEscaped]) =>
      isEscaped ? new URLSearchParams([[left, right]]).toString() : `${left}=${right}`,
    )
  const empty = Object.keys(fields).length > 0 ? 3 : isControl ? 80 : 12
  return fc.oneof(
    { weight: empty, arbitrary: fc.constant('') },
    { weight: 6, arbitrary: fc.array(pair, { minLength: 1, maxLength: 4 }).map(pairs => `?${pairs.join('&')}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('?', '??', '?&&&', '?=', '?=1', '?%', '?a=%ff&%=', '?from', '?status[]=x'),
    },
  )
}

// Headers.

/** Generates the headers of a caller, mostly of the account. The token is read when a request is made. */
function callers(known: KnownValues): fc.Arbitrary<[string, string][]> {
  const withToken = (toHeader: (token: string) => [string, string]) =>
    fc.constant(undefined).map((): [string, string][] => [toHeader(known.token)])
  const strange = fc.oneof(
    fc.constantFrom('', 'null', 'Bearer', 'Bearer ', 'bearer x', '\xff'),
    fc.constant(undefined).map(() => `Bearer ${known.token} Bearer ${known.token}`),
    fc.constant(undefined).map(() => `Basic ${known.token}`),
    knownAs(known, 'token').map(token => `Bearer ${token.replaceAll(/[^\x20-\x7e]/g, '')}`),
    headerText,
  )
  return fc.oneof(
    { weight: 30, arbitrary: withToken(token => ['authorization', `Bearer ${token}`]) },
    { weight: 3, arbitrary: withToken(token => ['alt-api-key', token]) },
    {
      weight: 3,
      arbitrary: fc.tuple(fc.constantFrom('authorization', 'alt-api-key'), strange).map(pair => [pair]),
    },
    { weight: 1, arbitrary: fc.constant<[string, string][]>([]) },
  )
}

const encoding = fc.oneof(
  { weight: 24, arbitrary: fc.constant<[string, string][]>([]) },
  {
    weight: 1,
    arbitrary: fc
      .oneof(fc.constantFrom('identity', 'gzip', 'br', '', 'IDENTITY', 'gzip, identity'), headerText)
      .map(value => [['content-encoding', value]] as [string, string][]),
  },
)
