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
