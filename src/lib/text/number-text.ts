/**
 * The longest text that is read as a number. Without a bound, a pattern that repeats overflows the stack for a text of
 * megabytes, in a process that has compiled so many patterns that V8 stops to optimize them.
 */
export const MAX_NUMBER_LENGTH = 4_300

/** Tells whether a text is a whole number in decimal digits, with a sign or without. */
export function isIntegerText(text: string): boolean {
  return text.length <= MAX_NUMBER_LENGTH && /^[+-]?\d+$/.test(text)
}

/** Tells whether a text is a number in decimal digits, with a sign and a fraction or without. */
export function isNumberText(text: string): boolean {
  return text.length <= MAX_NUMBER_LENGTH && /^[+-]?\d+(?:\.\d+)?$/.test(text)
}
