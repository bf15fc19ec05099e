/** The ends of a range of numbers, with both of them in it. Undefined: the range has no such end. */
export interface NumberBounds {
  readonly min: number | undefined
  readonly max: number | undefined
}

/** Returns the ends of a range that is a text, as `3..20`, `3..` or `..20`; undefined for another text. */
export function parseRange(text: string): NumberBounds | undefined {
  const [, min, max] = /^(-?\d+(?:\.\d+)?)?\.\.(-?\d+(?:\.\d+)?)?$/.exec(text) ?? []
  if (min === undefined && max === undefined) return undefined
  return { min: min === undefined ? min : Number(min), max: max === undefined ? max : Number(max) }
}

/** Returns whether a number is in a range, its ends included. */
export function isInRange(value: number, { min = value, max = value }: NumberBounds): boolean {
  return min <= value && value <= max
}

/** Returns whether a value has a range without a number in it, as `20..3`. */
export function hasEmptyRange(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasEmptyRange)
  const { min, max } = (typeof value === 'string' && parseRange(value)) || {}
  return min !== undefined && max !== undefined && max < min
}
