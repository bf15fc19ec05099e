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

/** The document in the words of a world: paths, parameters, fields, values, examples, and what it says of them. */
export function namedDocument(document: Document, wording: Wording, operations: Operations): Document {
  const { names } = wording
  const { schemas, securitySchemes, ...components } = document.components
  return {
    ...document,
    info: prose(document.info, names, ['description']),
    paths: Object.fromEntries(
      Object.entries(document.paths).map(([path, methods]) => [
        names.path(path),
        each(methods, one => operation(one, wording, operations)),
      ]),
    ),
    components: {
      ...components,
      schemas: each(schemas as Json, one => schema(one as Json, names)),
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes as Readonly<Record<string, Json>>).map(([name, scheme]) => [
          names.header(name),
          typeof scheme.name === 'string' ? { ...scheme, name: names.header(scheme.name) } : scheme,
        ]),
      ),
    },
  }
}

function operation(described: Json, wording: Wording, operations: Operations): Json {
  const { names } = wording
  const words = wording.of(operations[(described['x-mirror-of'] ?? described.operationId) as string] as AnyEndpoint)
  const { parameters, requestBody, responses, security, tags, ...rest } = described
  return {
    ...prose(rest, names, ['summary', 'x-assumed']),
    tags: (tags as string[]).map(tag => names.paths.get(tag) ?? tag),
    ...(parameters !== undefined && { parameters: (parameters as Json[]).map(one => parameter(one, names)) }),
    ...(requestBody !== undefined && {
      requestBody: content(requestBody as Json, names, example => words.body?.outward(example) ?? example),
    }),
    responses: each(responses as Json, one =>
      content(prose(one as Json, names, ['description']), names, example => example),
    ),
    security: (security as Json[]).map(one =>
      Object.fromEntries(Object.entries(one).map(([name, scopes]) => [names.header(name), scopes])),
    ),
  }
}

function parameter(described: Json, names: Names): Json {
  const name = described.name as string
  const named = described.in === 'header' ? names.header(name) : (names.fields.get(name) ?? name)
  return { ...described, name: named, schema: schema(described.schema as Json, names) }
}

function content(described: Json, names: Names, shown: (example: unknown) => unknown): Json {
  if (described.content === undefined) return described
  return {
    ...described,
    content: each(described.content as Json, one => {
      const media = one as Json
      return {
        ...media,
        ...(media.schema !== undefined && { schema: schema(media.schema as Json, names) }),
        ...(media.example !== undefined && { example: shown(media.example) }),
      }
    }),
  }
}

/** A schema: what stands below `properties` are names, whatever they are called, and the rest are words of schemas. */
function schema(described: Json, names: Names): Json {
  return Object.fromEntries(
    Object.entries(described).map(([word, value]) => {
      switch (word) {
        case 'properties':
          return [
            word,
            Object.fromEntries(
              Object.entries(value as Json).map(([name, inner]) => [
                names.fields.get(name) ?? name,
                schema(inner as Json, names),
              ]),
            ),
          ]
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
          if (Array.isArray(value)) return [word, value.map(one => (isObject(one) ? schema(one, names) : one))]
          return [word, isObject(value) ? schema(value, names) : value]
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
