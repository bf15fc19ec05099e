/**
 * Choice sequences. What makes a plan asks for one choice after another, and never knows who answers: a list of every
 * sequence, chance, or a tape of an earlier run. So enumerating, drawing, shrinking and replaying share one generator.
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

/** A tape that does not fit its interpretation, for example because the flow has changed. */
export class TapeMismatchError extends RangeError {
  override readonly name = 'TapeMismatchError'
}

/** Which options chance prefers: none, or the ends. */
type Preference = 'even' | 'ends'

abstract class TapeWriter implements Choices {
  protected readonly written: Choice[] = []

  pick<Option>(label: string, options: readonly Option[]): Option {
    if (options.length === 0)
      throw new RangeError(`Failed to choose '${label}': it has no options. Ask only if it has one.`)
    return options[this.#write(label, options.length, 'even')]!
  }

  pickNumber(label: string, bound: number): number {
    return this.#write(label, bound, 'ends')
  }

  #write(label: string, bound: number, preference: Preference): number {
    const value = this.choose(label, bound, this.written.length, preference)
    this.written.push({ label, bound, value })
    return value
  }

  interpret<Result>(interpretation: Interpretation<Result>): Interpreted<Result> {
    const result = interpretation(this)
    return { result, tape: this.written }
  }

  /** Returns a number from 0 to `bound` - 1. */
  protected abstract choose(label: string, bound: number, position: number, preference: Preference): number
}

/**
 * Yields the result of every possible tape, each once, in the order of an odometer: the last choice turns fastest.
 *
 * @example [...enumerate(choices => choices.pick('a', [1, 2]) * choices.pick('b', [1, 10]))] // 1, 10, 2, 20
 */
export function* enumerate<Result>(interpretation: Interpretation<Result>): Generator<Interpreted<Result>> {
  let prefix: readonly number[] | undefined = []
  while (prefix !== undefined) {
    const interpreted: Interpreted<Result> = new PrefixReader(prefix).interpret(interpretation)
    yield interpreted
    prefix = nextPrefix(interpreted.tape)
  }
}

/** Answers the values of a prefix, then the simplest option. */
class PrefixReader extends TapeWriter {
  readonly #prefix: readonly number[]

  constructor(prefix: readonly number[]) {
    super()
    this.#prefix = prefix
  }

  protected choose(_label: string, _bound: number, position: number): number {
    return this.#prefix[position] ?? 0
  }
}

/** Returns the prefix of the next tape: the last choice that has a further option moves on. */
function nextPrefix(tape: Tape): number[] | undefined {
  const last = tape.findLastIndex(({ bound, value }) => value + 1 < bound)
  if (last < 0) return undefined
  return tape.slice(0, last + 1).map(({ value }, position) => (position === last ? value + 1 : value))
}

const CHOICE = purpose('explore.choice')

/** Draws the choices of a run. A draw depends on seed, run, label and its count alone. */
export function draw<Result>(
  interpretation: Interpretation<Result>,
  { seed, run }: { readonly seed: string | number; readonly run: number },
): Interpreted<Result> {
  return new DrawnChoices(new Chance(seed), run).interpret(interpretation)
}

class DrawnChoices extends TapeWriter {
  readonly #chance: Chance
  readonly #run: number
  readonly #keys = new Map<string, { readonly key: EntityKey; count: number }>()

  constructor(chance: Chance, run: number) {
    super()
    this.#chance = chance
    this.#run = run
  }

  protected choose(label: string, bound: number, _position: number, preference: Preference): number {
    const known = this.#keys.get(label) ?? { key: this.#chance.key('explore', label, this.#run), count: 0 }
    this.#keys.set(label, known)
    const drawn = (options: number) => this.#chance.integer(options, known.key, CHOICE, known.count++)
    if (preference === 'even') return drawn(bound)
    return [0, bound - 1, undefined][drawn(3)] ?? drawn(bound)
  }
}

/**
 * Makes the result of a tape again.
 *
 * @throws TapeMismatchError if a choice has another label or bound than on the tape, or if the tape is too short or too
 *   long
 */
export function replay<Result>(interpretation: Interpretation<Result>, tape: Tape): Result {
  const reader = new TapeReader(tape)
  const { result, tape: read } = reader.interpret(interpretation)
  const mismatch =
    reader.mismatch ??
    (read.length < tape.length ? `the tape has ${tape.length} choices, and only ${read.length} are made` : undefined)
  if (mismatch !== undefined) {
    throw new TapeMismatchError(
      `Failed to replay the choices: ${mismatch}. Replay them with the flow and the version that wrote them.`,
    )
  }
  return result
}

/**
 * Makes the result of an edited tape, for example a shrunk one. Choices follow the tape by label: an entry with another
 * label is left out, a value beyond its bound becomes the greatest one, and a choice without an entry takes the simplest
 * option. The tape of the result fits it exactly.
 */
export function interpretEdited<Result>(interpretation: Interpretation<Result>, tape: Tape): Interpreted<Result> {
  return new EditedTapeReader(tape).interpret(interpretation)
}

class TapeReader extends TapeWriter {
  /** The first place at which the tape does not fit. */
  mismatch: string | undefined
  readonly #tape: Tape

  constructor(tape: Tape) {
    super()
    this.#tape = tape
  }

  protected choose(label: string, bound: number, position: number): number {
    const entry = this.#tape[position]
    if (entry !== undefined && entry.label === label && entry.bound === bound && isValue(entry.value, bound)) {
      return entry.value
    }
    const place = `choice ${position + 1} is '${label}' with ${bound} options`
    const onTape =
      entry === undefined
        ? 'the tape has ended'
        : `the tape has '${entry.label}', option ${entry.value} of ${entry.bound}`
    this.mismatch ??= `${place}, and ${onTape}`
    return 0
  }
}

function isValue(value: number, bound: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < bound
}

class EditedTapeReader extends TapeWriter {
  readonly #tape: Tape
  #next = 0

  constructor(tape: Tape) {
    super()
    this.#tape = tape
  }

  protected choose(label: string, bound: number): number {
    const found = this.#tape.findIndex((entry, position) => position >= this.#next && entry.label === label)
    if (found < 0) return 0
    this.#next = found + 1
    return Math.max(0, Math.min(Math.trunc(this.#tape[found]!.value) || 0, bound - 1))
  }
}
