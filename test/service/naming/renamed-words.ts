/** A profile that renames every word, and a reader for it: it knows nothing of how the simulator does it. */
import type { NamesProfile } from '../../../src/service/naming/names-profile.ts'

/** No word of it is a part of another, or of anything else that is ever said: it can be read back letter by letter. */
export const PROFILE = {
  paths: { vendor_a: 'qq-vendor', aggregator: 'qq-router', hosted: 'qq-boxes', compat: 'qq-same', hub: 'qq-depot' },
  fields: {
    hub: 'qqDepot',
    hub_id: 'qqDepotKey',
    account_balance: 'qqOwed',
    modelhub_url: 'qqSiteUrl',
    aggregator: 'qqExtras',
  },
  values: { modelhub: 'qq_site', hub: 'qq_depot' },
  headers: { 'alt-api-key': 'qq-key' },
  variants: { 'compat-': 'qqc-', 'altvendor-': 'qqv-' },
} as const satisfies NamesProfile

const FIELDS: Readonly<Record<string, string>> = PROFILE.fields
const FREE = ['metadata', 'messages', 'tools', 'system', 'input_schema']

/** A target as a client of the user's provider writes it. */
export function namedTarget(target: string): string {
  return target
    .replace(/^\/vendor_a\//, '/qq-vendor/')
    .replace(/^\/aggregator\//, '/qq-router/')
    .replace(/^\/deploy\/hub(?=\/|$)/, '/deploy/qq-depot')
    .replace(/^\/v1\/hosted(?=\/|$)/, '/v1/qq-boxes')
    .replace(/^\/v1\/compat(?=\/|$)/, '/v1/qq-same')
    .replace(/\/schema\/compat-/, '/schema/qqc-')
    .replace(/\/schema\/altvendor-/, '/schema/qqv-')
}

/** The text of a body as such a client writes it. */
export function namedBody(text: string): string {
  try {
    return JSON.stringify(named(JSON.parse(text)))
  } catch {
    return text
  }
}

function named(value: unknown): unknown {
  if (value === 'modelhub') return 'qq_site'
  if (Array.isArray(value)) return value.map(named)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [FIELDS[key] ?? key, FREE.includes(key) ? inner : named(inner)]),
  )
}

export function namedHeaders(headers: Headers): Headers {
  const named = new Headers(headers)
  const key = named.get('alt-api-key')
  named.delete('alt-api-key')
  if (key !== null) named.set('qq-key', key)
  return named
}

/** Returns the answer that a client of the neutral words would have received. */
export function neutralText(text: string): string {
  return Object.values(PROFILE)
    .flatMap(words => Object.entries(words))
    .sort(([, a], [, b]) => b.length - a.length)
    .reduce((said, [neutral, word]) => said.replaceAll(word, neutral), text)
}

/** Returns the neutral names of the fields and values of an answer. Texts may have neutral words. */
export function neutralNames(answer: string): string[] {
  const parts =
    answer.includes('\ndata: ') || answer.startsWith('data: ') ? answer.match(/(?<=^data: )\{.*/gm) : [answer]
  return (parts ?? []).flatMap(part => {
    try {
      return namesIn(JSON.parse(part))
    } catch {
      return []
    }
  })
}

function namesIn(value: unknown): string[] {
  if (typeof value === 'string')
    return /^(?:modelhub|compat-.*|altvendor-.*|\/(?:v1\/)?(?:hosted|compat|aggregator)\/.*)$/.test(value)
      ? [value]
      : []
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(Object.hasOwn(FIELDS, key) ? [key] : []),
    ...(FREE.includes(key) ? [] : namesIn(inner)),
  ])
}
