/** Figures: the numbers in the texts that a client made itself, as in `4 files, 83,584 bytes` or in a CSV. */

import { groupBy } from '../../../lib/lists.ts'
import { formatPlace, isDerived, type Leaf } from './leaves.ts'
import type { RunAnswers } from './run-answers.ts'
import type { ReadResult } from './telling.ts'

/** Dates, times and numbers. Only numbers are figures. */
const DIGITS = /\d{4}-\d\d-\d\d(?:t[\d:.]+z?)?|\d+(?::\d\d)+(?:\.\d+)?|\d+(?:[.,]\d+)*/g
/** One with more digits is a time or an id. */
const MOST_DIGITS = 9
const LONGEST_TEXT = 20_000
const CONTEXT = 24

/** Returns the leaves of both results with the figures of each text that has its usual form. */
export function withFigures(
  usual: ReadResult,
  read: ReadResult,
  answers: RunAnswers,
): readonly [usual: ReadResult, read: ReadResult] {
  const now = groupBy(read.leaves, ({ place }) => formatPlace(place))
  const usualFigures: Leaf[] = []
  const readFigures: Leaf[] = []
  for (const leaf of usual.leaves) {
    const { place, value } = leaf
    // What the service said is judged as a whole.
    const isOwn =
      typeof value === 'string' && value.length <= LONGEST_TEXT && !isDerived(leaf) && !answers.isUsual(value)
    const figures = isOwn ? figuresOf(leaf, answers.normaliseUsual(value)) : []
    if (figures.length === 0) continue
    usualFigures.push(...figures)
    const [other] = now.get(formatPlace(place)) ?? []
    if (typeof other?.value !== 'string' || other.value.length > LONGEST_TEXT) continue
    const text = answers.normalise(other.value)
    if (formOf(text) === formOf(answers.normaliseUsual(String(value)))) readFigures.push(...figuresOf(other, text))
  }
  return [
    { ...usual, leaves: [...usual.leaves, ...usualFigures] },
    { ...read, leaves: [...read.leaves, ...readFigures] },
  ]
}

/** Returns a text with one mark in place of each number. */
function formOf(text: string): string {
  return text.replace(DIGITS, '#')
}

function figuresOf(leaf: Leaf, text: string): Leaf[] {
  return [...text.matchAll(DIGITS)].flatMap(({ 0: digits, index }, i) => {
    const value = toNumber(digits)
    if (value === undefined) return []
    const before = formOf(text.slice(Math.max(0, index - CONTEXT), index))
      .split('#')
      .at(-1)
    const [after] = formOf(text.slice(index + digits.length, index + digits.length + CONTEXT)).split('#')
    return [{ place: [...leaf.place, `#${i + 1} ${before}#${after}`], value, text: leaf }]
  })
}

/** Returns the value of digits; undefined for a date, a time, a version or an id. */
function toNumber(digits: string): number | undefined {
  const plain = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(digits) ? digits.replaceAll(',', '') : digits.replace(',', '.')
  const isFigure = /^\d+(?:\.\d+)?$/.test(plain) && plain.replace(/\..*/, '').length <= MOST_DIGITS
  return isFigure ? Number(plain) : undefined
}
