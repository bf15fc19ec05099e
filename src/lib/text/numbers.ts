/**
 * Returns a non-negative integer with commas between its thousands, as in `16,000`.
 *
 * The first `toLocaleString('en')` of a process takes 10 ms, because it loads the formats of all languages.
 */
export function formatCount(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Returns a count with its thing: `1 run`, `20,000 runs`. */
export function plural(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? '' : 's'}`
}

/** Returns a time from a year on in years, as in `2.3 years`; undefined for a shorter one. */
export function formatYears(years: number): string | undefined {
  if (years < 1) return undefined
  if (years > 100) return 'more than 100 years'
  return years < 1.05 ? '1 year' : `${Number(years.toFixed(1))} years`
}

/** What the speed of an engine is, and how sure that is. */
interface EngineSpeed {
  readonly class: string
  readonly tokens_per_second: number
  readonly band: number | null
  readonly rows: number
}

/** Returns a speed in words: `2,900 tokens/s ± 20 %, tuned, validated on 297 rows`. */
export function formatSpeed({ class: engineClass, tokens_per_second, band, rows }: EngineSpeed): string {
  const speed = `${formatCount(Math.round(tokens_per_second))} tokens/s`
  if (band === null) return `${speed}, not validated, ${engineClass}`
  return `${speed} ± ${Math.round(100 * band)} %, ${engineClass}, validated on ${rows === 0 ? 'held-out' : rows} rows`
}

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
