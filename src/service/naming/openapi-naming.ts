/** The OpenAPI document with the vendor names of a names profile. */
import type { Operations } from '../endpoint.ts'
import { createOpenapiDocument, ERROR_SCHEMAS, SCHEMA_OF_SHAPE } from '../openapi/openapi.ts'
import type { Names } from './names-profile.ts'
import { mapValues, nameSchema } from './schema-naming.ts'
import type { VendorMapping } from './translation.ts'

type Json = Readonly<Record<string, unknown>>

/** Returns the document with vendor names: paths, parameters, headers, fields, values and examples. Texts stay. */
export function createVendorDocument(mapping: VendorMapping): object {
  const { names, operations } = mapping
  const document = createOpenapiDocument(operations)
  const { schemas, securitySchemes } = document.components
  // A header with several names has several schemes.
  const schemesByNeutral = mapValues(securitySchemes, (scheme, id) =>
    ('name' in scheme ? names.headerNames(scheme.name).map(name => ({ ...scheme, name })) : [scheme]).map(
      (one, nth) => [nth === 0 ? id : `${id}-${nth + 1}`, one] as const,
    ),
  )
  const nameOperation = (neutral: Json): Json => {
    const id = String(neutral['x-mirror-of'] ?? neutral.operationId)
    const operation = id.replace(ALIAS_END, '')
    const { body, errorShape } = mapping.forEndpoint(operations[operation]!)
    const { responses, ...named } = nameSchema(neutral, names, operation, one => body?.toVendor(one))
    const schema = errorShape && { $ref: `#/components/schemas/${SCHEMA_OF_SHAPE[errorShape]}` }
    return {
      ...named,
      ...(id !== operation && { 'x-alias-of': operation }),
      ...(neutral.parameters !== undefined && {
        parameters: (neutral.parameters as Json[]).flatMap(one => nameParameter(one, names, operation)),
      }),
      responses: mapValues(responses as Readonly<Record<string, Json>>, (response, status) => {
        const isShaped = schema !== undefined && Number(status) >= 400 && status !== '422'
        return isShaped ? { ...response, content: { 'application/json': { schema } } } : response
      }),
      security: (neutral.security as Json[]).flatMap(one => {
        const [id] = Object.keys(one) as (keyof typeof schemesByNeutral)[]
        return id === undefined ? [one] : schemesByNeutral[id].map(([name]) => ({ [name]: [] }))
      }),
    }
  }
  const namePaths = (paths: typeof document.paths, toPath: (path: string) => string) =>
    Object.entries(paths).map(([path, methods]) => [
      toPath(path).replaceAll(/(?<=\{)\w+(?=\})/g, name => names.fields.get(name) ?? name),
      mapValues(methods, nameOperation),
    ])
  const aliasPaths = createOpenapiDocument(createAliasOperations(mapping, operations)).paths
  return {
    ...document,
    paths: Object.fromEntries([
      ...namePaths(document.paths, path => names.toVendorPath(path)),
      ...namePaths(aliasPaths, path => path),
    ]),
    components: {
      schemas: mapValues(schemas as Readonly<Record<string, Json>>, (one, id) =>
        Object.hasOwn(ERROR_SCHEMAS, id) ? one : nameSchema(one, names, id),
      ),
      securitySchemes: Object.fromEntries(Object.values(schemesByNeutral).flat()),
    },
  }
}

/** What the ids of aliases end with. */
const ALIAS_END = /Alias\d+$/

/** Returns the further routes of operations, without the parameters that the profile gives a value. */
function createAliasOperations({ aliases }: VendorMapping, operations: Operations): Operations {
  return Object.fromEntries(
    aliases.map(({ operation, path, fixed }, nth) => {
      const endpoint = operations[operation]!
      const query = Object.fromEntries(Object.entries(endpoint.query).filter(([name]) => !Object.hasOwn(fixed, name)))
      return [`${operation}Alias${nth + 1}`, { ...endpoint, path, query, mirror: undefined }]
    }),
  )
}

function nameParameter(parameter: Json, names: Names, operation: string): Json[] {
  const name = parameter.name as string
  const vendorNames =
    parameter.in === 'header'
      ? names.headerNames(name)
      : // Operations of one path share its parameters.
        [parameter.in === 'path' ? (names.fields.get(name) ?? name) : names.fieldName(name, [`.${name}`], operation)]
  const schema = nameSchema(parameter.schema as Json, names, `${operation}.${name}`)
  return vendorNames.map(vendorName => ({ ...parameter, name: vendorName, schema }))
}
