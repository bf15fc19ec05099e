import * as z from 'zod'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { isRecord } from '../../../lib/json-text.ts'
import { unwrapSchema } from '../../../lib/zod-problems.ts'
import type { AnyEndpoint } from '../../../service/endpoint.ts'
import { mapEvents, withBody } from '../body-streams.ts'
import { isEventStream } from '../wire-faults.ts'
import { defineFaultKind, type FaultHit } from './kind.ts'

/** Changes that are compatible with the interface document. */
const COMPATIBLE_CHANGES = [
  'extraField',
  'absentField',
  'nullField',
  'unknownValue',
  'keyOrder',
  'missingElement',
  'trueBoolean',
] as const
/** Changes that violate the interface document. */
const BREAKING_CHANGES = ['missingField', 'numberAsString', 'unlistedValue', 'nullElement'] as const
/** The maximum number of fields in an error. */
const MAX_LISTED_PATHS = 8

type Change = (typeof COMPATIBLE_CHANGES | typeof BREAKING_CHANGES)[number]

/** A declared field of a response; `[]` in a path is any entry of a list. */
interface SchemaField {
  /** As in `instances.running` or `data[].pricing.prompt`. */
  readonly path: string
  readonly isOptional: boolean
  readonly isNullable: boolean
  readonly isNumber: boolean
  readonly isBoolean: boolean
  readonly isList: boolean
  readonly isEnum: boolean
  /** Whether the document allows further values. */
  readonly isOpen: boolean
}

/** A response that differs from its declaration. The changed place is random, or `field`. */
export const drift = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('drift'),
    change: z.enum([...COMPATIBLE_CHANGES, ...BREAKING_CHANGES]),
    field: z.string().min(1).optional(),
  }),
  answers: 'another',
  summary: 'An answer that differs from the declared one',
  finding: ({ change, field }, operation) =>
    change === 'trueBoolean' && field !== undefined
      ? `each answer to ${operation} said ${field}: true`
      : `the answer to ${operation} differed from the interface document (${change})`,
  example: { kind: 'drift', change: 'unlistedValue', field: '[].status' },
  appliesTo: ({ change, field }, endpoint) =>
    endpoint.produces === 'application/json' &&
    shapesOf(endpoint).some(shape => changeablePaths(shape, change, field).length > 0),
  scope: 'operations whose response allows this change',
  explainMismatch({ change, field }, endpoints) {
    const shapes = endpoints.filter(({ produces }) => produces === 'application/json').flatMap(shapesOf)
    const allowed = [...new Set(shapes.flatMap(shape => changeablePaths(shape, change, undefined)))]
    if (field === undefined || allowed.length === 0) return undefined
    const path = ['field']
    const fields = shapes.flatMap(shape => [...schemaFields(shape).map(one => one.path), ...objectPaths(shape)])
    if (!fields.includes(field)) {
      const advice = formatSuggestion(field, fields, adviseOn(allowed))
      return { path, reason: `unknown field '${field}' of the response. ${advice}` }
    }
    return { path, reason: `${change} does not apply to '${field}'. ${adviseOn(allowed)}` }
  },
  async act({ change, field }, hit) {
    const answer = await hit.proceed()
    const draw = hit.draw()
    return changeAnswer(answer, hit, change, field, present =>
      present.slice(Math.floor(draw * present.length)).slice(0, 1),
    )
  },
})

/** Returns the shapes of the answers of an endpoint: whole, and the events of a stream. */
function shapesOf({ returns, streamEvent }: AnyEndpoint): z.ZodType[] {
  return streamEvent === undefined ? [returns] : [returns, streamEvent]
}

/**
 * Returns an answer with a change at some of the places that have it, or in each event of a stream. If it has none, the
 * hit does not count.
 */
export async function changeAnswer(
  answer: Response,
  { passage, missed }: FaultHit,
  change: Change,
  field: string | undefined,
  choose: (present: readonly (readonly string[])[]) => readonly (readonly string[])[],
): Promise<Response> {
  const { returns, streamEvent = returns } = passage.endpoint
  let isChanged = false
  const applyTo = (text: string, paths: readonly (readonly string[])[]) => {
    const body: unknown = JSON.parse(text)
    const same = JSON.stringify(body)
    const chosen = choose(paths.filter(steps => JSON.stringify(applyChange(body, steps, change)) !== same))
    isChanged ||= chosen.length > 0
    return JSON.stringify(chosen.reduce((value, steps) => applyChange(value, steps, change), body))
  }
  // A refusal does not have the declared shape, and a plain text has no fields.
  if (answer.status >= 300 || !/json|event-stream/.test(answer.headers.get('content-type') ?? '')) {
    missed()
    return answer
  }
  if (!isEventStream(answer)) {
    const places = changeablePaths(returns, change, field).map(one => passage.toVendorFieldPath(pathSegments(one)))
    const text = applyTo(await answer.text(), places)
    if (!isChanged) missed()
    return withBody(answer, text)
  }
  const places = changeablePaths(streamEvent, change, field).map(pathSegments)
  const changeEvent = (event: string) => ({
    text: event.replace(/^data: (\{.*)$/m, (_, data) => `data: ${applyTo(data, places)}`),
  })
  return mapEvents(answer, changeEvent, () => isChanged || missed())
}

/** Returns the advice to give one of the first paths. The response itself has no path. */
function adviseOn(paths: readonly string[]): string {
  const nonEmpty = paths.filter(path => path !== '')
  if (nonEmpty.length === 0) return 'Leave field out: the change is one of the response itself.'
  return `Give one of ${nonEmpty.slice(0, MAX_LISTED_PATHS).join(', ')}${nonEmpty.length > MAX_LISTED_PATHS ? ', …' : ''}.`
}

/** Returns the paths in a response to which a change applies; `''` is the response itself. */
function changeablePaths(schema: z.ZodType, change: Change, field: string | undefined): string[] {
  const fields = schemaFields(schema)
  const paths =
    change === 'extraField' || change === 'keyOrder'
      ? objectPaths(schema)
      : [
          ...(isElementChange(change) && unwrapSchema(schema) instanceof z.ZodArray ? [''] : []),
          ...fields.filter(one => CAN_CHANGE[change](one)).map(({ path }) => path),
        ]
  return field === undefined ? paths : paths.filter(path => path === field)
}

const CAN_CHANGE: Readonly<Record<Exclude<Change, 'extraField' | 'keyOrder'>, (field: SchemaField) => boolean>> = {
  absentField: ({ isOptional }) => isOptional,
  nullField: ({ isNullable }) => isNullable,
  unknownValue: ({ isOpen }) => isOpen,
  missingField: ({ isOptional }) => !isOptional,
  numberAsString: ({ isNumber }) => isNumber,
  unlistedValue: ({ isEnum, isOpen }) => isEnum && !isOpen,
  nullElement: ({ isList }) => isList,
  missingElement: ({ isList }) => isList,
  trueBoolean: ({ isBoolean }) => isBoolean,
}

/** Returns all fields of a schema, nested ones included. */
export function schemaFields(schema: z.ZodType, prefix = ''): SchemaField[] {
  const { bare: objects, place: base } = objectSchemas(schema, prefix)
  return objects.flatMap(object =>
    Object.entries(object.shape).flatMap(([name, fieldSchema]) => {
      const path = base === '' ? name : `${base}.${name}`
      return [toSchemaField(path, fieldSchema as z.ZodType), ...schemaFields(fieldSchema as z.ZodType, path)]
    }),
  )
}

/** Returns the paths of all objects: the response, entries of lists, nested objects. */
function objectPaths(schema: z.ZodType, prefix = ''): string[] {
  const { bare: objects, place: base } = objectSchemas(schema, prefix)
  const inner = objects.flatMap(object =>
    Object.entries(object.shape).flatMap(([name, fieldSchema]) =>
      objectPaths(fieldSchema as z.ZodType, base === '' ? name : `${base}.${name}`),
    ),
  )
  return objects.length > 0 ? [...new Set([base, ...inner])] : []
}

/** Returns the object schemas in a schema and their path: in wrappers, lists and unions. */
function objectSchemas(schema: z.ZodType, place: string): { bare: z.ZodObject[]; place: string } {
  const inner = unwrapSchema(schema)
  if (inner instanceof z.ZodArray) return objectSchemas(inner.element as z.ZodType, `${place}[]`)
  if (inner instanceof z.ZodObject) return { bare: [inner], place }
  if (inner instanceof z.ZodDiscriminatedUnion) return { bare: inner.options as z.ZodObject[], place }
  if (inner instanceof z.ZodUnion) {
    // Its other options, such as texts and lists, have no fields at this path.
    return { bare: inner.options.flatMap(toObjectSchemas), place }
  }
  return { bare: [], place }
}

function toObjectSchemas(option: unknown): z.ZodObject[] {
  const inner = unwrapSchema(option as z.ZodType)
  return inner instanceof z.ZodObject ? [inner] : []
}

function toSchemaField(path: string, schema: z.ZodType): SchemaField {
  const inner = unwrapSchema(schema)
  return {
    path,
    isOptional: schema.safeParse(undefined).success,
    isNullable: schema.safeParse(null).success,
    isNumber: inner instanceof z.ZodNumber,
    isBoolean: inner instanceof z.ZodBoolean,
    isList: inner instanceof z.ZodArray,
    isEnum: inner instanceof z.ZodEnum || inner instanceof z.ZodLiteral,
    isOpen: inner.meta()?.['x-open'] === true,
  }
}

function pathSegments(path: string): string[] {
  return path
    .replaceAll('[]', '.[]')
    .split('.')
    .filter(step => step !== '')
}

function isElementChange(change: Change): change is 'nullElement' | 'missingElement' {
  return change === 'nullElement' || change === 'missingElement'
}

/** Returns the value with the change, made in every entry of a list that has the path. */
function applyChange(value: unknown, segments: readonly string[], change: Change): unknown {
  const [segment, ...rest] = segments
  if (segment === undefined && isElementChange(change)) return changeElement(value, change)
  if (segment === '[]') return Array.isArray(value) ? value.map(entry => applyChange(entry, rest, change)) : value
  if (!isRecord(value)) return value
  if (segment === undefined) {
    return change === 'keyOrder'
      ? Object.fromEntries(Object.entries(value).reverse())
      : { ...value, not_in_the_document: 'a field of a later version' }
  }
  if (!Object.hasOwn(value, segment)) return value
  const current = value[segment]
  // Above the changed field, or at an object whose own fields change.
  if (rest.length > 0 || change === 'extraField' || change === 'keyOrder' || isElementChange(change)) {
    return { ...value, [segment]: applyChange(current, rest, change) }
  }
  switch (change) {
    case 'absentField':
    case 'missingField': {
      const { [segment]: _, ...otherFields } = value
      return otherFields
    }
    case 'nullField':
      return { ...value, [segment]: null }
    case 'numberAsString':
      return { ...value, [segment]: String(current) }
    case 'trueBoolean':
      return { ...value, [segment]: true }
    case 'unknownValue':
    case 'unlistedValue':
      return { ...value, [segment]: 'not_in_the_document' }
  }
}

/** Changes the first element of a list. */
function changeElement(value: unknown, change: 'nullElement' | 'missingElement'): unknown {
  if (!Array.isArray(value) || value.length === 0) return value
  return change === 'nullElement' ? [null, ...value.slice(1)] : value.slice(1)
}
