/** Offered load as data: the rate of requests to a deployment, and their size. */

import * as z from 'zod'
import { DAY, formatDuration, type Micros, micros, SECOND } from '../kernel/duration.ts'
import { attempt } from '../lib/errors.ts'
import { LIMITS } from '../lib/limits.ts'
import { formatValue } from '../lib/zod-problems.ts'
import { withExample } from './records/examples.ts'
import { csvRowsOf, isNumber, isRequestTrace, REQUEST_COLUMNS, readRequestTrace } from './request-trace.ts'

/** Shortest period of a wave, a burst or a trace. */
const MIN_PERIOD = SECOND
/**
 * Latest time of a trace. Its seconds count from the start of the world, so a larger number is probably a Unix time.
 */
const MAX_TRACE_LENGTH = LIMITS.traceDays * DAY

const duration = withExample(
  z.string().refine(text => attempt(() => micros(text)) !== undefined, {
    abort: true,
    error: `a duration like '90s', '10m' or '1h30m', at most ${LIMITS.duration} years`,
  }),
  '10m',
)
const rps = z.number().min(0).max(LIMITS.loadRate)
const tokens = z.number().min(1).max(LIMITS.loadTokens)

const sizes = {
  /** Mean length of a prompt in tokens. */
  prompt_tokens: tokens.default(500),
  /** Mean length of an answer in tokens. */
  output_tokens: tokens.default(200),
  /** Variance over mean of the arrivals in 10 s. Default: 1, independent requests. It is optimistic: one service had 70. */
  burstiness: z.number().min(1).max(10_000).optional(),
  /** Squared coefficient of variation of the lengths of prompts. Default: 0. */
  prompt_spread: z.number().min(0).max(10_000).optional(),
  /** Share of the prompt tokens in the prefix cache. Default: `prefix_cache_share` of the profile. */
  cached_share: z.number().min(0).max(1).optional(),
}

/** A constant rate. */
const Constant = z.strictObject({ kind: z.literal('constant'), rps, ...sizes })

/** Rates from a time until the next step. Before the first step the rate is 0, and the last step never ends. */
const Steps = z
  .strictObject({
    kind: z.literal('steps'),
    steps: z.array(z.strictObject({ at: duration, rps })).min(1),
    ...sizes,
  })
  .superRefine(({ steps }, context) => {
    for (let i = 1; i < steps.length; i++) {
      const before = steps[i - 1]!.at
      if (micros(steps[i]!.at) <= micros(before)) {
        addIssue(context, ['steps', i, 'at'], `a time after the step before it, '${before}'`)
      }
    }
  })

/** A daily wave: `high` at `peak_at` of every period, `low` half a period away, a raised cosine between them. */
const Wave = z
  .strictObject({
    kind: z.literal('wave'),
    low: rps,
    high: rps,
    period: duration.default('24h'),
    /** Counted from the start of the world, which by default is midnight UTC. */
    peak_at: duration.default('14h'),
    ...sizes,
  })
  .superRefine(({ low, high, period, peak_at }, context) => {
    if (high < low) addIssue(context, ['high'], `at least low, ${low}`)
    requireAtLeast(context, 'period', period, MIN_PERIOD)
    if (micros(peak_at) > micros(period)) addIssue(context, ['peak_at'], `at most period, '${period}'`)
  })

/** `peak` for `lasts`, once in each period of `every`. Otherwise `base`. */
const Burst = z
  .strictObject({
    kind: z.literal('burst'),
    base: rps,
    peak: rps,
    every: duration,
    lasts: duration,
    /** How far a burst moves within its period. 1: anywhere, by the seed. 0: always in the middle. */
    jitter: z.number().min(0).max(1).default(1),
    ...sizes,
  })
  .superRefine(({ base, peak, every, lasts }, context) => {
    if (peak < base) addIssue(context, ['peak'], `at least base, ${base}`)
    requireAtLeast(context, 'every', every, MIN_PERIOD)
    if (micros(lasts) === 0) addIssue(context, ['lasts'], 'more than no time')
    if (micros(lasts) > micros(every)) addIssue(context, ['lasts'], `at most every, '${every}'`)
  })

/** The rate `from` until `start`, then a straight line to the rate `to` at `end`, which never ends. */
const Ramp = z
  .strictObject({
    kind: z.literal('ramp'),
    from: rps,
    to: rps,
    start: duration.default('0s'),
    end: duration,
    ...sizes,
  })
  .superRefine(({ start, end }, context) => {
    if (micros(end) <= micros(start)) addIssue(context, ['end'], `a time after start, '${start}'`)
  })

/**
 * Rates from CSV (see `parseLoadTrace`), or single requests (see `readRequestTrace`), which replace lengths, burstiness and
 * spread. The rate of a line lasts until the next line, and that of the last line for ever, or until `length` ends. With
 * `repeat` the trace then starts again from its beginning. Without `length` the last line lasts as long as the line before.
 */
const Trace = z
  .strictObject({
    kind: z.literal('trace'),
    /** Path of the CSV below the fixture's folder. The loader of fixtures copies its content to `text`. */
    path: z.string().min(1).optional(),
    text: z.string().optional(),
    repeat: z.boolean().default(false),
    /** The part of the trace that is used: what is left out before it, and how much of it. */
    skip: duration.optional(),
    length: duration.optional(),
    /** Factor on all rates. */
    scale: z.number().positive().max(1e6).optional(),
    ...sizes,
  })
  .superRefine((load, context) => {
    const { path, text, repeat } = load
    if (text === undefined) {
      if (path === undefined) addIssue(context, ['text'], "a trace (or 'path', a file below the fixture's folder)")
      return
    }
    if (path !== undefined) addIssue(context, ['path'], 'none: the load has the text of its trace')
    try {
      const period = tracePeriod(parseLoadTrace(compileLoad(load).text!))
      if (repeat && period < MIN_PERIOD) {
        addIssue(context, ['repeat'], `false for a trace of less than ${formatDuration(MIN_PERIOD)}`)
      }
    } catch (error) {
      const form = isRequestTrace(text) ? 'requests' : "'seconds,requests/s'"
      if (error instanceof RangeError) return addIssue(context, ['text'], `lines of ${form} (${error.message})`)
      if (!(error instanceof LoadTraceError)) throw error
      addIssue(context, ['text'], `lines of 'seconds,requests/s' (line ${error.line}: ${error.reason})`)
    }
  })

/**
 * The load that is offered to a deployment. Times count from the start of the world. Rates are in requests/s.
 *
 * @example OfferedLoad.parse({ kind: 'wave', low: 2, high: 40 }) // peaks at 14:00, 500 tokens in and 200 out
 * @example OfferedLoad.parse({ kind: 'steps', steps: [{ at: '0s', rps: 5 }, { at: '1h', rps: 50 }] })
 */
export const OfferedLoad = z.discriminatedUnion('kind', [Constant, Steps, Wave, Burst, Ramp, Trace])
export type OfferedLoad = z.infer<typeof OfferedLoad>
/** An offered load as a user writes it: defaults may be left out. */
export type OfferedLoadInput = z.input<typeof OfferedLoad>

/** A rate from a time on. */
export interface LoadPoint {
  readonly at: Micros
  readonly rps: number
}

/** An invalid trace. The message names the trace, the line and the remedy. */
export class LoadTraceError extends Error {
  override readonly name = 'LoadTraceError'
  /** Counted from 1. */
  readonly line: number
  readonly reason: string
  /** The remedy. */
  readonly advice: string

  constructor(trace: string | undefined, line: number, reason: string, advice: string) {
    super(`Failed to read the trace${trace === undefined ? '' : ` '${trace}'`}: line ${line}: ${reason}. ${advice}.`)
    this.line = line
    this.reason = reason
    this.advice = advice
  }
}

/**
 * Reads a trace of load: CSV of two columns, seconds since the start of the world and requests/s. A header, empty lines,
 * further columns and quotes are ignored.
 *
 * @param name name of the trace in errors, for example its path
 * @throws LoadTraceError for an empty trace, a missing column, an invalid number, a negative rate, times that do not
 *   increase
 * @example parseLoadTrace('seconds,rps\n0,5\n60,8') // [{ at: 0, rps: 5 }, { at: 60_000_000, rps: 8 }]
 */
export function parseLoadTrace(text: string, name?: string): LoadPoint[] {
  const points: LoadPoint[] = []
  let hasFirstLine = false
  for (const { line, cells } of csvRowsOf(text)) {
    const fail: Fail = (reason, advice) => {
      throw new LoadTraceError(name, line, reason, advice)
    }
    const [seconds = '', rate] = cells
    if (rate === undefined) {
      return fail(`expected 'seconds,requests/s' with a comma, got ${formatValue(seconds)}`, 'Add the missing column')
    }
    const isHeader = !hasFirstLine && !isNumber(seconds) && !isNumber(rate) && seconds !== '' && rate !== ''
    hasFirstLine = true
    if (!isHeader) points.push(parsePoint(seconds, rate, points.at(-1), fail))
  }
  if (points.length === 0) {
    throw new LoadTraceError(name, 1, 'the trace is empty', "Add lines of 'seconds,requests/s'")
  }
  return points
}

/**
 * Returns the period of a trace that repeats. Its last line lasts as long as the line before. The period of a trace of
 * one line is Infinity.
 */
export function tracePeriod(points: readonly LoadPoint[]): Micros {
  const last = points.at(-1)
  const previous = points.at(-2)
  return last === undefined || previous === undefined ? Number.POSITIVE_INFINITY : last.at + (last.at - previous.at)
}

type Fail = (reason: string, advice: string) => never

function parsePoint(seconds: string, rate: string, previous: LoadPoint | undefined, fail: Fail): LoadPoint {
  const expect = (holds: boolean, what: string, got: string, advice = 'Fix that value') => {
    if (!holds) fail(`expected ${what}, got ${got}`, advice)
  }
  const known = `a number of seconds, or before requests a header with ${REQUEST_COLUMNS}`
  expect(isNumber(seconds), known, formatValue(seconds))
  expect(isNumber(rate), 'a number of requests/s', formatValue(rate))
  const at = Math.round(Number(seconds) * SECOND)
  const rps = Number(rate)
  expect(at >= 0, 'seconds of at least 0', seconds)
  expect(
    at <= MAX_TRACE_LENGTH,
    'seconds since the start of the world, at most 10 years',
    seconds,
    "Subtract the first line's from every line's",
  )
  expect(rps >= 0, 'requests/s of at least 0', rate)
  expect(rps <= LIMITS.loadRate, `requests/s of at most ${LIMITS.loadRate}`, rate)
  if (previous !== undefined) {
    const expected = `seconds after the line before, ${previous.at / SECOND}`
    expect(at > previous.at, expected, seconds, 'Put the lines in order of time')
  }
  return { at, rps }
}

/**
 * Returns a load whose trace, if it is one with a text, is rates, cut and scaled.
 *
 * @throws RangeError and LoadTraceError for a trace that cannot be read
 */
export function compileLoad<Load extends OfferedLoad>(load: Load): Load {
  if (load.kind !== 'trace' || load.text === undefined) return load
  const { skip, length: lasts, scale = 1, text, repeat, ...rest } = load
  const start = skip === undefined ? 0 : micros(skip)
  const length = lasts === undefined ? Number.POSITIVE_INFINITY : micros(lasts)
  const cut = { from: start / SECOND, lasts: length / SECOND, isRepeated: repeat }
  const requests = isRequestTrace(text) ? readRequestTrace(text, cut) : undefined
  const rates = parseLoadTrace(requests?.text ?? text)
  const points = requests ? rates : cutRates(rates, start, length, repeat)
  const period = requests || lasts !== undefined ? length : tracePeriod(rates) - start
  if (repeat && period < Number.POSITIVE_INFINITY && period !== tracePeriod(points)) {
    // Repeated, the last line lasts as long as the line before it. So a line halfway to the end sets the period.
    const { at, rps } = points.at(-1)!
    const halfway = Math.min(MAX_TRACE_LENGTH, Math.ceil((at + period) / 2))
    if (halfway > at) points.push({ at: halfway, rps })
  }
  const lines = points.map(({ at, rps: rate }) => `${at / SECOND},${rate * scale}`)
  return { ...rest, repeat, ...requests, text: lines.join('\n') } as unknown as Load
}

/**
 * Returns the points of a span, from its start on. After its end the rate is 0, unless the trace is repeated.
 *
 * @throws RangeError for a span without time, or after the last line
 */
function cutRates(points: readonly LoadPoint[], start: Micros, length: Micros, isRepeated: boolean): LoadPoint[] {
  if (length === 0 || start > points.at(-1)!.at) throw new RangeError('it has no rate in this span')
  const kept = points.filter(({ at }) => at > start && at < start + length)
  kept.unshift({ at: start, rps: points.findLast(({ at }) => at <= start)?.rps ?? 0 })
  if (!isRepeated && length <= MAX_TRACE_LENGTH) kept.push({ at: start + length, rps: 0 })
  return kept.map(({ at, rps }) => ({ at: at - start, rps }))
}

function requireAtLeast(context: z.RefinementCtx, field: string, value: string, minimum: Micros): void {
  if (micros(value) < minimum) addIssue(context, [field], `a duration of at least ${formatDuration(minimum)}`)
}

function addIssue(context: z.RefinementCtx, path: PropertyKey[], message: string): void {
  context.addIssue({ code: 'custom', path, message })
}
