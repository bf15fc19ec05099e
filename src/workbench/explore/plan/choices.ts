/**
 * Choice sequences. What makes a plan asks for one choice after another, and never knows who answers: chance, or a tape of
 * an earlier run. So drawing and shrinking share one generator.
 */

import { Chance, type EntityKey, purpose } from '../../../kernel/random.ts'

/** A choice that was made: option `value`, counted from 0, of `bound` options. */
export interface Choice {
  readonly label: string
  readonly bound: number
  readonly value: number
}

/** All choices of one plan, in their order. */
export type Tape = readonly Choice[]

/** Answers choices. */
export interface Choices {
  /** Returns one of the options, which are in the order of simplicity. Throws RangeError for an empty list. */
  pick<Option>(label: string, options: readonly Option[]): Option
  /**
   * Returns a number from 0, the simplest, to `bound` - 1. Chance prefers the least and the greatest one, because
   * mistakes are often at the ends of a range.
   */
  pickNumber(label: string, bound: number): number
}

/** Makes something of choices. Equal choices give equal results. */
export type Interpretation<Result> = (choices: Choices) => Result

/** A result and the tape from which it follows. */
export interface Interpreted<Result> {
  readonly result: Result
  readonly tape: Tape
}

/** Answers a choice with a number from 0 to `bound` - 1. Chance prefers no option (`even`), or the ends. */
type Answer = (label: string, bound: number, preference: 'even' | 'ends') => number

function interpret<Result>(interpretation: Interpretation<Result>, answer: Answer): Interpreted<Result> {
  const tape: Choice[] = []
  const choose: Answer = (label, bound, preference) => {
    const value = answer(label, bound, preference)
    tape.push({ label, bound, value })
    return value
  }
  const result = interpretation({
    pick(label, options) {
      if (options.length > 0) return options[choose(label, options.length, 'even')]!
      throw new RangeError(`Failed to choose '${label}': it has no options. Ask only if it has one.`)
    },
    pickNumber: (label, bound) => choose(label, bound, 'ends'),
  })
  return { result, tape }
}

const CHOICE = purpose('explore.choice')

/** Draws the choices of a run. A draw depends on seed, run, label and its count alone. */
export function draw<Result>(
  interpretation: Interpretation<Result>,
  { seed, run }: { readonly seed: string | number; readonly run: number },
): Interpreted<Result> {
  const chance = new Chance(seed)
  const keys = new Map<string, { readonly key: EntityKey; count: number }>()
  return interpret(interpretation, (label, bound, preference) => {
    const known = keys.get(label) ?? { key: chance.key('explore', label, run), count: 0 }
    keys.set(label, known)
    const drawn = (options: number) => chance.integer(options, known.key, CHOICE, known.count++)
    if (preference === 'even') return drawn(bound)
    return [0, bound - 1, undefined][drawn(3)] ?? drawn(bound)
  })
}

/**
 * Makes the result of an edited tape, for example a shrunk one. Choices follow the tape by label: an entry with another
 * label is left out, a value beyond its bound becomes the greatest one, and a choice without an entry takes the simplest
 * option. The tape of the result fits it exactly.
 */
export function interpretEdited<Result>(interpretation: Interpretation<Result>, tape: Tape): Interpreted<Result> {
  let next = 0
  return interpret(interpretation, (label, bound) => {
    const found = tape.findIndex((entry, position) => position >= next && entry.label === label)
    if (found < 0) return 0
    next = found + 1
    return Math.max(0, Math.min(Math.trunc(tape[found]!.value) || 0, bound - 1))
  })
}
