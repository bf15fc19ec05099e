/** The OpenAPI document with the vendor names of a names profile. */
import type { AnyEndpoint, Operations } from '../endpoint.ts'
import { SCHEMA_OF_SHAPE } from '../openapi/openapi.ts'
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
  readonly schemaId: (id: string) => string
  /** The place of the translated schema: a record or an operation with the path in it. */
  readonly place: string
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
  const schemaIds = toUniqueIdentifiers(Object.keys(schemas as Json), names)
  const context: TranslationContext = {
    names,
    mapping,
    operations,
    operationIds: toUniqueIdentifiers(
      operationObjects.map(({ operationId }) => operationId as string),
      names,
    ),
    schemaId: id => schemaIds.get(id) ?? id,
    place: '',
  }
  return {
    ...document,
    info: translateProse(document.info, names, ['description']),
    paths: Object.fromEntries([
      ...Object.entries(document.paths).map(([path, methods]) => [
        nameParameters(names.toVendorPath(path), names),
        mapValues(methods, one => translateOperation(one, context)),
      ]),
      ...Object.entries(describeAliases(document, context)),
    ]),
    components: {
      ...components,
      schemas: Object.fromEntries(
        Object.entries(schemas as Json).map(([id, one]) => [
          context.schemaId(id),
          translateSchema(one as Json, { ...context, place: id }),
        ]),
      ),
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes as Readonly<Record<string, Json>>).flatMap(([name, scheme]) =>
          typeof scheme.name !== 'string'
            ? [[name, scheme]]
            : vendorHeaders(scheme.name, names).map((header, nth) => [
                toSchemeName(name, nth, names),
                { ...scheme, name: header },
              ]),
        ),
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

/** Returns a path whose parameters have their vendor names. */
function nameParameters(path: string, names: Names): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `{${names.fields.get(name) ?? name}}`)
}

/** Returns the further routes of operations, without the parameters that the profile gives a value. */
function describeAliases({ paths }: OpenapiDocument, context: TranslationContext): Record<string, Json> {
  const described: Record<string, Json> = {}
  for (const [nth, { method, path, operation, fixed }] of context.mapping.aliases.entries()) {
    const declared = (context.operations[operation] as AnyEndpoint).path
    const { parameters = [], ...own } = translateOperation(paths[declared]![method.toLowerCase()]!, context)
    const fixedNames = Object.keys(fixed).map(name => context.names.fieldName(name, [`${operation}.${name}`]) ?? name)
    const open = (parameters as Json[]).filter(({ name }) => !fixedNames.includes(name as string))
    const vendorPath = nameParameters(path, context.names)
    described[vendorPath] = {
      ...described[vendorPath],
      [method.toLowerCase()]: {
        ...own,
        ...(open.length > 0 && { parameters: open }),
        operationId: `${own.operationId}Alias${nth + 1}`,
        'x-alias-of': own.operationId,
      },
    }
  }
  return described
}

/** Returns every vendor name of a header, or the header itself. */
function vendorHeaders(header: string, names: Names): readonly string[] {
  return names.headers.get(header) ?? [header]
}

function toSchemeName(scheme: string, nth: number, names: Names): string {
  const name = names.toVendorHeader(scheme)
  return nth === 0 ? name : `${name}-${nth + 1}`
}

function translateOperation(operationObject: Json, outerContext: TranslationContext): Json {
  const { names, mapping, operations, operationIds } = outerContext
  const { parameters, requestBody, responses, security, tags, ...rest } = operationObject
  const { operationId, 'x-mirror-of': mirrored } = rest as { operationId: string; 'x-mirror-of'?: string }
  const context = { ...outerContext, place: mirrored ?? operationId }
  const endpointMapping = mapping.forEndpoint(operations[mirrored ?? operationId] as AnyEndpoint)
  return {
    ...translateProse(rest, names, ['summary', 'x-assumed']),
    operationId: operationIds.get(operationId),
    ...(mirrored !== undefined && { 'x-mirror-of': operationIds.get(mirrored) }),
    tags: (tags as string[]).map(tag => names.paths.get(tag) ?? tag),
    ...(parameters !== undefined && {
      parameters: (parameters as Json[]).flatMap(one => translateParameter(one, context)),
    }),
    ...(requestBody !== undefined && {
      requestBody: translateContent(
        requestBody as Json,
        context,
        example => endpointMapping.body?.toVendor(example) ?? example,
      ),
    }),
    responses: mapValues(responses as Json, (one: Json, status) => {
      const { errorShape } = endpointMapping
      const isShaped = errorShape !== undefined && Number(status) >= 400 && status !== '422'
      const schema = isShaped && { $ref: `${SCHEMA_PREFIX}${SCHEMA_OF_SHAPE[errorShape]}` }
      const response = schema ? { ...one, content: { 'application/json': { schema } } } : one
      return translateContent(translateProse(response, names, ['description']), context, example => example)
    }),
    security: (security as Json[]).flatMap(one => {
      const [[name, scopes] = []] = Object.entries(one)
      if (name === undefined) return [one]
      const header = name === 'second-api-key' ? 'x-api-key' : name
      return vendorHeaders(header, names).map((_, nth) => ({ [toSchemeName(name, nth, names)]: scopes }))
    }),
  }
}

function translateParameter(parameterObject: Json, context: TranslationContext): Json[] {
  const { names, place } = context
  const name = parameterObject.name as string
  const schema = translateSchema(parameterObject.schema as Json, { ...context, place: `${place}.${name}` })
  const vendorNames =
    parameterObject.in === 'header'
      ? vendorHeaders(name, names)
      : parameterObject.in === 'path'
        ? [names.fields.get(name) ?? name]
        : [names.fieldName(name, [`${place}.${name}`]) ?? name]
  return vendorNames.map(vendorName => ({ ...parameterObject, name: vendorName, schema }))
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

/** What the translation of a schema needs. */
type SchemaContext = Pick<TranslationContext, 'names' | 'schemaId' | 'place'>

/**
 * Returns a JSON Schema that needs no other document, with vendor names.
 *
 * @param operation the operation whose input or output it describes
 */
export function translateStandaloneSchema(jsonSchema: Json, names: Names, operation: string): Record<string, unknown> {
  const schemaId = (id: string) => names.toVendorIdentifier(id)
  const { id } = jsonSchema
  return translateSchema(jsonSchema, { names, schemaId, place: typeof id === 'string' ? id : operation })
}

/** Translates a schema. Keys below `properties` are field names; all other keys are keywords. */
function translateSchema(jsonSchema: Json, context: SchemaContext): Record<string, unknown> {
  const { names, schemaId, place } = context
  const fieldName = (name: string) => names.fieldName(name, [`${place}.${name}`]) ?? name
  return Object.fromEntries(
    Object.entries(jsonSchema).map(([keyword, value]) => {
      switch (keyword) {
        case 'properties':
          return [
            keyword,
            Object.fromEntries(
              Object.entries(value as Json).map(([name, inner]) => [
                fieldName(name),
                translateSchema(inner as Json, { ...context, place: `${place}.${name}` }),
              ]),
            ),
          ]
        case '$ref': {
          const start = String(value).lastIndexOf('/') + 1
          return [keyword, `${String(value).slice(0, start)}${schemaId(String(value).slice(start))}`]
        }
        case '$defs':
          return [
            keyword,
            Object.fromEntries(
              Object.entries(value as Readonly<Record<string, Json>>).map(([id, inner]) => [
                schemaId(id),
                // Zod gives schemas without an id a name with underscores.
                translateSchema(inner, { ...context, place: id.startsWith('__') ? place : id }),
              ]),
            ),
          ]
        case 'id':
          return [keyword, schemaId(String(value))]
        case 'required':
          return [keyword, (value as string[]).map(fieldName)]
        case 'enum':
          return [keyword, (value as unknown[]).map(one => translateValue(one, context))]
        case 'const':
        case 'default':
          return [keyword, translateValue(value, context)]
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

function translateValue(value: unknown, { names, place }: SchemaContext): unknown {
  return typeof value === 'string' ? names.toVendorValue(value, [place]) : value
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
