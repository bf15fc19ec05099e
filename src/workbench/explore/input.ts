/** Inputs of flows: what a client is asked to do. Values are made of choices, so they are drawn and shrunk as plans are. */

import { quote } from '../../lib/quote.ts'
import type { Choices } from './plan/choices.ts'

/** The values that an input of a flow can have. Each is made of choices, whose first option is the simplest. */
export interface Input<Value = unknown> {
  /** Makes a value. Labels of its choices begin with the name of the input. */
  choose(choices: Choices, name: string): Value
  /** Returns what a value has to be, if this one is not; undefined if it is valid. */
  problemOf(value: unknown): string | undefined
}

/** The inputs of a flow by name. */
export type InputDeclarations = Readonly<Record<string, Input>>

/** Values of inputs by name, as JSON has them. */
export type InputValues = Readonly<Record<string, unknown>>

/** What a flow gets for its declared inputs. */
export type ValuesOf<Declared> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Input<infer Value> ? Value : never
}

/** The greatest number of options of a choice. */
const MAX_SPAN = 2 ** 31
/** The greatest number of characters or elements. */
const MAX_LENGTH = 10_000

/**
 * Declares an input that is an integer. The simplest value is the least one.
 *
 * @throws RangeError if a bound is not an integer, or the bounds are exchanged or too far apart
 * @example flow('batch', { inputs: { lines: integers(1, 500) } }, async ({ inputs }) => submit(inputs.lines))
 */
export function integers(min: number, max: number): Input<number> {
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || min > max || max - min >= MAX_SPAN) {
    throw new RangeError(
      `Failed to declare an input: integers(${min}, ${max}) is invalid. Give the least and the greatest integer, as in integers(1, 500).`,
    )
  }
  return {
    choose: (choices, name) => min + choices.pickNumber(name, max - min + 1),
    problemOf: value =>
      Number.isInteger(value) && (value as number) >= min && (value as number) <= max
        ? undefined
        : `an integer from ${min} to ${max}`,
  }
}

/**
 * Declares an input that is one of some values. The simplest value is the first one.
 *
 * @throws RangeError without a value, and for a value that JSON does not have
 */
export function oneOf<const Values extends readonly unknown[]>(...values: Values): Input<Values[number]> {
  const texts = values.map(value => JSON.stringify(value) as string | undefined)
  const odd = values.find((_, i) => texts[i] === undefined)
  if (values.length === 0 || texts.includes(undefined)) {
    const found = values.length === 0 ? 'it has no value' : `${quote(odd)} is not a value of JSON`
    throw new RangeError(
      `Failed to declare an input: oneOf is invalid, because ${found}. Give texts, numbers, lists or objects.`,
    )
  }
  return {
    choose: (choices, name) => choices.pick(name, values),
    problemOf: value => (texts.includes(JSON.stringify(value)) ? undefined : `one of ${texts.join(', ')}`),
  }
}

/** Plain characters first, then those that programs often treat wrongly. */
const CHARACTERS = [...'abcdefgh0123456789 _-./', ...'"\'\\<>&%{}$\n\t', 'é', 'ß', '中', '🙂', '\u202e']

/**
 * Declares an input that is a text of plain and of awkward characters. The simplest value is the shortest one.
 *
 * @throws RangeError for an invalid length
 */
export function texts({ min = 0, max = 20 }: LengthOptions = {}): Input<string> {
  assertLength('texts', min, max)
  return {
    choose: (choices, name) => {
      const length = min + choices.pickNumber(`${name} length`, max - min + 1)
      return Array.from({ length }, (_, i) => choices.pick(`${name} ${i}`, CHARACTERS)).join('')
    },
    problemOf: value =>
      typeof value === 'string' && isBetween([...value].length, min, max)
        ? undefined
        : `a text of ${min} to ${max} characters`,
  }
}

/**
 * Declares an input that is a list. The simplest value is the shortest one, with the simplest elements.
 *
 * @throws RangeError for an invalid length
 */
export function lists<Element>(of: Input<Element>, { min = 0, max = 10 }: LengthOptions = {}): Input<Element[]> {
  assertLength('lists', min, max)
  if (!isInput(of)) {
    throw new RangeError(
      'Failed to declare an input: lists has no elements. Give an input, as in lists(integers(1, 9)).',
    )
  }
  return {
    choose: (choices, name) => {
      const length = min + choices.pickNumber(`${name} length`, max - min + 1)
      return Array.from({ length }, (_, i) => of.choose(choices, `${name} ${i}`))
    },
    problemOf: value => {
      if (!Array.isArray(value) || !isBetween(value.length, min, max)) return `a list of ${min} to ${max} elements`
      const problem = value.map(element => of.problemOf(element)).find(text => text !== undefined)
      return problem === undefined ? undefined : `a list in which each element is ${problem}`
    },
  }
}

/** Bounds of the length of a text or a list. */
export interface LengthOptions {
  /** Default: 0. */
  readonly min?: number
  /** Default: 20 characters, or 10 elements. */
  readonly max?: number
}

/** Returns whether a value declares an input. */
export function isInput(value: unknown): value is Input {
  const { choose, problemOf } = (value ?? {}) as Partial<Input>
  return typeof choose === 'function' && typeof problemOf === 'function'
}

function assertLength(name: string, min: number, max: number): void {
  const isValid = Number.isInteger(min) && Number.isInteger(max) && min >= 0 && min <= max && max <= MAX_LENGTH
  if (isValid) return
  throw new RangeError(
    `Failed to declare an input: ${name} with min ${min} and max ${max} is invalid. Give integers from 0 to ${MAX_LENGTH}, as in { min: 1, max: 20 }.`,
  )
}

function isBetween(length: number, min: number, max: number): boolean {
  return length >= min && length <= max
}
