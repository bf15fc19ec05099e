/** Texts of regular expressions: the library generates them, and the engine tests them. */
import randexp from 'randexp'
import { LIMITS } from '../limits.ts'
import { SchemaError } from './document.ts'
import type { Effort } from './effort.ts'

// Its types describe another export than the one that Node and bundlers read.
const RandExp = randexp as unknown as typeof randexp.default

const ESCAPES_AND_CLASSES = /\\.|\[(?:\\.|[^\]\\])*\]/gs
const GROUP_KINDS = /\(\?(?:[:=!]|<[=!]|<[^>]*>)/g
/** A group that is repeated. The time of the engine can then double with each character. */
const REPEATED_GROUP = /\)(?:[*+]|\{\d+,)/
/** The same with a fixed number of repetitions, if some part has several ways to match. */
const FIXED_REPETITION = /\)\{/
const CHOICE = /[|*+?]|\{\d+,/

/** The length of a text of any common format, such as a date with an offset, and the most repetitions of its pattern. */
const FORMAT = { length: 25, ends: 9 }

/**
 * Returns the length up to which the engine tests texts in at most `schemaSteps` ways, as far as the counts of repetitions
 * and of optional parts show; 0 for too many of them.
 */
function longestText(source: string): number {
  const plain = source.replace(ESCAPES_AND_CLASSES, 'c').replace(GROUP_KINDS, '(')
  if (REPEATED_GROUP.test(plain) || (FIXED_REPETITION.test(plain) && CHOICE.test(plain)))
    return LIMITS.schemaRepeatedGroup
  // Each repetition can end at any character, and a pattern without ^ can begin at any.
  const ends = (plain.match(/[*+]|\{\d+,\d*\}/g)?.length ?? 0) + (source.startsWith('^') ? 0 : 1)
  const optionalParts = plain.match(/(?<![*+?}])\?/g)?.length ?? 0
  const steps = LIMITS.schemaSteps >> Math.min(optionalParts, 31)
  if (steps === 0) return 0
  if (ends === 0) return Number.POSITIVE_INFINITY
  const length = wholeRoot(steps, ends)
  return ends <= FORMAT.ends ? Math.max(length, FORMAT.length) : length
}

/** Returns the greatest integer whose power is at most `limit`. Engines may round roots differently. */
function wholeRoot(limit: number, exponent: number): number {
  let [root, tooLarge] = [1, limit + 1]
  while (tooLarge - root > 1) {
    const middle = (root + tooLarge) >> 1
    let power = middle
    for (let n = 1; n < exponent && power <= limit; n++) power *= middle
    if (power <= limit) root = middle
    else tooLarge = middle
  }
  return root
}

/** Characters of the classes of Unicode that patterns name most, as the library for patterns reads them. */
const UNICODE_CLASSES: Readonly<Record<string, string>> = {
  ...{ L: 'A-Za-z', Letter: 'A-Za-z', Alphabetic: 'A-Za-z', Lu: 'A-Z', Uppercase: 'A-Z', Ll: 'a-z', Lowercase: 'a-z' },
  ...{ N: '0-9', Nd: '0-9', P: '!-#', S: '$+', Z: ' ', Zs: ' ', White_Space: ' ' },
}

/** Returns a pattern as the library reads it: ranges in place of classes of Unicode, and escapes of capital hex digits. */
function forGenerator(source: string): string {
  const plain = source
    .replace(/\\u\{0*([\da-f]{1,4})\}/gi, (_, digits: string) => `\\u${digits.padStart(4, '0')}`)
    .replace(/(?<=\\u)[\da-f]{4}|(?<=\\x)[\da-f]{2}/gi, digits => digits.toUpperCase())
  return plain.replace(/\[(?:\\.|[^\]\\])*\]|\\p\{\w+\}|\\./gs, part => {
    const ranges = part.replace(/\\p\{(\w+)\}/g, (unknown, name: string) => UNICODE_CLASSES[name] ?? unknown)
    return ranges === part || part.startsWith('[') ? ranges : `[${ranges}]`
  })
}

/** A pattern of a schema. It is not anchored by default. */
export class Pattern {
  readonly source: string
  readonly #at: string
  readonly #regex: RegExp
  /** Characters of the longest text that is tested. */
  readonly maxLength: number

  /** @throws SchemaError for a pattern that is too long, or is not a regular expression */
  constructor(source: string, at = '') {
    this.source = source
    this.#at = at
    if (source.length > LIMITS.schemaPattern)
      throw new SchemaError(at, `pattern has ${source.length} characters, and at most ${LIMITS.schemaPattern} are read`)
    this.maxLength = longestText(source)
    try {
      this.#regex = new RegExp(source, 'u')
    } catch (error) {
      throw this.#refusal(`is not a regular expression: ${(error as Error).message}`)
    }
  }

  /** @throws SchemaError if texts of this length are not tested */
  requireTested(length: number, why = ''): void {
    if (length > this.maxLength)
      throw this.#refusal(`can take long, so no text of more than ${this.maxLength} characters is tested${why}`)
  }

  /** @throws SchemaError for a text that is too long */
  matches(text: string): boolean {
    this.requireTested(text.length)
    return this.#regex.test(text)
  }

  /**
   * Returns a text that probably matches.
   *
   * @param repeats largest number of repetitions above the minimum, if a part has no maximum
   */
  text(effort: Effort, repeats: number): string {
    if (/(?<!\\)(?:\\\\)*\\[1-9k]/.test(this.source)) throw this.#refusal('has references to groups')
    try {
      const generator = new RandExp(forGenerator(this.source))
      // Its default is ASCII. A pattern of another script names its characters.
      if (/[^\0-\x7f]|\\u/.test(this.source)) generator.defaultRange.add(0xa0, 0xd7ff)
      generator.max = repeats
      generator.randInt = (from, to) => {
        const drawn = from + effort.drawInteger(to - from + 1)
        // It may be a number of repetitions.
        effort.countSteps(drawn >> 3)
        return drawn
      }
      return generator.gen()
    } catch (error) {
      if (error instanceof SchemaError) throw error
      throw this.#refusal(`is not understood: ${(error as Error).message}`)
    }
  }

  #refusal(reason: string): SchemaError {
    return new SchemaError(this.#at, `the pattern ${JSON.stringify(this.source)} ${reason}`)
  }
}
