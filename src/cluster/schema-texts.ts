/** Texts that fit what schemas say of texts: lengths, patterns and formats. */
import { type Drawing, formatPattern, formattedText } from './format-texts.ts'
import type { Pattern } from './pattern.ts'
import { SchemaError } from './schema-document.ts'
import { isFormat } from './schema-validator.ts'

/** Texts that are tried for patterns and formats. */
const MOST_TEXTS = 64

/** What a text has to keep to. */
export interface TextLimits {
  readonly least: number
  readonly most: number
  readonly patterns: readonly Pattern[]
  /** Formats of which there is a pattern. */
  readonly formats: readonly string[]
  readonly at: string
}

/**
 * A text that has these formats and that these patterns take.
 *
 * @throws SchemaError where none is found
 */
export function fittingText(
  { least, most, patterns, formats, at }: TextLimits,
  drawing: Drawing,
  patternOf: (source: string) => Pattern,
): string {
  const sources = [...formats.map(format => patternOf(formatPattern(format)!)), ...patterns]
  // What has to begin so comes first, and what has to end so last.
  const ordered = [...sources].sort((one, other) => rank(one) - rank(other))
  for (let turn = 0; turn < MOST_TEXTS; turn++) {
    const usual = formats.length > 0 && turn < 2 ? formattedText(formats[0]!, drawing) : undefined
    const together = sources.length > 1 && turn % 4 === 3
    const text =
      usual ??
      (together
        ? ordered.map(one => one.text(drawing.below, 0, most, 0)).join('')
        : sources[turn % sources.length]!.text(drawing.below, least, most, turn))
    const length = [...text].length
    const isLong = length >= least && length <= most
    if (isLong && formats.every(one => isFormat(one, text)) && patterns.every(one => one.fits(text))) return text
  }
  const what = [
    ...formats.map(one => `the format ${one}`),
    ...patterns.map(({ source }) => `the pattern ${JSON.stringify(source)}`),
  ]
  const bounds = [
    ...(least > 0 ? [`at least ${least} characters`] : []),
    ...(most < Number.POSITIVE_INFINITY ? [`at most ${most} characters`] : []),
  ]
  throw new SchemaError(at, `no text is known that fits ${[...what, ...bounds].join(' and ')}`)
}

function rank({ source }: Pattern): number {
  return (source.startsWith('^') ? 0 : 1) + (source.endsWith('$') ? 1 : 0)
}
