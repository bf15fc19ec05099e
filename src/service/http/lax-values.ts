/** Lax values: numbers and booleans that a client sent as texts. */
import type * as z from 'zod'
import { isIntegerText, isNumberText } from '../../lib/text/number-text.ts'
import { NOT_AN_INTEGER } from './validation-errors.ts'

type Issue = z.core.$ZodIssue

interface Replacement {
  readonly path: readonly PropertyKey[]
  readonly value: number | boolean
}

const BOOLEAN_TEXTS: Readonly<Record<string, boolean>> = { true: true, false: false }

/**
 * Returns the value with numbers and booleans in place of the texts that failed as such: digits, `true` and `false`.
 * Copies what it changes. Returns undefined if no text can be replaced.
 *
 * @param issues the issues of the value. The parse must have run with `reportInput`.
 */
export function replaceLaxTexts(value: unknown, issues: readonly Issue[]): unknown {
  const replacements = issues.flatMap(issue => findReplacements(issue, []))
  if (replacements.length === 0) return undefined
  const copies = new WeakSet<object>()
  const root = { value }
  for (const { path, value: replacement } of replacements) {
    let container = root as Record<PropertyKey, unknown>
    let key: PropertyKey = 'value'
    for (const step of path) {
      container[key] = copyOnce(container[key] as object, copies)
      container = container[key] as Record<PropertyKey, unknown>
      key = step
    }
    container[key] = replacement
  }
  return root.value
}

function copyOnce(original: object, copies: WeakSet<object>): object {
  if (copies.has(original)) return original
  const copy = Array.isArray(original) ? original.slice() : { ...original }
  copies.add(copy)
  return copy
}

/** Returns the replacements that remove an issue: none if it is about something else. */
function findReplacements(issue: Issue, prefix: readonly PropertyKey[]): Replacement[] {
  const path = [...prefix, ...issue.path]
  if (issue.code === 'invalid_union') {
    for (const branch of issue.errors) {
      const replacements = branch.map(inner => findReplacements(inner, path))
      if (branch.length > 0 && replacements.every(found => found.length > 0)) return replacements.flat()
    }
    return []
  }
  // An assignment to this key would set a prototype.
  if (issue.code !== 'invalid_type' || path.includes('__proto__')) return []
  const value = readText(issue)
  return value === undefined ? [] : [{ path, value }]
}

function readText({
  input,
  expected,
  message,
}: Extract<Issue, { code: 'invalid_type' }>): number | boolean | undefined {
  if (typeof input !== 'string') return undefined
  if (expected === 'boolean') return Object.hasOwn(BOOLEAN_TEXTS, input) ? BOOLEAN_TEXTS[input] : undefined
  const isInteger = expected === 'int' || message === NOT_AN_INTEGER
  if (!isInteger && expected !== 'number') return undefined
  return (isInteger ? isIntegerText : isNumberText)(input) ? Number(input) : undefined
}
