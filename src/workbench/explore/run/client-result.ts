/** What the end of a client tells: the ids that it keeps. */

import { attempt } from '../../../lib/attempt.ts'
import type { ClientEnd } from '../../../simulator/judge/observation.ts'

/** How deep, and into how many values, a result is searched. */
const MAX_DEPTH = 12
const MAX_VALUES = 100_000

/** Returns the ids that the end of a client names: anywhere in its result, or in its error. */
export function findOwnedIds(end: ClientEnd, ids: readonly string[]): ReadonlySet<string> {
  const owned = new Set<string>()
  if (ids.length === 0 || end.kind === 'unsettled') return owned
  const search = (text: string) => {
    for (const id of ids) if (text.includes(id)) owned.add(id)
  }
  visitValues(end.kind === 'returned' ? end.result : end.error, value => {
    if (typeof value === 'string') search(value)
  })
  return owned
}

/** Calls `visit` with a value and the values in it. Each object is visited once. What cannot be read is left out. */
function visitValues(root: unknown, visit: (value: unknown) => void): void {
  const seen = new Set<object>()
  const walk = (value: unknown, depth: number) => {
    visit(value)
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    if (depth === MAX_DEPTH || seen.size === MAX_VALUES) return
    seen.add(value)
    for (const part of attempt(() => partsOf(value)) ?? []) walk(part, depth + 1)
  }
  walk(root, 0)
}

/** Returns the values in an object. The message and the cause of an error are not fields that are listed. */
function partsOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return [...value.keys(), ...value.values()]
  if (value instanceof Set) return value
  if (Array.isArray(value)) return value
  const hidden = value instanceof Error ? ['message', 'cause'] : []
  return [...hidden, ...Object.keys(value)].map(key => attempt(() => (value as Readonly<Record<string, unknown>>)[key]))
}
