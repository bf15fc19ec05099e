/** The words of a finding, each part with a label. */

/** What is said of a finding. Each part consists of whole sentences. */
export interface FindingWords {
  readonly invariant: string
  readonly what: string
  /** What the invariant asks for. Empty for one of the user's own. */
  readonly expected: string
  /** What led to it, in the order of the plan. Empty if it takes no fault. */
  readonly causes: readonly string[]
  /** The signatures of the other places at which the client breaks the invariant for the same reason. */
  readonly also: readonly string[]
  /** The inputs of the flow. Empty if it has none, or if the simplest ones are enough. */
  readonly inputs: string
  /** The requests of the client, in short. */
  readonly requests: string
  /** From when on nothing could save the client. Empty if it is unknown. */
  readonly tooLateFrom: string
  readonly necessary: string
  /** What the world of the finding lacks, of that of the flow. Empty if it is that of the flow. */
  readonly leftOut: string
  /** Empty for an invariant without advice. */
  readonly advice: string
}

/** Said of a finding without a cause. */
export const WITHOUT_FAULT = 'It happens without any fault.'

/** A label and what it labels. */
export type LabelledText = readonly [label: string, text: string]

/** Returns the words of a finding as labelled texts, for people. Parts that say nothing are left out. */
export function toLabelledTexts(words: FindingWords): readonly LabelledText[] {
  const { what, expected, also, causes, inputs, requests, tooLateFrom, necessary, leftOut, advice } = words
  const [only, ...others] = causes
  const texts: readonly LabelledText[] = [
    ['What happened', what],
    ['Also at', also.length === 0 ? '' : `${also.join(', ')}.`],
    ['Expected', expected],
    ...(others.length === 0
      ? [['Cause', only === undefined ? WITHOUT_FAULT : `${only} ${necessary}`.trim()] as const]
      : [...causes.map((cause, i) => [`Cause ${i + 1}`, cause] as const), ['Needed', necessary] as const]),
    ['Inputs', inputs],
    ['Requests', requests],
    ['Too late after', tooLateFrom],
    ['Left out', leftOut],
    ['What to do', advice],
  ]
  return texts.filter(([, text]) => text !== '')
}
