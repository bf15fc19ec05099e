/** What differs between a value and an expectation, and values as text in one line. */

import { HIDDEN, hideSecrets } from './text/secrets.ts'

/** A difference between a value and an expectation. */
export interface Difference {
  /** As in `instances.running` or `data[0].code`; empty for the value itself. */
  readonly path: string
  readonly expected: string
  readonly found: string
}

/** Longest text of a value in a report. */
const MAX_REPORTED_CHARS = 200

/** Returns the differences between `actual` and `expected`. */
export function differences(actual: unknown, expected: unknown, path = ''): Difference[] {
  if (expected instanceof RegExp) {
    return typeof actual === 'string' && new RegExp(expected.source, expected.flags.replace(/[gy]/g, '')).test(actual)
      ? []
      : [createDifference(path, `text like ${String(expected)}`, actual)]
  }
  if (isAsymmetric(expected)) {
    return expected.asymmetricMatch(actual) ? [] : [createDifference(path, describeMatcher(expected), actual)]
  }
  if (typeof expected === 'function') {
    throw new TypeError(
      `Failed to check${path === '' ? '' : ` ${path}`}: an expectation cannot be a function. ` +
        'Give the value or a pattern, or check(condition, true).',
    )
  }
  if (typeof expected !== 'object' || expected === null) {
    return Object.is(actual, expected) ? [] : [createDifference(path, formatJsonValue(expected), actual)]
  }
  if (expected instanceof Date) {
    return actual instanceof Date && actual.getTime() === expected.getTime()
      ? []
      : [createDifference(path, formatJsonValue(expected), actual)]
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [createDifference(path, `a list of ${expected.length}`, actual)]
    const found = expected.slice(0, actual.length).flatMap((item, i) => differences(actual[i], item, `${path}[${i}]`))
    if (actual.length !== expected.length) {
      found.unshift({
        path: joinPath(path, 'length'),
        expected: String(expected.length),
        found: `${actual.length}: ${formatJsonValue(actual)}`,
      })
    }
    return found
  }
  if (typeof actual !== 'object' || actual === null || Array.isArray(actual)) {
    return [createDifference(path, formatJsonValue(expected), actual)]
  }
  return Object.entries(expected).flatMap(([key, value]) =>
    differences((actual as Record<string, unknown>)[key], value, joinPath(path, key)),
  )
}

/** A matcher of a test runner, as `expect.any(String)`. */
interface AsymmetricMatcher {
  asymmetricMatch(actual: unknown): boolean
  toAsymmetricMatcher?(): string
  /** The expected value. */
  readonly sample?: unknown
}

function describeMatcher(expected: AsymmetricMatcher): string {
  const description = expected.toAsymmetricMatcher?.()
  if (description !== undefined) return description
  const { sample } = expected
  if (sample === undefined) return String(expected)
  return `${String(expected)} ${sample instanceof RegExp ? String(sample) : formatJsonValue(sample)}`
}

function isAsymmetric(expected: unknown): expected is AsymmetricMatcher {
  return typeof (expected as Partial<AsymmetricMatcher> | null | undefined)?.asymmetricMatch === 'function'
}

export function createDifference(path: string, expected: string, actual: unknown): Difference {
  return isSecretPath(path)
    ? { path, expected: HIDDEN, found: HIDDEN }
    : { path, expected, found: formatJsonValue(actual) }
}

/** Tells whether the value at a path is a credential, as at `body.hub.token` and `body.env.MODE`. */
export function isSecretPath(path: string): boolean {
  const [name = '', parent = ''] = path.replaceAll('"', '').split('.').reverse()
  const item = name.replace(/(?:\[\d+\])+$/, '')
  const text = JSON.stringify({ [parent]: { [item]: item === name ? 'a' : ['a'] } })
  return hideSecrets(text) !== text
}

export function joinPath(path: string, key: string): string {
  const step = /^[A-Za-z_$][\w$-]*$/.test(key) ? key : JSON.stringify(key)
  return path === '' ? step : `${path}.${step}`
}

/** Formats a value as JSON in which a regular expression appears as in source code. */
function stringifyWithPatterns(value: unknown): string | undefined {
  const patterns: string[] = []
  const text = JSON.stringify(value, (_, item) => {
    if (typeof item === 'bigint') return `${item}n`
    return item instanceof RegExp ? `\u0000${patterns.push(String(item)) - 1}` : item
  })
  return text?.replace(/"\\u0000(\d+)"/g, (_, at: string) => patterns[Number(at)]!)
}

/** Formats a value in one line. */
export function formatJsonValue(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value instanceof RegExp || typeof value === 'bigint' || typeof value === 'symbol') return String(value)
  if (typeof value === 'function') return `a function ${value.name}`.trim()
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (Object.is(value, -0)) return '-0'
  try {
    return truncate(hideSecrets(stringifyWithPatterns(value) ?? String(value)), MAX_REPORTED_CHARS)
  } catch {
    return String(value)
  }
}

export function truncate(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
}
