/** The words of a finding, each part with a label. */

import type { FindingWords } from './finding-words.ts'

/** Said of a finding without a cause. */
export const WITHOUT_FAULT = 'It happens without any fault.'

/** A label and what it labels. */
export type LabelledText = readonly [label: string, text: string]

/** Returns the words of a finding as labelled texts, for people. Parts that say nothing are left out. */
export function toLabelledTexts(words: FindingWords): readonly LabelledText[] {
  const { what, causes, requests, tooLateFrom, necessary, advice } = words
  const [only, ...others] = causes
  const texts: readonly LabelledText[] = [
    ['What happened', what],
    ...(others.length === 0
      ? [['Cause', only === undefined ? WITHOUT_FAULT : `${only} ${necessary}`.trim()] as const]
      : [...causes.map((cause, i) => [`Cause ${i + 1}`, cause] as const), ['Needed', necessary] as const]),
    ['Requests', requests],
    ['Too late from', tooLateFrom],
    ['What to do', advice],
  ]
  return texts.filter(([, text]) => text !== '')
}
