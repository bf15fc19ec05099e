/** Checks streams of events by the schema that a document declares for each event. */

import { isRecord } from '../../lib/json-text.ts'
import type { BodyValidator } from './bodies.ts'
import { type DocumentPart, type OpenapiDocument, toObject } from './document.ts'
import { partsOf } from './schema-views.ts'
import type { Difference } from './schemas.ts'

/** The end of such a stream. It is not JSON, and documents do not describe it. */
const END_MARKER = '[DONE]'

/** An event with its fields. */
interface StreamEvent {
  readonly data: string
  readonly [field: string]: string | number
}

/** Parses the events of a stream, each with its data lines joined. */
export function parseEvents(text: string): StreamEvent[] {
  return text
    .split(/\r?\n\r?\n/)
    .map(block => {
      const event: Record<string, string | number> = {}
      const data: string[] = []
      for (const line of block.split(/\r?\n/)) {
        const [, field, value] = /^(\w+)(?:: ?(.*))?$/.exec(line) ?? []
        if (field === 'data') data.push(value ?? '')
        else if (field === 'retry') event[field] = Number(value)
        else if (field !== undefined) event[field] = value ?? ''
      }
      return data.length === 0 ? undefined : { ...event, data: data.join('\n') }
    })
    .filter(event => event !== undefined)
}

/**
 * Returns the schema of each event of a stream: an `itemSchema` of OpenAPI 3.2, or a `schema` in older documents. Returns
 * undefined if the schema is a text, which does not describe events.
 *
 * @param media the content of the type `text/event-stream`
 */
export function eventSchemaOf(document: OpenapiDocument, media: DocumentPart): DocumentPart | undefined {
  const whole = document.partAt(media, 'itemSchema') ?? document.partAt(media, 'schema')
  const schema = whole && (document.partAt(whole, 'items') ?? whole)
  return schema === undefined || toObject(schema.value).type === 'string' ? undefined : schema
}

/** Returns the differences of a stream's events. An `itemSchema` may describe the data or the event with all its fields. */
export function findStreamDifferences(
  document: OpenapiDocument,
  bodies: BodyValidator,
  media: DocumentPart,
  text: string,
): Difference[] {
  const schema = eventSchemaOf(document, media)
  if (schema === undefined) return []
  const forms = eventForms(document, media, schema)
  const differences: Difference[] = []
  for (const event of parseEvents(text)) {
    if (event.data === END_MARKER) continue
    if (forms.length === 0) {
      differences.push(...checkJson(bodies, schema, event.data))
      continue
    }
    differences.push(...bodies.findDifferences(schema, event))
    const matchingForm = forms.find(form => bodies.findDifferences(form, event).length === 0)
    const content = matchingForm && document.partAt(matchingForm, 'properties', 'data', 'contentSchema')
    if (content !== undefined) differences.push(...checkJson(bodies, content, event.data))
  }
  return differences.map(one => ({
    ...one,
    place: one.place === 'the body' ? 'each event' : `each event, ${one.place}`,
  }))
}

function checkJson(bodies: BodyValidator, schema: DocumentPart, data: string): Difference[] {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    const at = { severity: 'break', kind: 'type', place: 'the body', pointer: schema.pointer } as const
    return [{ ...at, says: 'its data is JSON', ours: JSON.stringify(data.slice(0, 80)) }]
  }
  return bodies.findDifferences(schema, value)
}

/** Returns the alternatives of a schema that describe an event with all its fields, not only its data. */
export function eventForms(document: OpenapiDocument, media: DocumentPart, schema: DocumentPart): DocumentPart[] {
  if (document.partAt(media, 'itemSchema') === undefined) return []
  return formsOf(document, schema).filter(({ value }) => isRecord(toObject(value.properties).data))
}

/** Returns a schema and its alternatives and parts, each once. */
function formsOf(document: OpenapiDocument, schema: DocumentPart, seen = new Set<unknown>()): DocumentPart[] {
  if (seen.has(schema.value)) return []
  seen.add(schema.value)
  return [schema, ...partsOf(schema).flatMap(part => formsOf(document, document.follow(part), seen))]
}
