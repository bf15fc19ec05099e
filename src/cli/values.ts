/** Reads the values of flags from their texts. */

import { type Micros, micros } from '../kernel/duration.ts'
import { LIMITS } from '../lib/limits.ts'
import { isIntegerText, isNumberText } from '../lib/text/numbers.ts'
import { UsageError, unknownChoice } from './command.ts'

/** The value of a flag and its source, so that an error names the place to fix. */
interface FlagValue {
  readonly text: string
  /** The flag, the environment variable, or the field of the configuration file. */
  readonly name: string
  /** Returns how to give a value there, as in `--port 4010`. */
  example(value: string | number): string
}

/** The value of a flag from the environment or from the configuration file. Prints as its text, for the help. */
export class OuterValue implements FlagValue {
  readonly text: string
  /** The variable, or the field and its file. */
  readonly name: string
  readonly example: FlagValue['example']

  constructor(text: string, name: string, example: FlagValue['example']) {
    this.text = text
    this.name = name
    this.example = example
  }

  toJSON(): string {
    return this.text
  }

  toString(): string {
    return this.text
  }
}

/** Reads what is given for a flag. The flag has this name. */
export type Read<Value> = (given: unknown, flag: string) => Value

/** Returns a reader of a flag that is given once. `fail` refuses its text: it gets the reason, and what to do. */
function once<Value>(read: (value: FlagValue, fail: (reason: string) => never) => Value): Read<Value> {
  return (given, flag) => {
    if (Array.isArray(given)) {
      throw new UsageError(`Failed to read --${flag}: it is given ${given.length} times. Give it once.`)
    }
    const value =
      given instanceof OuterValue
        ? given
        : { text: String(given), name: `--${flag}`, example: (value: string | number) => `--${flag} ${value}` }
    return read(value, reason => {
      throw new UsageError(`Failed to read ${value.name} '${value.text}': ${reason}`)
    })
  }
}

const EMPTY = 'it is empty. Give a value, or leave it out.'

/** Reads any text except an empty one. */
export const filledText = nonEmpty(EMPTY)

/** Reads an integer between two bounds. */
export function integer({ min, max }: { min: number; max: number }, shown: number) {
  return once(({ text, example }, fail) => {
    const value = isIntegerText(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    const reason = Number.isNaN(value) ? 'not an integer' : value < min ? 'too small' : 'too large'
    return fail(`${reason}. Give an integer from ${min} to ${max}, as in ${example(shown)}.`)
  })
}

/** Reads a number above 0. */
export function positive(max: number, shown: number) {
  return once(({ text, example }, fail) => {
    const value = isNumberText(text) ? Number(text) : Number.NaN
    if (value > 0 && value <= max) return value
    return fail(`give a number above 0 and up to ${max}, as in ${example(shown)}.`)
  })
}

/** Reads one of some words. */
export function word<const Word extends string>(words: readonly Word[]): Read<Word> {
  return once(({ text, name }) => {
    const known = words.find(one => one === text)
    if (known !== undefined) return known
    throw new UsageError(unknownChoice(name, text, words))
  })
}

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }

/** Reads seeds: ranges and single seeds, as in `1..200` or `1,7,north`. */
export const seedList = once(({ text, example }, fail) => {
  const seeds = text.split(',').flatMap(part => {
    const [, from, to] = /^(\d{1,15})\.\.(\d{1,15})$/.exec(part.trim()) ?? []
    if (from === undefined) return [part.trim()]
    const count = Number(to) - Number(from) + 1
    return count < 1 || count > LIMITS.seeds ? [''] : Array.from({ length: count }, (_, i) => String(Number(from) + i))
  })
  if (!seeds.includes('') && seeds.length <= LIMITS.seeds) return [...new Set(seeds)]
  return fail(`not a list of up to ${LIMITS.seeds} seeds. Give a range or single seeds, as in ${example('1..200')}.`)
})

/** Reads a number of bytes: `1048576`, `512MiB`, `1g`; units are powers of 1,024. */
export const byteCount = once(({ text, example }, fail) => {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?$/i.exec(text.trim()) ?? []
  const value = Math.floor(Number(digits) * (UNITS[unit?.toLowerCase() ?? ''] ?? Number.NaN))
  return value >= 1 && value <= 2 ** 40 ? value : fail(`invalid size. Give bytes, as in ${example('512MiB')}.`)
})

/** Reads a duration of at least one microsecond, as microseconds. */
export function duration(shown: string): Read<Micros> {
  return once(({ text, example }, fail) => {
    let value = 0
    try {
      value = micros(text)
    } catch (error) {
      fail((error as Error).message.replace(/^.*?": /, ''))
    }
    return value > 0 ? value : fail(`it must be longer than 0. Give a duration, as in ${example(shown)}.`)
  })
}

/**
 * Reads any text except an empty one, which is what a shell makes of an unset variable.
 *
 * @param reason of the error, and what to do
 */
export function nonEmpty(reason: string) {
  return once(({ text }, fail) => (text.trim() === '' ? fail(reason) : text))
}

/** Reads a seed. */
export const seed = nonEmpty('the seed is empty. Give one, as in 7, or leave it out.')

/** Reads an origin of pages: `*`, or scheme and host as in `http://localhost:5173`. */
export const origin = once(({ text, example }, fail) => {
  if (text === '') return fail(EMPTY)
  if (text === '*' || /^https?:\/\/[^\s/?#@]+$/i.test(text)) return text
  return fail(`it is not an origin. Give scheme and host, as in ${example('http://localhost:5173')}, or '*'.`)
})

/** Reads texts: the flag may be repeated, and each value may hold several texts with commas. */
export function texts(given: unknown, flag: string): string[] {
  // The configuration file can have an empty list.
  const isEmptyList = (one: unknown) => one instanceof OuterValue && one.text === ''
  return [given].flat().flatMap(one => (isEmptyList(one) ? [] : listOfTexts(one, flag)))
}

const listOfTexts = once(({ text }, fail) => {
  const listed = text.split(',').map(one => one.trim())
  const filled = listed.filter(one => one !== '')
  return filled.length > 0 ? filled : fail(EMPTY)
})
