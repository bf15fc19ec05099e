/** What /openapi.json publishes of requests is accepted, and nothing beyond, under any names. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { hash32 } from '../../src/kernel/random.ts'
import { type AnyEndpoint, endpointPaths } from '../../src/service/endpoint.ts'
import { operations } from '../../src/service/index.ts'
import { type NamesProfile, readNames } from '../../src/service/naming/names-profile.ts'
import { VendorMapping } from '../../src/service/naming/translation.ts'
import { vocabularyOf } from '../../src/service/naming/vocabulary.ts'
import { createExampleRequest } from '../../src/service/openapi/examples.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document to look into
type Json = any

const NAMES_PROFILES = 12
const SEED = process.env.FUZZ_SEED ?? '7'

/** Returns a profile that renames about a fifth of all fields and words. */
function drawNames(nth: number): NamesProfile {
  const isDrawn = (word: string) => hash32(`${SEED}/${nth}/${word}`) % 5 === 0
  const vocabulary = [...vocabularyOf(operations)]
  const fields = new Set(vocabulary.map(([place]) => place.slice(place.lastIndexOf('.') + 1)).filter(isDrawn))
  const values = new Set(vocabulary.flatMap(([, words]) => [...words]).filter(word => isDrawn(`=${word}`)))
  const rename = (words: Set<string>, start: string) =>
    Object.fromEntries([...words].filter(word => /^[\w-]+$/.test(word)).map((word, n) => [word, `${start}${n}`]))
  return { fields: rename(fields, 'qf'), values: rename(values, 'qv') } as NamesProfile
}

const PROFILES = [undefined, ...Array.from({ length: NAMES_PROFILES }, (_, nth) => drawNames(nth))]

/** A value at a place of the input, in the words of the document. */
interface Candidate {
  readonly place: 'query' | 'body'
  readonly path: readonly string[]
  readonly value: unknown
}

/** Refusals by rules between fields, and by formats of texts, which the document does not publish. */
const UNPUBLISHED_RULES = [
  /should not be below/,
  /Value error, \S+ needs /,
  /is not a valid \S+ address/,
  /with single dashes between them/,
  /not a public SSH \S+:/,
]

const FREE_WORD = 'no-such-word'

/** Returns the listed values of a schema, a word beyond them, and the values at and beside its bounds. */
function edgesOf(schema: Json): unknown[] {
  const { enum: words, const: word, minimum, maximum, exclusiveMinimum, minLength, maxLength, maxItems } = schema
  const steps = schema.type === 'integer' ? [-1, 0, 1] : [-0.01, 0, 0.01]
  const around = (bound: unknown) => (typeof bound === 'number' ? steps.map(step => bound + step) : [])
  const lengths = [minLength, maxLength].flatMap(bound => (bound === undefined ? [] : [bound - 1, bound, bound + 1]))
  return [
    ...(words ?? (word === undefined ? [] : [word])),
    ...(words === undefined ? [] : [FREE_WORD]),
    ...[minimum, maximum, exclusiveMinimum].filter(bound => Math.abs(bound) < 1e9).flatMap(around),
    ...lengths.filter(length => length >= 0 && length < 5_000).map(length => 'é'.repeat(length)),
    ...(maxItems < 200 ? [Array.from({ length: maxItems + 1 }, () => 'x')] : []),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(edgesOf),
  ]
}

/** Yields the edges of each field of a body that its example has, or that is optional in an object that it has. */
function* bodyCandidates(schema: Json, body: Json, path: readonly string[] = []): Generator<Candidate> {
  for (const [name, field] of Object.entries<Json>(schema?.properties ?? {})) {
    const place = [...path, name]
    for (const value of edgesOf(field)) yield { place: 'body', path: place, value }
    const inner = body?.[name]
    const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
    if (isObject) yield* bodyCandidates(field.properties ? field : (field.anyOf?.[0] ?? {}), inner, place)
  }
}

function withValue(body: Json, [step, ...rest]: readonly string[], value: unknown): Json {
  return { ...body, [step!]: rest.length === 0 ? value : withValue(body?.[step!], rest, value) }
}

/** Sends a candidate in place of the value of the example. Returns whether it is refused as input, and the words. */
async function send(sim: Simulator, operation: string, body: Json, { place, path, value }: Candidate) {
  const fork = sim.fork()
  const address = { baseUrl: 'http://sim', token: fork.token }
  const sendNeutral = (request: Request) => {
    request.headers.set('x-sim-names', 'neutral')
    return fork.fetch(request)
  }
  const example = await createExampleRequest(operations, operation, sendNeutral, address)
  const url = new URL(example.url)
  if (place === 'query') url.searchParams.set(path[0]!, String(value))
  const content = place === 'query' ? body : withValue(body, path, value)
  const { method } = example
  const headers = { authorization: `Bearer ${fork.token}`, ...(content && { 'content-type': 'application/json' }) }
  const answer = await fork.fetch(url.href, { method, headers, ...(content && { body: JSON.stringify(content) }) })
  const { decidedBy, status } = fork.requests.at(-1)!
  return { isRefused: status >= 400 && decidedBy === 'none', text: status < 400 ? '' : await answer.text(), content }
}

/** Returns the words that a 422 says a place accepts. */
function quotedWords(text: string, place: Candidate['place'], path: readonly string[]): string[] {
  const { detail } = JSON.parse(text) as { detail: { loc: string[]; msg: string; type: string }[] }
  const found = detail.filter(
    ({ loc, type }) => type === 'literal_error' && loc.join('/') === [place, ...path].join('/'),
  )
  return found.flatMap(({ msg }) => [...msg.matchAll(/'([^']+)'/g)].map(([, word]) => word!))
}

describe.each(PROFILES.map((names, nth) => [nth === 0 ? 'neutral names' : `names profile ${nth}`, names] as const))(
  'under %s',
  (_, names) => {
    test('each published value and bound is accepted, each value beyond is 422, and refusals quote what is accepted', async () => {
      const sim = createSimulator({ seed: 1, ...(names && { names }) })
      const mapping = names && new VendorMapping(readNames(names), operations)
      const document: Json = await (await sim.fetch('http://sim/openapi.json')).json()
      const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false, formats: { binary: true } })
      ajv.addSchema(document, 'document:')
      let sent = 0
      const mismatches: string[] = []
      for (const [operation, endpoint] of Object.entries(operations) as [string, AnyEndpoint][]) {
        const [path] = endpointPaths(endpoint)
        const vendorPath = mapping?.names.toVendorPath(path!) ?? path!
        const [published] = [vendorPath, ...Object.keys(document.paths)].flatMap(one => {
          const found = document.paths[one]?.[endpoint.method.toLowerCase()]
          return found?.operationId === operation && !found['x-mirror-of'] ? [found] : []
        })
        expect(published, operation).toBeDefined()
        const schema = published.requestBody?.content['application/json']?.schema
        const example =
          schema && mapping
            ? mapping.forEndpoint(endpoint).body!.toVendor(endpoint.example.body)
            : endpoint.example.body
        const query = (published.parameters ?? []).filter((one: Json) => one.in === 'query')
        const candidates: Candidate[] = [
          ...query.flatMap((one: Json) =>
            edgesOf(one.schema).map(value => ({ place: 'query' as const, path: [one.name], value })),
          ),
          ...bodyCandidates(schema, example),
        ]
        const validate = schema && ajv.compile(schema)
        for (const candidate of candidates) {
          const { place, path: steps, value } = candidate
          if (place === 'query' && typeof value !== 'string' && typeof value !== 'number') continue
          const { isRefused, text, content } = await send(sim, operation, example, candidate)
          sent++
          const about = `${operation} ${place} ${steps.join('.')} = ${JSON.stringify(value)?.slice(0, 80)}: ${text.slice(0, 300)}`
          const isPublished =
            place === 'query'
              ? ajv.compile(query.find((one: Json) => one.name === steps[0]).schema)(value)
              : validate(content)
          const isRule = isRefused && UNPUBLISHED_RULES.some(rule => rule.test(text))
          if (isRefused === isPublished && !isRule) mismatches.push(about)
          if (value !== FREE_WORD || text === '') continue
          for (const word of quotedWords(text, place, steps)) {
            const again = await send(sim, operation, example, { ...candidate, value: word })
            const quoted = `${operation} ${place} ${steps.join('.')} quotes '${word}': ${again.text}`
            expect([
              quoted,
              again.text !== '' && again.isRefused && quotedWords(again.text, place, steps).length > 0,
            ]).toEqual([quoted, false])
          }
        }
      }
      expect(mismatches).toEqual([])
      expect(sent).toBeGreaterThan(300)
    })
  },
)
