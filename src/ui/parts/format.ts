/** Texts of times and amounts. Times of the world are ISO 8601 in UTC. */

const DAY = 86_400

/** Returns a duration in at most two units: `2 h 5 min`, `340 ms`. */
export function formatDuration(seconds: number): string {
  if (seconds < 0) return `-${formatDuration(-seconds)}`
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 60) return `${trimmed(seconds, 1)} s`
  const units: readonly (readonly [number, string])[] = [
    [DAY, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ]
  const largest = units.findIndex(([size]) => seconds >= size)
  const [[size, name], next] = [units[largest]!, units[largest + 1]]
  const whole = Math.floor(seconds / size)
  const rest = next === undefined ? 0 : Math.floor((seconds - whole * size) / next[0])
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next![1]}`
}

/** Returns the time of day of an ISO time: `14:05:09`, with milliseconds if it has any. */
export function formatTime(iso: string): string {
  const [, time = ''] = /T([\d:]+(?:\.\d{1,3})?)/.exec(iso) ?? []
  return time.replace(/\.0+$/, '')
}

/** Returns the day of an ISO time: `2026-01-05`. */
export function formatDay(iso: string): string {
  return iso.slice(0, 10)
}

/** Returns seconds between two ISO times. */
export function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000
}

/** Returns a number with at most so many decimals, without trailing zeros. */
export function trimmed(value: number, decimals: number): string {
  return String(Number(value.toFixed(decimals)))
}

/** Returns an amount of money: `$12.40`. Small amounts have four decimals. */
export function formatMoney(dollars: number): string {
  const digits = dollars !== 0 && Math.abs(dollars) < 0.1 ? 4 : 2
  const text = Math.abs(dollars).toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  return `${dollars < 0 ? '-' : ''}$${text}`
}

/** Returns a count with thousands separated: `12,400`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}
