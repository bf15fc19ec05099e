/** Input that no declaration names, for worlds with strict requests. */
import type { AnyEndpoint, FieldSchemas } from '../endpoint.ts'
import type { EndpointMapping } from '../naming/endpoint-mapping.ts'
import { fieldsShape, inputShape, type SchemaShape } from '../naming/schema-shape.ts'
import { parseJsonBody } from './bodies/json-body.ts'
import { Details, explainExtraField } from './validation-errors.ts'

/** Unknown fields by place. */
export interface UnknownFields {
  readonly query: Details
  readonly body: Details
}

/** The parts of a request that may have unknown fields. */
export interface UnparsedInput {
  readonly search: string
  readonly text?: string | undefined
  readonly form?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Returns the query parameters and fields of the body that no declaration names, each with the nearest known name. Free
 * content, as `metadata` and schemas of tools, has no unknown fields.
 *
 * @param mapping vendor names. Vendor and neutral names are both known; a neutral name beside its vendor name is ignored
 */
export function findUnknownFields(
  endpoint: AnyEndpoint,
  input: UnparsedInput,
  mapping: EndpointMapping | undefined,
): UnknownFields {
  const nameOf: FieldNaming = (name, { places }) => mapping?.names.fieldName(name, places, mapping.operation) ?? name
  const queryNames = listAcceptedNames(fieldsShape(endpoint.query).fields, nameOf)
  const unknownFields = { query: new Details(), body: new Details() }
  for (const name of new Set(new URLSearchParams(input.search).keys())) {
    if (!queryNames.includes(name)) addUnknownField(unknownFields.query, ['query', name], queryNames)
  }
  if (input.form !== undefined) {
    const declared = fieldsShape((endpoint.upload?.fields ?? {}) as FieldSchemas).fields
    const lists = new Map([...declared].filter(([, { items }]) => items !== undefined))
    const listNames = listAcceptedNames(lists, nameOf).map(name => `${name}[]`)
    const formNames = [...listAcceptedNames(declared, nameOf), ...listNames]
    for (const name of Object.keys(input.form)) {
      if (!formNames.includes(name)) addUnknownField(unknownFields.body, ['body', name], [...formNames, 'file'])
    }
    return unknownFields
  }
  if (input.text === undefined || endpoint.body === undefined) return unknownFields
  const parsed = parseJsonBody(input.text, endpoint.maxBodyValues)
  if ('value' in parsed) addFromBody(unknownFields.body, inputShape(endpoint.body), parsed.value, ['body'], nameOf)
  return unknownFields
}

/** Adds the fields of a body with neutral names that no declaration names. */
export function addUnknownBodyFields(into: Details, { body }: AnyEndpoint, value: unknown): void {
  if (body !== undefined) addFromBody(into, inputShape(body), value, ['body'], name => name)
}

/** Returns the vendor name of a field. */
type FieldNaming = (name: string, shape: SchemaShape) => string

function addFromBody(
  into: Details,
  shape: SchemaShape,
  value: unknown,
  loc: readonly string[],
  nameOf: FieldNaming,
): void {
  if (Array.isArray(value)) {
    const { items } = shape
    if (items === undefined) return
    for (const [i, entry] of value.entries()) addFromBody(into, items, entry, [...loc, String(i)], nameOf)
    return
  }
  if (typeof value !== 'object' || value === null || (shape.fields.size === 0 && shape.additional === undefined)) return
  const fields = new Map<string, SchemaShape>()
  for (const [name, inner] of shape.fields) {
    const vendorName = nameOf(name, inner)
    fields.set(vendorName, inner)
    if (!Object.hasOwn(value, vendorName)) fields.set(name, inner)
  }
  const acceptedNames = Array.from(shape.fields, ([name, inner]) => nameOf(name, inner))
  for (const [name, inner] of Object.entries(value)) {
    const field = fields.get(name) ?? shape.additional
    const isReplacedByVendorName = shape.fields.has(name)
    if (field !== undefined) addFromBody(into, field, inner, [...loc, name], nameOf)
    else if (!shape.isOpen && !isReplacedByVendorName) addUnknownField(into, [...loc, name], acceptedNames)
  }
}

/** Returns the names by which fields are accepted: the vendor names and the neutral names. */
function listAcceptedNames(fields: SchemaShape['fields'], nameOf: FieldNaming): string[] {
  return [...fields].flatMap(([name, inner]) => [...new Set([nameOf(name, inner), name])])
}

function addUnknownField(into: Details, loc: string[], taken: readonly string[]): void {
  into.add(loc, () => explainExtraField(loc.at(-1)!, taken))
}
