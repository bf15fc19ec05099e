/** The credentials in the body of a request, for a recorder that keeps a hash in their place. */
import { replaceJsonStrings } from '../../../lib/text/json-strings.ts'
import type { AnyEndpoint } from '../../endpoint.ts'
import type { EndpointMapping } from '../../naming/endpoint-mapping.ts'
import { inputShape, type SchemaShape } from '../../naming/schema-shape.ts'
import { parseJsonBody } from './json-body.ts'

/** How credentials are found and replaced. */
export interface CredentialChange {
  /** Whether the name of a field says that it holds a credential. */
  isSecretName(name: string): boolean
  /** Returns what replaces a credential; undefined keeps it. */
  replace(credential: string): string | undefined
}

/** What is known at a place of a body: its shape; `unread` where no declaration names it; undefined for free content. */
type Place = SchemaShape | 'unread' | undefined

/**
 * Returns a JSON body with its credentials replaced: the declared ones, and those in fields that nothing reads. A field
 * that the service reads, as `metadata`, stays as it is. Undefined for a body that is not JSON.
 */
export function replaceCredentials(
  { body, byTask, maxBodyValues }: AnyEndpoint,
  text: string,
  mapping: EndpointMapping | undefined,
  { isSecretName, replace }: CredentialChange,
): string | undefined {
  const parsed = parseJsonBody(text, maxBodyValues)
  if (!('value' in parsed)) return undefined
  if (typeof parsed.value !== 'object' || parsed.value === null) return text
  // The task of a model decides what is read then.
  if (byTask !== undefined) return text
  const root: Place = body === undefined ? 'unread' : inputShape(body)
  return replaceJsonStrings(text, (value, path) => {
    if (value === '') return undefined
    let place: Place = root
    for (const step of path) place = stepInto(place, step, mapping)
    const name = path.findLast(step => !/^\d+$/.test(step)) ?? ''
    const isCredential = place === 'unread' ? isSecretName(name) : place?.textRole === 'credential'
    return isCredential ? replace(value) : undefined
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
