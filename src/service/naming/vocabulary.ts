/** What a names profile can name: the fields of records and operations, and their words. */
import * as z from 'zod'
import { oncePer } from '../../lib/once.ts'
import { type AnyEndpoint, type Operations, routeParamNames } from '../endpoint.ts'
import { fieldsShape, inputShape, outputShape, type SchemaShape } from './schema-shape.ts'

/** The words that each field is one of; empty if it may be any text or no text. */
export type Vocabulary = ReadonlyMap<string, ReadonlySet<string>>

/** Returns the fields of operations by their places, as in `Deployment.config.gpu` or `createLlmDeployment.hub.repo`. */
export function vocabularyOf(operations: Operations): Vocabulary {
  const wordsByPlace = new Map<string, Set<string>>()
  for (const { operation, shape } of listShapes(operations)) {
    for (const { places, allowedWords, items } of shape.fields.values()) {
      for (const place of places.map(one => fullPlace(one, operation))) {
        const words = wordsByPlace.get(place) ?? new Set()
        wordsByPlace.set(place, words)
        for (const word of [...allowedWords, ...(items?.allowedWords ?? [])]) words.add(word)
      }
    }
  }
  return wordsByPlace
}

/** Returns a place with the operation, for a field outside of records. */
export function fullPlace(place: string, operation: string): string {
  return place.startsWith('.') ? `${operation}${place}` : place
}

/** Yields every shape in the input and the output of operations. */
export function* listShapes(operations: Operations): Generator<{ operation: string; shape: SchemaShape }> {
  for (const [operation, endpoint] of Object.entries(operations as Operations<unknown>)) {
    for (const shape of listEndpointShapes(endpoint as AnyEndpoint).flatMap(withNested)) yield { operation, shape }
  }
}

/** Returns the shape of the parameters of a path. */
export const paramsShape = oncePer(({ path, params }: AnyEndpoint) =>
  fieldsShape(Object.fromEntries(routeParamNames(path).map(name => [name, params[name] ?? z.string()]))),
)

function listEndpointShapes(endpoint: AnyEndpoint): SchemaShape[] {
  const { body, returns, query, upload, fileLine, streamEvent } = endpoint
  return [
    ...(body === undefined ? [] : [inputShape(body)]),
    ...[returns, streamEvent, fileLine].flatMap(schema => (schema === undefined ? [] : [outputShape(schema)])),
    ...[query, upload?.fields].flatMap(fields => (fields === undefined ? [] : [fieldsShape(fields)])),
    paramsShape(endpoint),
  ]
}

function withNested(shape: SchemaShape): SchemaShape[] {
  const { fields, additional, items } = shape
  const nested = [...fields.values(), additional, items]
  return [shape, ...nested.flatMap(inner => (inner === undefined ? [] : withNested(inner)))]
}
