/** What the end of a client tells: the ids that it keeps, and the results of batch lines. */

import type { ClientEnd, LineResult } from '../../evidence/observation.ts'

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
  if (end.kind === 'threw' && end.error instanceof Error) {
    for (let { error } = end as { error: unknown }; error instanceof Error; error = error.cause) search(error.message)
  }
  visitValues(end.kind === 'returned' ? end.result : end.error, value => {
    if (typeof value === 'string') search(value)
  })
  return owned
}

/** Returns the objects of a result that have `custom_id`, and `answer` or `error`; undefined without one. */
export function findLines(result: unknown): readonly LineResult[] | undefined {
  const lines: LineResult[] = []
  visitValues(result, value => {
    if (typeof value !== 'object' || value === null) return
    const line = value as Partial<LineResult>
    if (typeof line.custom_id === 'string' && ('answer' in line || 'error' in line)) lines.push(line as LineResult)
  })
  return lines.length === 0 ? undefined : lines
}

/** Calls `visit` with a value and the values in it. Each object is visited once. */
function visitValues(root: unknown, visit: (value: unknown) => void): void {
  const seen = new Set<object>()
  const walk = (value: unknown, depth: number) => {
    visit(value)
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    if (depth === MAX_DEPTH || seen.size === MAX_VALUES) return
    seen.add(value)
    const parts =
      value instanceof Map ? [...value.keys(), ...value.values()] : value instanceof Set ? value : Object.values(value)
    for (const part of parts) walk(part, depth + 1)
    if (value instanceof Map || value instanceof Set) return
  }
  walk(root, 0)
}
