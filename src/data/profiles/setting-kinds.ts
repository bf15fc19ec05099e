/**
 * The kinds of profile settings: a time, a rate, a share, a distribution. Each kind reads, checks and merges its
 * values.
 */
import * as z from 'zod'
import { formatDuration, type Micros, micros } from '../../kernel/duration.ts'
import { attempt } from '../../lib/errors.ts'
import { isRecord } from '../../lib/json-text.ts'
import { type Problem, problemsOf, WITHOUT_JIT } from '../../lib/zod-problems.ts'
import { type Distribution, NO_CAP } from './distribution.ts'

/** How a setting is written (`In`), and the value for the simulation (`Out`). */
export interface SettingKind<In, Out> {
  /** Returns the form that a value has. */
  readonly schemaFor: (raw: unknown) => z.ZodType
  /** Merges the value of a profile into the value of the profile that it extends. */
  readonly merge: (base: unknown, raw: unknown) => unknown
  /** Never set: it carries the types. */
  readonly types?: { in: In; out: Out }
}

/** Reads a value. The paths of problems are relative to it. */
export function readSetting<Out>(
  kind: SettingKind<unknown, Out>,
  raw: unknown,
): { readonly value: Out } | { readonly problems: readonly Problem[] } {
  const schema = kind.schemaFor(raw)
  const result = schema.safeParse(raw, WITHOUT_JIT)
  if (result.success) return { value: result.data as Out }
  const problems = result.error.issues.flatMap(issue => {
    const text = issue.code === 'custom' ? (issue.params?.text as string | undefined) : undefined
    return text === undefined
      ? problemsOf(unwrapPipe(schema), raw, new z.ZodError([issue]))
      : [{ path: issue.path, text }]
  })
  return { problems }
}

/** Returns the schema without its transforms, which knows the names of the fields. */
function unwrapPipe(schema: z.ZodType): z.ZodType {
  let inner = schema
  while (inner instanceof z.ZodPipe) inner = inner.in as z.ZodType
  return inner
}

/** A unit in which values are written. */
interface Unit {
  readonly format: (value: number) => string
  readonly schema: z.ZodType<number>
}

const TIME: Unit = createUnit({
  words: "a duration like '500ms', '90s', '1h30m' or '7d'",
  read: raw => (typeof raw === 'string' ? attempt(() => micros(raw)) : undefined),
  show: formatDuration,
})
const PERIOD: Unit = createUnit({
  words: "a duration of more than 0, like '500ms', '90s' or '24h'",
  read: raw => positiveOrUndefined(typeof raw === 'string' ? attempt(() => micros(raw)) : undefined),
  show: formatDuration,
})
const RATE: Unit = createUnit({
  words: "a rate of more than 0, like '800MB/s', or a number of bytes per second",
  read: raw => positiveOrUndefined(typeof raw === 'string' ? parseBytes(raw, '/s') : raw),
  show: value => `${value / 1e6}MB/s`,
})
const BYTES: Unit = createUnit({
  words: "a size like '500MB', '2TB' or '1GiB', or a whole number of bytes",
  read: raw => {
    const bytes = typeof raw === 'string' ? parseBytes(raw, '') : raw
    return typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined
  },
  show: value => `${value / 1e6}MB`,
})
const FACTOR: Unit = createUnit({
  words: 'a number of at least 1',
  read: raw => (typeof raw === 'number' && raw >= 1 && Number.isFinite(raw) ? raw : undefined),
  show: String,
})

const share = z.number().min(0).max(1)
/** The bound of prices, rates per hour and factors, the same as that of the command `price.set`. */
const MAX_AMOUNT = 1_000_000_000

/** A duration, 0 included. */
export const duration = plainKind<string, Micros>(TIME.schema)
/** A duration above 0. */
export const period = plainKind<string, Micros>(PERIOD.schema)
export const durations = plainKind<readonly string[], readonly Micros[]>(z.array(TIME.schema))
export const rate = plainKind<string | number, number>(RATE.schema)
export const bytes = plainKind<string | number, number>(BYTES.schema)
export const factor = plainKind<number, number>(FACTOR.schema)
/** From 0 to 1: a part of a whole, or a probability. */
export const portion = plainKind<number, number>(share)
export const portionAboveZero = plainKind<number, number>(z.number().positive().max(1))
export const amount = plainKind<number, number>(z.number().min(0).max(MAX_AMOUNT))
export const amountAboveZero = plainKind<number, number>(z.number().positive().max(MAX_AMOUNT))
export const count = plainKind<number, number>(z.int().min(0))
export const countFromOne = plainKind<number, number>(z.int().min(1))
export const countOrNull = plainKind<number | null, number | null>(z.int().min(0).nullable())
export const yesOrNo = plainKind<boolean, boolean>(z.boolean())
export const word = plainKind<string, string>(z.string().min(1))

const ACCEPT_AS = 'accept_as:'
/** `refuse`, or the model that answers for others: `accept_as:acme/chat` is `acme/chat`, and `refuse` is null. */
export const acceptAs = plainKind<string, string | null>(
  z
    .string()
    .regex(/^(?:refuse|accept_as:\S+)$/, "'refuse', or a model as in 'accept_as:acme/chat'")
    .transform(text => (text === 'refuse' ? null : text.slice(ACCEPT_AS.length))),
)

/** The distribution of a time: constant, lognormal, exponential or uniform. */
export const timeDistribution = spread<string>(TIME, true)
/** The distribution of a rate. Not exponential, because a download at a rate near 0 would never end. */
export const rateDistribution = spread<string | number>(RATE, false)
/** The distribution of a factor of at least 1. */
export const factorDistribution = spread<number>(FACTOR, false)

/** The start of an engine: lognormal around `median` + the layers of the model × the time of a layer. */
export const warmUp = objectKind<
  { median?: string; trace?: string; compile?: string; cached?: string; graphs?: string; sigma?: number },
  Readonly<Record<'median' | 'trace' | 'compile' | 'cached' | 'graphs', Micros>> & { readonly sigma: number }
>(
  z.strictObject({
    ...{ median: TIME.schema, trace: TIME.schema, compile: TIME.schema, cached: TIME.schema, graphs: TIME.schema },
    sigma: z.number().min(0).max(5),
  }),
)

/** One of these words. */
export function oneOf<const Word extends string>(words: readonly Word[]): SettingKind<Word, Word> {
  return plainKind<Word, Word>(z.enum(words))
}

/** Shares by name, with a sum of 1. */
export function shares<const Name extends string>(
  names: readonly Name[],
): SettingKind<Readonly<Record<Name, number>>, Readonly<Record<Name, number>>> {
  const shape = Object.fromEntries(names.map(each => [each, share]))
  return objectKind(
    z.strictObject(shape).check(({ value, issues }) => {
      const sum = Object.values(value).reduce((total, each) => total + each, 0)
      if (Math.abs(sum - 1) <= 1e-9) return
      const text = `expected shares with a sum of 1, got a sum of ${Number(sum.toFixed(9))}. Fix one of them.`
      issues.push({ code: 'custom', input: value, params: { text } })
    }),
  )
}

/** Counts of GPU error codes. Reads `{ "79": 74 }` as `[{ xid: 79, count: 74 }]`, in the order of the codes. */
export const errorCounts: SettingKind<
  Readonly<Record<string, number>>,
  readonly { readonly xid: number; readonly count: number }[]
> = plainKind(
  z
    .record(z.string().regex(/^[1-9]\d{0,2}$/, "an error code like '79'"), z.number().min(0))
    .check(({ value, issues }) => {
      if (Object.values(value).some(each => each > 0)) return
      const text = 'expected at least one code with a count above 0. Add one.'
      issues.push({ code: 'custom', input: value, params: { text } })
    })
    .transform(counts => Object.entries(counts).map(([xid, times]) => ({ xid: Number(xid), count: times }))),
)

function plainKind<In, Out>(schema: z.ZodType): SettingKind<In, Out> {
  return { schemaFor: () => schema, merge: (_, raw) => raw }
}

/** A setting of several fields. A profile that extends another one may name some of them. */
function objectKind<In, Out>(schema: z.ZodType): SettingKind<In, Out> {
  return {
    ...plainKind(schema),
    merge: (base, raw) => (isRecord(base) && isRecord(raw) ? { ...base, ...raw } : raw),
  }
}

/** A profile may name one field of a distribution and inherit the others. */
type DistributionInput<Amount> =
  | Amount
  | { median?: Amount; sigma?: number; cap?: Amount }
  | { mean?: Amount; cap?: Amount }
  | { min?: Amount; max?: Amount }

function spread<Amount>(of: Unit, exponential: boolean): SettingKind<DistributionInput<Amount>, Distribution> {
  const { schema: value, format: show } = of
  const constant = value.transform(median => ({ median, sigma: 0, cap: median }))
  const lognormal = z
    .strictObject({ median: value, sigma: z.number().min(0).max(5), cap: value.optional() })
    .transform(({ median, sigma, cap }) => ({ median, sigma, cap: cap ?? NO_CAP }))
    .check(({ value: { median, cap }, issues }) => {
      if (cap >= median) return
      const text =
        `expected at least the median of ${show(median)}, got ${show(cap)}: a cap below the median would cut most ` +
        'draws. Raise it, or lower the median.'
      issues.push({ code: 'custom', input: cap, path: ['cap'], params: { text } })
    })
  const byMean = z
    .strictObject({ mean: value, cap: value.optional() })
    .transform(({ mean, cap }) => ({ mean, cap: cap ?? NO_CAP }))
    .check(({ value: { mean, cap }, issues }) => {
      if (cap >= mean) return
      const text = `expected at least the mean of ${show(mean)}, got ${show(cap)}: a cap below the mean would move the mean. Raise it, or lower the mean.`
      issues.push({ code: 'custom', input: cap, path: ['cap'], params: { text } })
    })
  const uniform = z.strictObject({ min: value, max: value }).check(({ value: { min, max }, issues }) => {
    if (max >= min) return
    const text = `expected at least the min of ${show(min)}, got ${show(max)}: the range is empty. Swap them.`
    issues.push({ code: 'custom', input: max, path: ['max'], params: { text } })
  })
  const shape = (raw: Readonly<Record<string, unknown>>): z.ZodType | undefined => {
    if (exponential && 'mean' in raw) return byMean
    if ('min' in raw || 'max' in raw) return uniform
    return 'median' in raw || 'sigma' in raw ? lognormal : undefined
  }
  return {
    schemaFor: raw => (isRecord(raw) ? (shape(raw) ?? lognormal) : constant),
    merge: (base, raw) => {
      if (!isRecord(base) || !isRecord(raw)) return raw
      const wanted = shape(raw)
      return wanted === undefined || wanted === shape(base) ? { ...base, ...raw } : raw
    },
  }
}

function createUnit(of: {
  words: string
  read: (raw: unknown) => number | undefined
  show: (value: number) => string
}): Unit {
  const schema = z.unknown().transform((raw, context): number => {
    const value = of.read(raw)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: of.words, input: raw })
    return z.NEVER
  })
  return { format: of.show, schema }
}

const BYTE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 1024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
  TiB: 1_099_511_627_776,
}

function parseBytes(text: string, suffix: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?([KMGT]i?B|B)(\/s)?$/.exec(text.trim())
  if (match === null || (match[3] ?? '') !== suffix) return undefined
  return Math.round(Number(match[1]) * BYTE_UNITS[match[2]!]!)
}

function positiveOrUndefined(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : undefined
}
