/** The OpenAPI document of a world with a names profile. */
import type { AnyEndpoint, Operations } from './endpoint.ts'
import type { Names } from './names.ts'
import type { Wording } from './wording.ts'

type Json = Readonly<Record<string, unknown>>

interface Document {
  readonly info: Json
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>
  readonly components: Json
}

/** What is needed to say a piece of the document in the words of a world. */
interface Speech {
  readonly names: Names
  readonly wording: Wording
  readonly operations: Operations
  /** What code made from the document calls an operation, and a schema. */
  readonly operationIds: ReadonlyMap<string, string>
  readonly schemaIds: ReadonlyMap<string, string>
}

/** The document in the words of a world: paths, parameters, fields, values, examples, and what it says of them. */
export function namedDocument(document: Document, wording: Wording, operations: Operations): Document {
  const { names } = wording
  const { schemas, securitySchemes, ...components } = document.components
  const described = Object.values(document.paths).flatMap(methods => Object.values(methods))
  const speech: Speech = {
    ...{ names, wording, operations },
    operationIds: identifiers(
      described.map(({ operationId }) => operationId as string),
      names,
    ),
    schemaIds: identifiers(Object.keys(schemas as Json), names),
  }
  return {
    ...document,
    info: prose(document.info, names, ['description']),
    paths: Object.fromEntries(
      Object.entries(document.paths).map(([path, methods]) => [
        names.path(path),
        each(methods, one => operation(one, speech)),
      ]),
    ),
    components: {
      ...components,
      schemas: Object.fromEntries(
        Object.entries(schemas as Json).map(([id, one]) => [speech.schemaIds.get(id), schema(one as Json, speech)]),
      ),
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes as Readonly<Record<string, Json>>).map(([name, scheme]) => [
          names.header(name),
          typeof scheme.name === 'string' ? { ...scheme, name: names.header(scheme.name) } : scheme,
        ]),
      ),
    },
  }
}

/** Identifiers in the user's words, no two alike. */
function identifiers(neutral: readonly string[], names: Names): Map<string, string> {
  const taken = new Set(neutral.filter(id => names.identifier(id) === id))
  return new Map(
    neutral.map(id => {
      const named = names.identifier(id)
      if (named === id) return [id, id]
      let free = named
      for (let nth = 2; taken.has(free); nth++) free = `${named}${nth}`
      taken.add(free)
      return [id, free]
    }),
  )
}

function operation(described: Json, speech: Speech): Json {
  const { names, wording, operations, operationIds } = speech
  const { parameters, requestBody, responses, security, tags, ...rest } = described
  const { operationId, 'x-mirror-of': mirrored } = rest as { operationId: string; 'x-mirror-of'?: string }
  const words = wording.of(operations[mirrored ?? operationId] as AnyEndpoint)
  return {
    ...prose(rest, names, ['summary', 'x-assumed']),
    operationId: operationIds.get(operationId),
    ...(mirrored !== undefined && { 'x-mirror-of': operationIds.get(mirrored) }),
    tags: (tags as string[]).map(tag => names.paths.get(tag) ?? tag),
    ...(parameters !== undefined && { parameters: (parameters as Json[]).map(one => parameter(one, speech)) }),
    ...(requestBody !== undefined && {
      requestBody: content(requestBody as Json, speech, example => words.body?.outward(example) ?? example),
    }),
    responses: each(responses as Json, one =>
      content(prose(one as Json, names, ['description']), speech, example => example),
    ),
    security: (security as Json[]).map(one =>
      Object.fromEntries(Object.entries(one).map(([name, scopes]) => [names.header(name), scopes])),
    ),
  }
}

function parameter(described: Json, speech: Speech): Json {
  const { names } = speech
  const name = described.name as string
  const named = described.in === 'header' ? names.header(name) : (names.fields.get(name) ?? name)
  return { ...described, name: named, schema: schema(described.schema as Json, speech) }
}

function content(described: Json, speech: Speech, shown: (example: unknown) => unknown): Json {
  if (described.content === undefined) return described
  return {
    ...described,
    content: each(described.content as Json, one => {
      const media = one as Json
      return {
        ...media,
        ...(media.schema !== undefined && { schema: schema(media.schema as Json, speech) }),
        ...(media.example !== undefined && { example: shown(media.example) }),
      }
    }),
  }
}

const SCHEMAS = '#/components/schemas/'

/** A schema: what stands below `properties` are names, whatever they are called, and the rest are words of schemas. */
function schema(described: Json, speech: Speech): Json {
  const { names, schemaIds } = speech
  return Object.fromEntries(
    Object.entries(described).map(([word, value]) => {
      switch (word) {
        case 'properties':
          return [
            word,
            Object.fromEntries(
              Object.entries(value as Json).map(([name, inner]) => [
                names.fields.get(name) ?? name,
                schema(inner as Json, speech),
              ]),
            ),
          ]
        case '$ref': {
          const id = String(value).slice(SCHEMAS.length)
          return [word, `${SCHEMAS}${schemaIds.get(id)}`]
        }
        case 'required':
          return [word, (value as string[]).map(name => names.fields.get(name) ?? name)]
        case 'enum':
          return [word, (value as unknown[]).map(one => worded(one, names))]
        case 'const':
        case 'default':
          return [word, worded(value, names)]
        case 'description':
          return [word, names.prose(String(value))]
        default:
          if (Array.isArray(value)) return [word, value.map(one => (isObject(one) ? schema(one, speech) : one))]
          return [word, isObject(value) ? schema(value, speech) : value]
      }
    }),
  )
}

function worded(value: unknown, names: Names): unknown {
  return typeof value === 'string' ? names.value(value) : value
}

function prose(described: Json, names: Names, words: readonly string[]): Json {
  return each(described, (value: unknown, word) => {
    if (!words.includes(word)) return value
    return Array.isArray(value) ? value.map(one => names.prose(String(one))) : names.prose(String(value))
  })
}

function each<Made>(record: Json, make: (value: never, name: string) => Made): Readonly<Record<string, Made>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value as never, name)]))
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
