/** Matchers for simulators, which read and change nothing, and one for flows. */

import { BATCH_LIFECYCLE } from '../../data/records/enums.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { formatJsonValue } from '../../lib/differences.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import type { OperationName, RequestOf } from '../../service/client/client.ts'
import type { LedgerEntry } from '../../simulation/account/ledger-types.ts'
import { countsAgainstQuota } from '../../simulation/rentals/rental-row.ts'
import type { ReceivedRequest } from '../../simulator/exchanges/request-log.ts'
import * as refusals from '../../simulator/explain/refusal.ts'
import { assertWhole } from '../../simulator/requests/find.ts'
import { type CompiledPattern, compilePattern, formatDifference } from '../../simulator/requests/pattern.ts'
import { verifyRequests } from '../../simulator/requests/verify.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { formatRequestLine } from './failure-report.ts'
import { type SurviveOptions, toSurvive, type Verdict } from './to-survive.ts'

export type { SurviveOptions } from './to-survive.ts'

/** The expected requests: their number, status, and fields of the body. */
export interface ReceivedPattern<Name extends OperationName = OperationName> {
  /** Default: at least once. */
  readonly times?: number
  /** 0 if a fault rule left the client without a response. */
  readonly status?: number
  /** Fields that the body must have; other fields do not matter. A text may be a RegExp, any value an `expect.any(…)`. */
  readonly body?: BodyPattern<RequestOf<Name>> & { readonly [field: string]: unknown }
}

/**
 * The compared fields of a body, each a value or a pattern for its text. Editors complete known words; other words are
 * accepted, because a client may send anything.
 */
type BodyPattern<Body> = Body extends string
  ? Body | (string & {}) | RegExp
  : Body extends readonly (infer Item)[]
    ? readonly BodyPattern<Item>[]
    : Body extends object
      ? { readonly [Field in keyof Body]?: BodyPattern<Body[Field]> }
      : Body

export interface CostPattern {
  /** Minimum and maximum in dollars since the start of the world. */
  readonly min?: number
  readonly max?: number
  /** The id of the billed resource. Default: all resources. */
  readonly of?: string
}

export interface SimulatorMatchers<R = unknown> {
  /**
   * Passes if the client has called an operation. The error shows near misses: the operation with another body.
   *
   * @example expect(sim).toHaveReceived('createLlmDeployment', { times: 1, body: { gpu: 'H100-80GB' } })
   */
  toHaveReceived<Name extends OperationName>(operation: Name, pattern?: ReceivedPattern<Name>): R
  /** Passes if nothing runs on the account or is billed: no instance, batch in progress, hosted instance, container or own record. */
  toBeQuiet(): R
  /**
   * Passes if the account has spent an amount in the range, in dollars.
   *
   * @example expect(sim).toHaveCost({ max: 5 })
   */
  toHaveCost(pattern: CostPattern): R
  /**
   * Passes if no fault breaks a flow: a function, or the result of `flow` of `modelhost-sim/explore`. The error has the
   * smallest plan of faults that breaks it. Await it.
   *
   * @example await expect(deployFlow).toSurvive({ faults: 'singles' })
   */
  toSurvive(options?: SurviveOptions): Promise<R>
}

/** Kinds of postings that are costs. */
const BILLED_KINDS: ReadonlySet<LedgerEntry['kind']> = new Set(['rent', 'tokens', 'units'])

/** For `expect.extend` of vitest and Jest alike. */
export const matchers = {
  toSurvive,

  toHaveReceived(sim: Simulator, operation: string, pattern: ReceivedPattern = {}): Verdict {
    assertSimulator(sim, 'toHaveReceived(operation)')
    const context = 'Failed to call toHaveReceived'
    assertKnownKeys(pattern, ['times', 'status', 'body'], context)
    const { times, ...expected } = pattern
    if (times !== undefined) assertWhole(times, 'times', context)
    const compiled = compilePattern(sim, { operation, ...expected }, context)
    const calls = sim.requests.filter(compilePattern(sim, { operation }, context).matches)
    const matching = calls.filter(request => compiled.matches(request))
    const { ok: pass } = verifyRequests(sim, { operation, ...expected, ...(times !== undefined && { exactly: times }) })
    return {
      pass,
      message: () => {
        const expectedTimes = times === undefined ? 'at least once' : formatTimes(times)
        const hasNoPattern = pattern.status === undefined && pattern.body === undefined
        const foundTimes = `it was called ${formatTimes(calls.length)}${hasNoPattern ? '' : `, ${matching.length} of them as expected`}`
        // If there are too many matching requests, they are the interesting ones.
        const nearMisses = (
          matching.length > (times ?? 0) ? matching : calls.filter(one => !matching.includes(one))
        ).slice(-3)
        const nearMissLines = nearMisses.map(
          request => `\n  ${formatRequestLine(request)}${formatMismatches(compiled, request)}`,
        )
        const lastRequests = calls.length > 0 ? '' : formatLastRequests(sim)
        return sim.world.apiTokens.hideSecrets(
          `expected ${operation} ${pass ? 'not to be called' : 'to be called'} ${expectedTimes}: ${foundTimes}${nearMissLines.join('')}${formatCauses(sim, nearMisses.at(-1))}${lastRequests}`,
        )
      },
    }
  },

  toBeQuiet(sim: Simulator): Verdict {
    assertSimulator(sim, 'toBeQuiet()')
    const running = listRunning(sim)
    return {
      pass: running.length === 0,
      message: () =>
        running.length === 0
          ? 'expected something to run: nothing does, and nothing is billed'
          : `expected nothing to run and nothing to be billed:${running.map(one => `\n  ${one}`).join('')}`,
    }
  },

  toHaveCost(sim: Simulator, pattern: CostPattern): Verdict {
    assertSimulator(sim, 'toHaveCost({ max: 5 })')
    assertKnownKeys(pattern, ['min', 'max', 'of'], 'Failed to call toHaveCost')
    const { min, max, of } = pattern
    const range = formatRange(pattern)
    if (range === '' || Number.isNaN(min) || Number.isNaN(max) || min! > max!) {
      const problem = range === '' ? 'no range is given' : `${range} is not a range`
      throw new RangeError(`Failed to look at the cost: ${problem}. Give min, max or both, as in { max: 5 }.`)
    }
    assertBilled(sim, of)
    const postings = sim.ledger
      .entries()
      .filter(({ kind, subject }) => BILLED_KINDS.has(kind) && (of === undefined || subject === of))
    const dollars = postings.reduce((sum, { microcents }) => sum - microcents, 0) / 1e8
    const pass = dollars >= (min ?? 0) && dollars <= (max ?? Number.POSITIVE_INFINITY)
    return {
      pass,
      message: () =>
        `expected ${of ?? 'the account'} ${pass ? 'not ' : ''}to have cost ${range}: it cost $${dollars.toFixed(6)}` +
        costsBySubject(postings)
          .map(([subject, microcents]) => `\n  $${(microcents / 1e8).toFixed(6)} ${formatSubject(sim, subject)}`)
          .slice(0, 10)
          .join(''),
    }
  },
}

/** Rejects a value that is not a simulator: a matcher must not pass because of a typo. */
function assertSimulator(sim: Simulator, example: string): void {
  if (typeof sim === 'object' && sim !== null && 'clock' in sim && 'ledger' in sim) return
  throw new TypeError(
    `Failed to look at ${formatJsonValue(sim)}: it is not a simulator. Give one, as in expect(sim).${example}.`,
  )
}

function formatRange({ min, max }: CostPattern): string {
  const least = min === undefined ? [] : [`at least $${min}`]
  const most = max === undefined ? [] : [`at most $${max}`]
  return [...least, ...most].join(' and ')
}

/** Rejects an unknown id, whose cost would always be 0. */
function assertBilled({ world, ledger }: Simulator, id: string | undefined): void {
  if (id === undefined || world.deployments.get(id) !== undefined || world.batches.get(id) !== undefined) return
  const billed = [...new Set(ledger.entries().map(({ subject }) => subject))]
  if (billed.includes(id)) return
  const advice = formatSuggestion(id, billed, 'Give the id of a deployment, a batch or another subject of the ledger.')
  throw new RangeError(`Failed to look at the cost of '${id}': nothing of that id was billed. ${advice}`)
}

function formatMismatches({ mismatches }: CompiledPattern, request: ReceivedRequest): string {
  return mismatches(request)
    .map(one => `\n    ${formatDifference(one)}`)
    .join('')
}

function formatTimes(count: number): string {
  return `${count} ${count === 1 ? 'time' : 'times'}`
}

/** Returns the cost of each subject in micro-cents, highest first. */
function costsBySubject(postings: readonly LedgerEntry[]): [subject: string, microcents: number][] {
  const bySubject = new Map<string, number>()
  for (const { subject, microcents } of postings) bySubject.set(subject, (bySubject.get(subject) ?? 0) - microcents)
  return [...bySubject].sort(([, one], [, other]) => other - one)
}

/** Returns the id with its model, if it has one. */
function formatSubject({ world }: Simulator, id: string): string {
  const deployment = world.deployments.get(id)
  return deployment === undefined ? id : `${id} (${deployment.row.plan.modelName})`
}

/** Returns why the last of some requests was refused. */
function formatCauses(sim: Simulator, request: ReceivedRequest | undefined): string {
  const causes = request === undefined ? [] : refusals.explainRefusal(sim, request)
  return causes.length === 0
    ? ''
    : `\n  the last of them was refused because:${causes.map(one => `\n    ${one}`).join('')}`
}

function formatLastRequests(sim: Simulator): string {
  const last = sim.requests.slice(-5)
  return last.length === 0
    ? '\n  the client sent no request'
    : `\n  its last requests:${last.map(one => `\n    ${formatRequestLine(one)}`).join('')}`
}

function listRunning({ world }: Simulator): string[] {
  const lines: string[] = []
  for (const [, row] of world.instances.entries()) {
    lines.push(`instance ${row.id} of ${world.deployments.read(row.deployment).plan.modelName} is ${row.state}`)
  }
  for (const [, row] of world.batches.entries()) {
    if (BATCH_LIFECYCLE.inProgress.has(row.status)) lines.push(`batch ${row.id} is ${row.status}`)
  }
  for (const [, row] of world.rentals.entries()) {
    const label = row.kind === 'hosted' ? 'hosted instance' : 'container'
    if (countsAgainstQuota(row.state)) lines.push(`${label} ${row.id} is ${row.state}`)
  }
  for (const [, { kind, id, status, hasEnded }] of world.ownRecords.entries()) {
    if (!hasEnded) lines.push(`${kind} ${id} is ${status}`)
  }
  return lines.sort()
}
