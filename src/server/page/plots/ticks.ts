/** Values at which an axis has a tick, and their labels. All are pure functions of the range. */

/** A place on an axis. */
export interface Tick {
  readonly at: number
  readonly label: string
}

const SECOND = 1
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Lengths between ticks of time in seconds. Longer ones are months. */
export const TIME_STEPS = [
  ...[SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND],
  ...[MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  ...[HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR],
  ...[DAY, 2 * DAY, 7 * DAY, 14 * DAY],
]
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
/** Month steps, up to a century. */
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120, 240]

/**
 * Returns ticks from 0 up to the first round value that is not below `max`.
 *
 * @param max the highest value; 0 or more
 * @param count about how many ticks are wanted
 */
export function linearTicks(max: number, count: number): Tick[] {
  const top = max > 0 && Number.isFinite(max) ? max : 1
  const step = roundStep(top / count)
  const ticks = Math.max(1, Math.ceil(top / step - 1e-9))
  return Array.from({ length: ticks + 1 }, (_, i) => ({
    at: i * step,
    label: formatTick(i * step, step, ticks * step),
  }))
}

/** Returns the power of ten of the first digit of a value above 0. Unlike `Math.log10`, it is equal in every engine. */
function exponentOf(value: number): number {
  const text = value.toExponential()
  return Number(text.slice(text.indexOf('e') + 1))
}

/** Returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is not below a value. */
function roundStep(value: number): number {
  const power = 10 ** exponentOf(value)
  for (const factor of [1, 2, 2.5, 5]) if (factor * power >= value * (1 - 1e-9)) return factor * power
  return 10 * power
}

/**
 * Returns ticks of a logarithmic axis: 1, 2 and 5 times powers of ten, or powers alone where there are many. The first
 * is not above `min`, and the last is not below `max`. Both are above 0.
 */
export function logTicks(min: number, max: number): Tick[] {
  const [first, last] = [exponentOf(min), exponentOf(max)]
  const factors = last - first > 2 ? [1] : [1, 2, 5]
  const all: number[] = []
  for (let power = first; power <= last + 1; power++) {
    for (const factor of factors) all.push(Number((factor * 10 ** power).toPrecision(1)))
  }
  const start = Math.max(
    0,
    all.findLastIndex(at => at <= min),
  )
  const end = all.findIndex(at => at >= max)
  // A single value still needs a range.
  return all.slice(start, Math.max(end, start + 1) + 1).map(at => ({ at, label: formatTick(at, at, at) }))
}

/** Returns ticks at round times in UTC between two Unix seconds, at most `most` of them. */
export function timeTicks(from: number, to: number, most: number): Tick[] {
  const length = Math.max(to - from, SECOND)
  const step = TIME_STEPS.find(one => length / one <= most)
  if (step === undefined) return monthTicks(from, to, most)
  // Weeks begin on a Monday, and the epoch of Unix was a Thursday.
  const offset = step % (7 * DAY) === 0 ? 4 * DAY : 0
  const ticks: Tick[] = []
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= to; at += step) {
    ticks.push({ at, label: formatTime(at, step) })
  }
  return ticks
}

function monthTicks(from: number, to: number, most: number): Tick[] {
  const months = (to - from) / (30.4 * DAY)
  const step = MONTH_STEPS.find(one => months / one <= most) ?? MONTH_STEPS.at(-1)!
  const start = new Date(from * 1000)
  const first = Math.floor((start.getUTCFullYear() * 12 + start.getUTCMonth()) / step) * step
  const ticks: Tick[] = []
  for (let month = first; ; month += step) {
    const [year, name] = [Math.floor(month / 12), MONTHS[month % 12]!]
    const at = Date.UTC(year, month % 12, 1) / 1000
    if (at > to) return ticks
    if (at >= from) ticks.push({ at, label: name === 'Jan' ? String(year) : name })
  }
}

function formatTime(at: number, step: number): string {
  const date = new Date(at * 1000)
  if (at % DAY === 0) return `${MONTHS[date.getUTCMonth()]} ${date.getUTCDate()}`
  return date.toISOString().slice(11, step < MINUTE ? 19 : 16)
}

const SUFFIXES = ['', 'k', 'M', 'G', 'T', 'P']

/** Formats a value of an axis: `0.05`, `250`, `12.5k`, `3M`. Values of one axis have the suffix of its largest. */
function formatTick(value: number, step: number, largest: number): string {
  if (value === 0) return '0'
  const thousands = largest >= 10_000 ? Math.min(SUFFIXES.length - 1, Math.floor(exponentOf(largest) / 3)) : 0
  const unit = 1000 ** thousands
  const decimals = Math.max(0, Math.min(20, 1 - exponentOf(step / unit)))
  const text = (value / unit).toFixed(decimals)
  return `${decimals > 0 ? text.replace(/\.?0+$/, '') : text}${SUFFIXES[thousands]}`
}

/** Formats a figure with commas and fixed decimals, as in `1,234.50`. */
export function formatFigure(value: number, decimals: number): string {
  const [whole, fraction] = Math.abs(value).toFixed(decimals).split('.') as [string, string | undefined]
  const text = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',') + (fraction === undefined ? '' : `.${fraction}`)
  return value < 0 && /[1-9]/.test(text) ? `-${text}` : text
}
