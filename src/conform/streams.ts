/** Streams of events that were given, held against what a document says of each event. */
import type { Bodies } from './bodies.ts'
import { isObject, type OpenapiDocument, objectOf, type Part } from './document.ts'
import type { Difference } from './schemas.ts'

export const EVENT_STREAM = 'text/event-stream'
/** What streams of this kind end with; it is no JSON, and no document describes it. */
const DONE = '[DONE]'

/** An event by the fields that the format gives it. */
interface StreamEvent {
  readonly data: string
  readonly [field: string]: string | number
}

/** The events of a stream, each with its data in one text. */
export function eventsOf(text: string): StreamEvent[] {
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
 * What a document says of the JSON in each event of a stream: an `itemSchema` of OpenAPI 3.2, or as documents before it do,
 * a `schema`. A schema of a text says nothing of its events.
 *
 * @param media what the document says of the content type
 */
export function eventSchemaOf(document: OpenapiDocument, media: Part): Part | undefined {
  const whole = document.below(media, 'itemSchema') ?? document.below(media, 'schema')
  const schema = whole && (document.below(whole, 'items') ?? whole)
  return schema === undefined || objectOf(schema.value).type === 'string' ? undefined : schema
}

/** Where the events of a stream break what is said of them. An `itemSchema` may be one of an event with all its fields. */
export function streamBreaches(document: OpenapiDocument, bodies: Bodies, media: Part, text: string): Difference[] {
  const schema = eventSchemaOf(document, media)
  if (schema === undefined) return []
  const forms = eventForms(document, media, schema)
  const found: Difference[] = []
  for (const event of eventsOf(text)) {
    if (event.data === DONE) continue
    if (forms.length === 0) {
      found.push(...ofJson(bodies, schema, event.data))
      continue
    }
    found.push(...bodies.breaches(schema, event))
    const meant = forms.find(form => bodies.breaches(form, event).length === 0)
    const content = meant && document.below(meant, 'properties', 'data', 'contentSchema')
    if (content !== undefined) found.push(...ofJson(bodies, content, event.data))
  }
  return found.map(one => ({ ...one, place: one.place === 'the body' ? 'each event' : `each event, ${one.place}` }))
}

function ofJson(bodies: Bodies, schema: Part, data: string): Difference[] {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    const at = { severity: 'break', kind: 'type', place: 'the body', pointer: schema.pointer } as const
    return [{ ...at, says: 'its data is JSON', ours: JSON.stringify(data.slice(0, 80)) }]
  }
  return bodies.breaches(schema, value)
}

/** Forms of an event with all its fields, where a schema is one of these and not of the JSON in it. */
export function eventForms(document: OpenapiDocument, media: Part, schema: Part): Part[] {
  if (document.below(media, 'itemSchema') === undefined) return []
  return formsOf(document, schema).filter(({ value }) => isObject(objectOf(value.properties).data))
}

/** A schema and what it is put together from. */
function formsOf(document: OpenapiDocument, schema: Part, level = 0): Part[] {
  if (level > 4) return []
  const below = ['oneOf', 'anyOf', 'allOf'].flatMap(word => {
    const parts = schema.value[word]
    if (!Array.isArray(parts)) return []
    return parts.flatMap((value: unknown, i) => {
      const at = `${schema.pointer}/${word}/${i}`
      return isObject(value) ? formsOf(document, document.follow({ value, pointer: at }), level + 1) : []
    })
  })
  return [schema, ...below]
}
