/** The credentials in the body of a request, for a recorder that keeps a hash in their place. */
import type { AnyEndpoint } from '../../endpoint.ts'
import type { EndpointMapping } from '../../naming/endpoint-mapping.ts'
import { inputShape, type SchemaShape } from '../../naming/schema-shape.ts'
import { parseJsonBody } from './json-body.ts'

/** How credentials are replaced. */
export interface CredentialChange {
  /** Returns a text with its credentials replaced. */
  hide(text: string): string
  /** Returns what replaces a credential. */
  replace(credential: string): string
}

/** What is known at a place of a body: its shape; `unread` where no declaration names it; undefined for free content. */
type Place = SchemaShape | 'unread' | undefined

/**
 * Returns a JSON body with its credentials replaced: the declared ones, and those in what no answer depends on. A text
 * that the service computes with, as a prompt, stays as it is. Undefined for a body that is not JSON.
 *
 * @param endpoint without `body` if nothing reads the body
 */
export function replaceCredentials(
  { body, maxBodyValues }: Partial<Pick<AnyEndpoint, 'body' | 'maxBodyValues'>>,
  text: string,
  mapping: EndpointMapping | undefined,
  { hide, replace }: CredentialChange,
): string | undefined {
  const parsed = parseJsonBody(text, maxBodyValues)
  if (!('value' in parsed)) return undefined
  if (parsed.value === undefined) return text
  if (typeof parsed.value !== 'object') return hide(text)
  const root: Place = body === undefined ? 'unread' : inputShape(body)
  return replaceJsonValues(text, path => {
    let place: Place = root
    for (const step of path) place = stepInto(place, step, mapping)
    const role = place === 'unread' ? 'opaque' : place?.textRole
    if (role === 'credential') return raw => (/^"[^"]/.test(raw) ? JSON.stringify(replace(JSON.parse(raw))) : raw)
    if (role !== 'opaque') return undefined
    // The name of a field says what its value is.
    const head = path.length === 0 ? '' : `${JSON.stringify(path.at(-1))}:`
    return raw => hide(head + raw).slice(head.length)
  })
}

/** Returns the place of a field or an item. */
function stepInto(place: Place, step: string, mapping: EndpointMapping | undefined): Place {
  if (place === undefined || place === 'unread') return place
  const { fields, additional, items, isOpen } = place
  if (items !== undefined && /^\d+$/.test(step)) return items
  const named = fields.get(step)
  if (named !== undefined) return named
  if (mapping !== undefined) {
    for (const [name, inner] of fields) {
      if (mapping.names.fieldName(name, inner.places, mapping.operation) === step) return inner
    }
  }
  if (additional !== undefined) return additional
  const isFree = isOpen || (fields.size === 0 && items === undefined)
  return isFree ? undefined : 'unread'
}

/** Values within a JSON text. All that is not replaced stays as it is, to the last space. */

/**
 * Returns a valid JSON text with some of its values replaced.
 *
 * @param changeOf gets the fields and positions that lead to a value, and returns what replaces its text; undefined looks
 *   into the value
 */
function replaceJsonValues(
  text: string,
  changeOf: (path: readonly string[]) => ((raw: string) => string) | undefined,
): string {
  const path: string[] = []
  let position = 0
  let copied = 0
  let replaced = ''

  function skipSpace(): void {
    while (' \t\r\n'.includes(text[position]!)) position++
  }

  function skipString(): void {
    position++
    while (text[position] !== '"') position += text[position] === '\\' ? 2 : 1
    position++
  }

  function readField(): string {
    const start = position
    skipString()
    const name = JSON.parse(text.slice(start, position)) as string
    skipSpace()
    position++
    return name
  }

  /** Reads the items of an object or a list. `step` returns the field or the position of an item. */
  function readItems(close: string, step: (nth: number) => string, isLookedAt: boolean): void {
    position++
    skipSpace()
    for (let nth = 0; text[position] !== close; nth++) {
      path.push(step(nth))
      readValue(isLookedAt)
      path.pop()
      if (text[position] === ',') position++
      skipSpace()
    }
    position++
  }

  function readValue(isLookedAt: boolean): void {
    skipSpace()
    const start = position
    const change = isLookedAt ? changeOf(path) : undefined
    const looksInto = isLookedAt && change === undefined
    if (text[start] === '{') readItems('}', readField, looksInto)
    else if (text[start] === '[') readItems(']', String, looksInto)
    else if (text[start] === '"') skipString()
    else while (position < text.length && !',]} \t\r\n'.includes(text[position]!)) position++
    if (change !== undefined) {
      replaced += text.slice(copied, start) + change(text.slice(start, position))
      copied = position
    }
    skipSpace()
  }

  readValue(true)
  return replaced + text.slice(copied)
}
