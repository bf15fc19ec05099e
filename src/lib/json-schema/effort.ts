import { LIMITS } from '../limits.ts'
import { EffortLimitError } from './document.ts'

/** Depth of a value from which on optional parts are left out, so that a recursive schema terminates. */
export const MAX_DEPTH = LIMITS.schemaDepth
/** Number of values in an answer from which on optional parts are left out. */
const MAX_VALUES_WITH_OPTIONAL = 200
/**
 * The limits of all answers to one request, and the lowest limits of one answer. The first ones are about a model's
 * context.
 */
const MAX_VALUES = [LIMITS.schemaValues, 1000] as const
const MAX_CHARACTERS = [LIMITS.schemaCharacters, 20_000] as const
/** Steps that the answers may take. All of them take well under a second. */
const MAX_STEPS = [LIMITS.schemaSteps, 50_000] as const

/** Draws of one value. Each gives the same result for the same arguments; `index` counts the draws of a value. */
export interface ValueDraws {
  /** Returns an integer from 0 to `count` - 1. */
  readonly integer: (count: number, index: number) => number
  /** Returns `length` hexadecimal digits. */
  readonly hex: (length: number, index: number) => string
  /** Returns a text of about `words` words; the same seed gives the same text. */
  readonly text: (words: number, seed: string) => string
}

/** The draws of one answer, and the limits of its size and effort. */
export class Effort {
  valueCount = 0
  characterCount = 0
  /** Number of values of a numeric range that has one bound. */
  span = 100
  readonly #draws: ValueDraws
  readonly #maxValues: number
  readonly #maxCharacters: number
  readonly #maxSteps: number
  #drawCount = 0
  #stepCount = 0

  constructor(draws: ValueDraws, answers: number) {
    const share = ([all, one]: readonly [number, number]) => Math.max(one, Math.floor(all / answers))
    this.#maxValues = share(MAX_VALUES)
    this.#maxCharacters = share(MAX_CHARACTERS)
    this.#maxSteps = share(MAX_STEPS)
    this.#draws = draws
  }

  /** Returns whether optional parts are left out from here on. */
  isLargeEnough(depth: number): boolean {
    return depth >= MAX_DEPTH || this.valueCount >= MAX_VALUES_WITH_OPTIONAL
  }

  countValue(at: string): void {
    if (++this.valueCount > this.#maxValues)
      throw new EffortLimitError(at, `an answer has ${this.#maxValues} values at most`)
  }

  countCharacters(characters: number, at: string): void {
    this.characterCount += characters
    if (this.characterCount > this.#maxCharacters)
      throw new EffortLimitError(at, `an answer has ${this.#maxCharacters} characters at most`)
  }

  countSteps(steps: number): void {
    this.#stepCount += steps
    if (this.#stepCount > this.#maxSteps)
      throw new EffortLimitError('', 'no value is found that fits, however long one tries')
  }

  drawInteger(count: number): number {
    this.countSteps(1)
    return this.#draws.integer(count, this.#drawCount++)
  }

  drawHex(length: number): string {
    this.countSteps(20)
    return this.#draws.hex(length, ++this.#drawCount)
  }

  drawWords(count: number): string {
    this.countSteps(20)
    return this.#draws.text(count, this.drawHex(16)).replace(/\.$/, '')
  }

  drawWord(): string {
    return this.drawWords(2).split(/\W/)[0]!.toLowerCase()
  }
}
