/** Generates texts that match the lengths, patterns and formats of schemas. */

import { SchemaError } from './document.ts'
import { formatPattern, generateFormatted, type TextSource } from './formats.ts'
import type { RegexPattern } from './regex.ts'
import { hasFormat } from './validate.ts'

/** Texts that are tried for patterns and formats. */
const MAX_ATTEMPTS = 64

/** The constraints of a text. */
export interface StringConstraints {
  readonly minLength: number
  readonly maxLength: number
  readonly patterns: readonly RegexPattern[]
  /** Formats that have a pattern. */
  readonly formats: readonly string[]
  readonly at: string
}

/**
 * Returns a text that matches formats and patterns.
 *
 * @throws SchemaError if no text is found
 */
export function generateString(
  { minLength, maxLength, patterns, formats, at }: StringConstraints,
  drawing: TextSource,
  patternOf: (source: string) => RegexPattern,
): string {
  const sources = [...formats.map(format => patternOf(formatPattern(format)!)), ...patterns]
  // A required begin comes first, and a required end last.
  const ordered = [...sources].sort((one, other) => anchorRank(one) - anchorRank(other))
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const typicalText = formats.length > 0 && attempt < 2 ? generateFormatted(formats[0]!, drawing) : undefined
    const isCombined = sources.length > 1 && attempt % 4 === 3
    const text =
      typicalText ??
      (isCombined
        ? ordered.map(one => one.text(drawing.below, 0, maxLength, 0)).join('')
        : sources[attempt % sources.length]!.text(drawing.below, minLength, maxLength, attempt))
    const length = [...text].length
    const isValidLength = length >= minLength && length <= maxLength
    if (isValidLength && formats.every(one => hasFormat(one, text)) && patterns.every(one => one.matches(text)))
      return text
  }
  const constraints = [
    ...formats.map(one => `the format ${one}`),
    ...patterns.map(({ source }) => `the pattern ${JSON.stringify(source)}`),
  ]
  const bounds = [
    ...(minLength > 0 ? [`at least ${minLength} characters`] : []),
    ...(maxLength < Number.POSITIVE_INFINITY ? [`at most ${maxLength} characters`] : []),
  ]
  throw new SchemaError(at, `no text is known that fits ${[...constraints, ...bounds].join(' and ')}`)
}

function anchorRank({ source }: RegexPattern): number {
  return (source.startsWith('^') ? 0 : 1) + (source.endsWith('$') ? 1 : 0)
}
