/** What a names profile can name: records with their fields, words of fields, operations and paths. */
import { type AnyEndpoint, type Operations, routeParamNames } from '../endpoint.ts'
import { inputShape, outputShape, type SchemaShape } from './schema-shape.ts'

/** A part of the input or output of an operation, with the name under which its own fields are addressed. */
export interface OperationShape {
  readonly operation: string
  readonly shape: SchemaShape
}

/** A field of a record or of an operation. */
export interface NamedField {
  /** As in `Deployment.config.gpu` or `createLlmDeployment.hub.repo`. */
  readonly place: string
  /** The words that it is one of; empty if it may be any text or no text. */
  readonly words: readonly string[]
}

export interface Vocabulary {
  /** Every field by its place. Places begin with the id of a record or of an operation. */
  readonly fields: ReadonlyMap<string, NamedField>
  /** The names of all fields, without their places. */
  readonly fieldNames: ReadonlySet<string>
  /** Every word that a field is one of. */
  readonly words: ReadonlySet<string>
  /** Routes by operation. */
  readonly routes: ReadonlyMap<string, string>
}

const vocabularies = new WeakMap<object, Vocabulary>()

/** Returns the vocabulary of operations. It is computed once. */
export function vocabularyOf(operations: Operations): Vocabulary {
  const known = vocabularies.get(operations)
  if (known !== undefined) return known
  const fields = new Map<string, NamedField>()
  for (const { operation, shape } of listShapes(operations)) addFields(fields, operation, shape, new Set())
  const entries = Object.entries(operations as Operations<unknown>) as [string, AnyEndpoint][]
  const vocabulary: Vocabulary = {
    fields,
    fieldNames: new Set([...fields.keys()].map(place => place.slice(place.lastIndexOf('.') + 1))),
    words: new Set([...fields.values()].flatMap(({ words }) => words)),
    routes: new Map(entries.map(([name, { route }]) => [name, route])),
  }
  vocabularies.set(operations, vocabulary)
  return vocabulary
}

/** Returns a place with the operation, for a field outside of records. */
export function fullPlace(place: string, operation: string): string {
  return place.startsWith('.') ? `${operation}${place}` : place
}

/** Returns the shapes of the input and the output of all operations. */
function listShapes(operations: Operations): OperationShape[] {
  return Object.entries(operations as Operations<unknown>).flatMap(([operation, one]) =>
    listEndpointShapes(one as AnyEndpoint).map(shape => ({ operation, shape })),
  )
}

/** Returns the shapes of the input and the output of an endpoint. */
export function listEndpointShapes(endpoint: AnyEndpoint): SchemaShape[] {
  const { body, returns, query, params, upload, fileLine, streamEvent, path } = endpoint
  return [
    ...(body === undefined ? [] : [inputShape(body)]),
    outputShape(returns),
    ...(streamEvent === undefined ? [] : [outputShape(streamEvent)]),
    ...(fileLine === undefined ? [] : [outputShape(fileLine)]),
    createFieldsShape(query),
    createFieldsShape({ ...Object.fromEntries(routeParamNames(path).map(name => [name, undefined])), ...params }),
    ...(upload === undefined ? [] : [createFieldsShape((upload.fields ?? {}) as AnyEndpoint['query'])]),
  ]
}

type MaybeFields = Readonly<Record<string, AnyEndpoint['returns'] | undefined>>

/** Returns the shape of a query, path or form: texts by name. */
export function createFieldsShape(fields: MaybeFields): SchemaShape {
  const shapes = Object.entries(fields).map(
    ([name, schema]) => [name, schema ? outputShape(schema) : TEXT_SHAPE] as const,
  )
  return {
    ...TEXT_SHAPE,
    fields: new Map(shapes),
    places: new Map(shapes.map(([name]) => [name, [`.${name}`]])),
  }
}

const TEXT_SHAPE: SchemaShape = {
  fields: new Map(),
  places: new Map(),
  allowsOtherFields: false,
  additional: undefined,
  items: undefined,
  allowedWords: [],
  textRole: undefined,
}

function addFields(
  into: Map<string, NamedField>,
  operation: string,
  shape: SchemaShape,
  open: ReadonlySet<SchemaShape>,
): void {
  if (open.has(shape)) return
  const nested = new Set([...open, shape])
  for (const [name, inner] of shape.fields) {
    for (const place of shape.places.get(name) ?? []) {
      const full = fullPlace(place, operation)
      const words = [...new Set([...(into.get(full)?.words ?? []), ...wordsOf(inner)])]
      into.set(full, { place: full, words })
    }
    addFields(into, operation, inner, nested)
  }
  if (shape.items !== undefined) addFields(into, operation, shape.items, nested)
  if (shape.additional !== undefined) addFields(into, operation, shape.additional, nested)
}

/** Returns the words of a field, also those of the items of a list. */
function wordsOf({ allowedWords, items }: SchemaShape): readonly string[] {
  return items === undefined ? allowedWords : [...allowedWords, ...items.allowedWords]
}
