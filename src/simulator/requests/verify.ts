/** Verifies what a client sent: `sim.verify`, `POST /_sim/verify`, and the matcher `toHaveReceived`. */
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { LIMITS } from '../../lib/limits.ts'
import { once } from '../../lib/once.ts'
import { quote } from '../../lib/quote.ts'
import { formatCount } from '../../lib/text/numbers.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { Simulator } from '../simulator-interface.ts'
import { assertWhole, compileWindow, type RequestWindow, WINDOW_FIELDS } from './find.ts'
import {
  type CompiledPattern,
  compilePattern,
  formatDifference,
  PATTERN_FIELDS,
  type RequestPattern,
} from './pattern.ts'
import { hideSecretsIn } from './secrets.ts'

/** Which requests a client has to send, and how many. Without a count: at least one. */
export interface RequestExpectation extends RequestPattern {
  readonly exactly?: number | undefined
  readonly atLeast?: number | undefined
  readonly atMost?: number | undefined
  /** True: no such request. The same as `exactly: 0`. */
  readonly none?: boolean | undefined
}

export interface VerifyOptions extends RequestWindow {
  /** Whether the requests have to come in the order of the expectations. Others may come between them. */
  readonly inOrder?: boolean | undefined
}

/** The outcome of one expectation. */
export interface VerifiedExpectation {
  readonly ok: boolean
  /** The requests that are meant, as in `createLlmDeployment with status 429`. */
  readonly requests: string
  /** As in `exactly 2`, `at least 1`, `none`. */
  readonly expected: string
  /** How many requests match. */
  readonly found: number
  /** Positions of the newest matching requests in the journal, oldest first: at most 10. */
  readonly matching: readonly number[]
  /** The closest requests that do not match, closest first: at most 3, and only if requests are missing. */
  readonly near: readonly NearMiss[]
  /** What is wrong, in one or two sentences; `''` if nothing is. */
  readonly problem: string
}

/** The outcome of a verification. */
export interface Verification {
  readonly ok: boolean
  readonly results: readonly VerifiedExpectation[]
  /** What is wrong, with near misses, for people; `''` if nothing is. */
  readonly message: string
  /** How many requests were compared. */
  readonly compared: number
  /** How many older requests are no longer kept. */
  readonly dropped: number
}

const COUNT_FIELDS = ['exactly', 'atLeast', 'atMost', 'none'] as const satisfies readonly (keyof RequestExpectation)[]
const EXPECTATION_FIELDS = [...PATTERN_FIELDS, ...COUNT_FIELDS]
const OPTION_FIELDS = [...WINDOW_FIELDS, 'inOrder'] as const satisfies readonly (keyof VerifyOptions)[]
const CONTEXT = 'Failed to verify requests'

/** How many requests are expected. */
interface Count {
  readonly min: number
  readonly max: number
  readonly words: string
}

interface CompiledExpectation {
  readonly pattern: CompiledPattern
  readonly count: Count
  readonly source: RequestExpectation
}

/**
 * Compares the received requests with expectations. It changes nothing.
 *
 * @throws RangeError for an invalid expectation: an unknown field, operation, status or token, or contradictory counts
 * @example verifyRequests(sim, { operation: 'createLlmDeployment', exactly: 1 }).ok
 */
export function verifyRequests(
  sim: Simulator,
  expected: RequestExpectation | readonly RequestExpectation[],
  options: VerifyOptions = {},
): Verification {
  const list = Array.isArray(expected) ? (expected as readonly RequestExpectation[]) : [expected as RequestExpectation]
  assertKnownKeys(options, OPTION_FIELDS, CONTEXT)
  if (list.length === 0) throw new RangeError(`${CONTEXT}: nothing is expected. Give at least one expectation.`)
  if (list.length > LIMITS.expectations) {
    const most = formatCount(LIMITS.expectations)
    throw new RangeError(`${CONTEXT}: ${formatCount(list.length)} expectations, and ${most} are the most. Split them.`)
  }
  const expectations = list.map((source, i) => compileExpectation(sim, source, list.length === 1 ? '' : ` ${i + 1}`))
  const { inOrder = false, ...window } = options
  if (inOrder) assertOrdered(expectations)
  const isWithin = compileWindow(sim, window, CONTEXT)
  const requests = sim.requests.filter(isWithin)
  const lost = window.from !== undefined && isWholeSince(sim, isWithin) ? 0 : sim.requestLog.dropped
  const hasWindow = window.from !== undefined || window.to !== undefined
  const numbers = once(() => sim.requestLog.numbers)
  const results = inOrder
    ? verifyOrder(expectations, requests, lost, numbers)
    : expectations.map(one => {
        const total = lost > 0 && !hasWindow ? countOf(sim, one) : undefined
        return verifyCount(one, requests, total === undefined ? lost : 0, total)
      })
  const failed = results.filter(({ ok }) => !ok)
  return hideSecretsIn(sim, {
    ok: failed.length === 0,
    results,
    message: failed.map(one => formatFailure(one, numbers)).join('\n'),
    compared: requests.length,
    dropped: sim.requestLog.dropped,
  })
}

/** Returns whether the oldest kept request is older than the window, so that nothing of the window is missing. */
function isWholeSince(sim: Simulator, isWithin: (request: ReceivedRequest) => boolean): boolean {
  const [oldest] = sim.requests
  return oldest !== undefined && !isWithin(oldest)
}

/** The fields of a pattern whose requests are counted for as long as the world lives. */
const COUNTED_FIELDS: readonly string[] = ['operation', 'status', ...COUNT_FIELDS]

/** Returns how many requests match, also those that are no longer kept; undefined if only kept requests tell. */
function countOf({ requestCounts }: Simulator, { pattern, source }: CompiledExpectation): number | undefined {
  const fields = Object.entries(source).filter(([, value]) => value !== undefined)
  if (!fields.every(([name]) => COUNTED_FIELDS.includes(name))) return undefined
  const matching = requestCounts.filter(counted => pattern.matches(counted as unknown as ReceivedRequest))
  return matching.reduce((sum, { count }) => sum + count, 0)
}

function compileExpectation(sim: Simulator, source: RequestExpectation, number: string): CompiledExpectation {
  const context = `${CONTEXT}${number === '' ? '' : `: expectation${number}`}`
  assertKnownKeys(source, EXPECTATION_FIELDS, context, { noun: 'field' })
  const { exactly, atLeast, atMost, none, ...pattern } = source
  return {
    pattern: compilePattern(sim, pattern, context),
    count: toCount({ exactly, atLeast, atMost, none }, context),
    source,
  }
}

function toCount(
  { exactly, atLeast, atMost, none }: Pick<RequestExpectation, (typeof COUNT_FIELDS)[number]>,
  context: string,
): Count {
  for (const [name, value] of Object.entries({ exactly, atLeast, atMost })) {
    if (value !== undefined) assertWhole(value, name, context)
  }
  if (none !== undefined && typeof none !== 'boolean') {
    throw new RangeError(`${context}: none is ${quote(none)}. Give true, or leave it out.`)
  }
  const isRange = atLeast !== undefined || atMost !== undefined
  if ([none === true, exactly !== undefined, isRange].filter(Boolean).length > 1) {
    throw new RangeError(`${context}: more than one count. Give none, exactly, or atLeast and atMost.`)
  }
  if (none === true || exactly === 0) return { min: 0, max: 0, words: 'none' }
  if (exactly !== undefined) return { min: exactly, max: exactly, words: `exactly ${exactly}` }
  if (!isRange) return { min: 1, max: Number.POSITIVE_INFINITY, words: 'at least 1' }
  const [min, max] = [atLeast ?? 0, atMost ?? Number.POSITIVE_INFINITY]
  if (min > max) throw new RangeError(`${context}: atLeast ${min} is more than atMost ${max}. Swap the two.`)
  const words = [
    ...(atLeast === undefined ? [] : [`at least ${atLeast}`]),
    ...(atMost === undefined ? [] : [`at most ${atMost}`]),
  ]
  return { min, max, words: words.join(' and ') }
}

/** Rejects counts that no order has. */
function assertOrdered(expectations: readonly CompiledExpectation[]): void {
  const place = expectations.findIndex(({ count }) => count.min === 0)
  if (place < 0) return
  const { words } = expectations[place]!.count
  throw new RangeError(
    `${CONTEXT}: expectation ${place + 1} is '${words}', which has no place in an order. ` +
      'Verify it without inOrder, or expect at least 1.',
  )
}

/**
 * @param lost how many requests are no longer kept and could match too
 * @param total how many requests match, if that is known without them
 */
function verifyCount(
  expectation: CompiledExpectation,
  requests: readonly ReceivedRequest[],
  lost: number,
  total?: number,
): VerifiedExpectation {
  const { pattern, count } = expectation
  const matching = requests.filter(request => pattern.matches(request))
  const found = total ?? matching.length
  const isMissing = found < count.min
  const unknown = lostWords(lost, isMissing, count)
  const ok = !isMissing && found <= count.max && unknown.length === 0
  const others = isMissing ? requests.filter(request => !matching.includes(request)) : []
  const problem = ok ? '' : [`received ${found}`, ...unknown].join('. ')
  return toResult(expectation, matching, ok, { found, near: nearMissesOf(pattern, others), problem })
}

/** Says that the number of requests is unknown, because some are no longer kept. Empty: it is known. */
function lostWords(lost: number, isMissing: boolean, { max }: Count): string[] {
  if (lost === 0 || (!isMissing && max === Number.POSITIVE_INFINITY)) return []
  return [
    `The ${formatCount(lost)} oldest requests are no longer kept, so the number is unknown. ` +
      `Verify at the latest after ${formatCount(LIMITS.requests)} requests, or give 'from'`,
  ]
}

/** Finds the expectations in their order: each takes the first matches after those of the one before. */
function verifyOrder(
  expectations: readonly CompiledExpectation[],
  requests: readonly ReceivedRequest[],
  lost: number,
  numbers: () => ReadonlyMap<number, number>,
): VerifiedExpectation[] {
  const bySeq = requests.toSorted((one, other) => one.seq - other.seq)
  let next = 0
  let failed = false
  return expectations.map((expectation, place) => {
    const { pattern, count } = expectation
    const all = bySeq.filter(request => pattern.matches(request))
    if (failed)
      return toResult(expectation, all, false, { near: [], problem: 'not compared: one before it is missing' })
    const taken: ReceivedRequest[] = []
    const start = next
    for (let i = start; i < bySeq.length && taken.length < count.min; i++) {
      if (!pattern.matches(bySeq[i]!)) continue
      taken.push(bySeq[i]!)
      next = i + 1
    }
    const isMissing = taken.length < count.min
    const unknown = lostWords(lost, isMissing, count)
    if (!isMissing && all.length <= count.max && unknown.length === 0)
      return toResult(expectation, taken, true, { near: [], problem: '' })
    failed = true
    const last = start > 0 ? bySeq[start - 1] : undefined
    const after =
      last === undefined
        ? ''
        : ` after request ${numbers().get(last.seq)} (${last.operation || last.path}), where ${place} ended`
    const early = all.filter(request => last !== undefined && request.seq <= last.seq)
    const words = [
      isMissing ? `received ${taken.length}${after}` : `received ${all.length}`,
      ...(isMissing && early.length > 0
        ? [`${early.length} came before, such as request ${numbers().get(early.at(-1)!.seq)}`]
        : []),
      ...unknown,
    ]
    const others = bySeq.slice(start).filter(request => !all.includes(request))
    return toResult(expectation, all, false, { near: nearMissesOf(pattern, others), problem: words.join('. ') })
  })
}

/** The most listed requests of an expectation. */
const MAX_LISTED = 10

function toResult(
  { pattern, count }: CompiledExpectation,
  matching: readonly ReceivedRequest[],
  ok: boolean,
  {
    near,
    problem,
    found = matching.length,
  }: Pick<VerifiedExpectation, 'near' | 'problem'> & { readonly found?: number },
): VerifiedExpectation {
  const sentence = problem === '' ? '' : `expected ${count.words}, ${problem}.`
  return {
    ...{ ok, requests: pattern.words, expected: count.words, found },
    matching: matching.slice(-MAX_LISTED).map(({ seq }) => seq),
    ...{ near, problem: sentence },
  }
}

function formatFailure(
  { requests, problem, near }: VerifiedExpectation,
  numbers: () => ReadonlyMap<number, number>,
): string {
  const lines = near.map(
    ({ seq, method, path, status, differs }) =>
      `\n  request ${numbers().get(seq)}: ${method} ${path} → ${status === 0 ? 'no answer' : status}${differs.map(one => `\n    ${one}`).join('')}`,
  )
  return `${requests}: ${problem}${lines.join('')}`
}

/** A request that almost matches, and what differs. */
export interface NearMiss extends Pick<ReceivedRequest, 'seq' | 'operation' | 'method' | 'path' | 'status' | 'sentAt'> {
  /** As in `body.model: expected "a", received "b"`. */
  readonly differs: readonly string[]
}

const MAX_NEAR = 3
/** The most differences that are listed of a request. */
const MAX_DIFFERENCES = 10

/**
 * How far a difference takes a request from a pattern. Another operation is another intent; another status or body is
 * the same intent with another outcome.
 */
const WEIGHTS: Readonly<Record<string, number>> = { operation: 10, path: 6, method: 3, subject: 3, token: 2 }

/** Returns the closest requests with what differs, closest first. At equal distance, a newer request comes first. */
export function nearMissesOf(pattern: CompiledPattern, requests: readonly ReceivedRequest[]): NearMiss[] {
  return requests
    .map(request => {
      const found = pattern.mismatches(request)
      const distance = found.reduce((sum, { path }) => sum + (WEIGHTS[path] ?? 1), 0)
      return { request, found, distance }
    })
    .sort((one, other) => one.distance - other.distance || other.request.seq - one.request.seq)
    .slice(0, MAX_NEAR)
    .map(({ request: { seq, operation, method, path, status, sentAt }, found }) => {
      const more = found.length - MAX_DIFFERENCES
      const differs = found.slice(0, MAX_DIFFERENCES).map(formatDifference)
      return {
        seq,
        operation,
        method,
        path,
        status,
        sentAt,
        differs: more > 0 ? [...differs, `${more} more`] : differs,
      }
    })
}
