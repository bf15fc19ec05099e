/** The OpenAPI document with the vendor names of a names profile. */
import type { AnyEndpoint, Operations } from '../endpoint.ts'
import type { Names } from './names-profile.ts'
import type { VendorMapping } from './translation.ts'

type Json = Readonly<Record<string, unknown>>

interface OpenapiDocument {
  readonly info: Json
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>
  readonly components: Json
}

/** What the translation of a part of the document needs. */
interface TranslationContext {
  readonly names: Names
  readonly mapping: VendorMapping
  readonly operations: Operations
  /** Identifiers of operations and schemas in generated code. */
  readonly operationIds: ReadonlyMap<string, string>
  readonly schemaIds: ReadonlyMap<string, string>
}

/** Returns the document with vendor names: paths, parameters, fields, values, examples and descriptions. */
export function translateDocument(
  document: OpenapiDocument,
  mapping: VendorMapping,
  operations: Operations,
): OpenapiDocument {
  const { names } = mapping
  const { schemas, securitySchemes, ...components } = document.components
  const operationObjects = Object.values(document.paths).flatMap(methods => Object.values(methods))
  const context: TranslationContext = {
    names,
    mapping,
    operations,
    operationIds: toUniqueIdentifiers(
      operationObjects.map(({ operationId }) => operationId as string),
      names,
    ),
    schemaIds: toUniqueIdentifiers(Object.keys(schemas as Json), names),
  }
  return {
    ...document,
    info: translateProse(document.info, names, ['description']),
    paths: Object.fromEntries(
      Object.entries(document.paths).map(([path, methods]) => [
        names.toVendorPath(path),
        mapValues(methods, one => translateOperation(one, context)),
      ]),
    ),
    components: {
      ...components,
      schemas: Object.fromEntries(
        Object.entries(schemas as Json).map(([id, one]) => [
          context.schemaIds.get(id),
          translateSchema(one as Json, context),
        ]),
      ),
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes as Readonly<Record<string, Json>>).map(([name, scheme]) => [
          names.toVendorHeader(name),
          typeof scheme.name === 'string' ? { ...scheme, name: names.toVendorHeader(scheme.name) } : scheme,
        ]),
      ),
    },
  }
}

/** Returns unique identifiers with vendor names. */
function toUniqueIdentifiers(neutral: readonly string[], names: Names): Map<string, string> {
  const taken = new Set(neutral.filter(id => names.toVendorIdentifier(id) === id))
  return new Map(
    neutral.map(id => {
      const vendorId = names.toVendorIdentifier(id)
      if (vendorId === id) return [id, id]
      let uniqueId = vendorId
      for (let nth = 2; taken.has(uniqueId); nth++) uniqueId = `${vendorId}${nth}`
      taken.add(uniqueId)
      return [id, uniqueId]
    }),
  )
}

function translateOperation(operationObject: Json, context: TranslationContext): Json {
  const { names, mapping, operations, operationIds } = context
  const { parameters, requestBody, responses, security, tags, ...rest } = operationObject
  const { operationId, 'x-mirror-of': mirrored } = rest as { operationId: string; 'x-mirror-of'?: string }
  const endpointMapping = mapping.forEndpoint(operations[mirrored ?? operationId] as AnyEndpoint)
  return {
    ...translateProse(rest, names, ['summary', 'x-assumed']),
    operationId: operationIds.get(operationId),
    ...(mirrored !== undefined && { 'x-mirror-of': operationIds.get(mirrored) }),
    tags: (tags as string[]).map(tag => names.paths.get(tag) ?? tag),
    ...(parameters !== undefined && {
      parameters: (parameters as Json[]).map(one => translateParameter(one, context)),
    }),
    ...(requestBody !== undefined && {
      requestBody: translateContent(
        requestBody as Json,
        context,
        example => endpointMapping.body?.toVendor(example) ?? example,
      ),
    }),
    responses: mapValues(responses as Json, one =>
      translateContent(translateProse(one as Json, names, ['description']), context, example => example),
    ),
    security: (security as Json[]).map(one =>
      Object.fromEntries(Object.entries(one).map(([name, scopes]) => [names.toVendorHeader(name), scopes])),
    ),
  }
}

function translateParameter(parameterObject: Json, context: TranslationContext): Json {
  const { names } = context
  const name = parameterObject.name as string
  const vendorName = parameterObject.in === 'header' ? names.toVendorHeader(name) : (names.fields.get(name) ?? name)
  return { ...parameterObject, name: vendorName, schema: translateSchema(parameterObject.schema as Json, context) }
}

function translateContent(
  contentObject: Json,
  context: TranslationContext,
  translateExample: (example: unknown) => unknown,
): Json {
  if (contentObject.content === undefined) return contentObject
  return {
    ...contentObject,
    content: mapValues(contentObject.content as Json, one => {
      const media = one as Json
      return {
        ...media,
        ...(media.schema !== undefined && { schema: translateSchema(media.schema as Json, context) }),
        ...(media.example !== undefined && { example: translateExample(media.example) }),
      }
    }),
  }
}

const SCHEMA_PREFIX = '#/components/schemas/'

/** Translates a schema. Keys below `properties` are field names; all other keys are keywords. */
function translateSchema(jsonSchema: Json, context: TranslationContext): Json {
  const { names, schemaIds } = context
  return Object.fromEntries(
    Object.entries(jsonSchema).map(([keyword, value]) => {
      switch (keyword) {
        case 'properties':
          return [
            keyword,
            Object.fromEntries(
              Object.entries(value as Json).map(([name, inner]) => [
                names.fields.get(name) ?? name,
                translateSchema(inner as Json, context),
              ]),
            ),
          ]
        case '$ref': {
          const id = String(value).slice(SCHEMA_PREFIX.length)
          return [keyword, `${SCHEMA_PREFIX}${schemaIds.get(id)}`]
        }
        case 'required':
          return [keyword, (value as string[]).map(name => names.fields.get(name) ?? name)]
        case 'enum':
          return [keyword, (value as unknown[]).map(one => translateValue(one, names))]
        case 'const':
        case 'default':
          return [keyword, translateValue(value, names)]
        case 'description':
          return [keyword, names.translateProse(String(value))]
        default:
          if (Array.isArray(value))
            return [keyword, value.map(one => (isObject(one) ? translateSchema(one, context) : one))]
          return [keyword, isObject(value) ? translateSchema(value, context) : value]
      }
    }),
  )
}

function translateValue(value: unknown, names: Names): unknown {
  return typeof value === 'string' ? names.toVendorValue(value) : value
}

function translateProse(object: Json, names: Names, translatedKeys: readonly string[]): Json {
  return mapValues(object, (value: unknown, word) => {
    if (!translatedKeys.includes(word)) return value
    return Array.isArray(value)
      ? value.map(one => names.translateProse(String(one)))
      : names.translateProse(String(value))
  })
}

function mapValues<Value>(
  record: Json,
  transform: (value: never, name: string) => Value,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, transform(value as never, name)]))
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
