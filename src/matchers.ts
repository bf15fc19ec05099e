/** What a test can demand of a simulator. They look and change nothing; the world may go on after them. */
import type { OperationName, RequestOf } from './api/client.ts'
import { operations } from './api/index.ts'
import type { LedgerEntry } from './cluster/ledger.ts'
import { countsAgainstLimit } from './cluster/rental-row.ts'
import { nearest } from './kernel/nearest.ts'
import type { ReceivedRequest } from './received.ts'
import { differences, shown } from './scenario/check.ts'
import type { Simulator } from './simulator.ts'

/** Of a request that should have come: how often, answered how, with which fields in its body. */
export interface ReceivedPattern<Name extends OperationName = OperationName> {
  /** At least once unless given. */
  readonly times?: number
  /** 0 where a fault of the wire left the client without an answer. */
  readonly status?: number
  /** Fields that the body must have; others do not matter. Text may be given as a RegExp, anything as `expect.any(…)`. */
  readonly body?: BodyPattern<RequestOf<Name>> & { readonly [field: string]: unknown }
}

/**
 * What of a body is looked at: some of its fields, each as it should be or as a pattern of its text. Words that are known
 * are completed, and others taken: a client may send anything.
 */
type BodyPattern<Body> = Body extends string
  ? Body | (string & {}) | RegExp
  : Body extends readonly (infer Item)[]
    ? readonly BodyPattern<Item>[]
    : Body extends object
      ? { readonly [Field in keyof Body]?: BodyPattern<Body[Field]> }
      : Body

export interface CostPattern {
  /** Dollars at least and at most, since the world began. */
  readonly min?: number
  readonly max?: number
  /** Wire id of what was billed; everything unless given. */
  readonly of?: string
}

export interface SimulatorMatchers<R = unknown> {
  /**
   * The client has called an operation. When it has not, near misses are shown: the same operation with another body.
   *
   * @example expect(sim).toHaveReceived('createLlmDeployment', { times: 1, body: { gpu: 'H100-80GB' } })
   */
  toHaveReceived<Name extends OperationName>(operation: Name, pattern?: ReceivedPattern<Name>): R
  /** Nothing runs on the account and nothing is billed: no instance, no batch under way, no hosted instance, no container. */
  toBeQuiet(): R
  /**
   * What has been spent, in dollars.
   *
   * @example expect(sim).toHaveCost({ max: 5 })
   */
  toHaveCost(pattern: CostPattern): R
}

interface Verdict {
  readonly pass: boolean
  message(): string
}

/** For `expect.extend` of vitest and Jest alike. */
export const matchers = {
  toHaveReceived(sim: Simulator, operation: string, pattern: ReceivedPattern = {}): Verdict {
    demandSimulator(sim, 'toHaveReceived(operation)')
    demandFields('toHaveReceived', pattern, ['times', 'status', 'body'])
    if (!Object.hasOwn(operations, operation)) {
      const meant = nearest(operation, Object.keys(operations))
      throw new RangeError(
        `Failed to look for '${operation}': there is no such operation. ` +
          (meant ? `Did you mean '${meant}'?` : 'docs/endpoints.md lists them.'),
      )
    }
    const called = sim.requests.filter(request => request.operation === operation)
    const fitting = called.filter(request => misses(request, pattern).length === 0)
    const { times } = pattern
    const pass = times === undefined ? fitting.length > 0 : fitting.length === times
    return {
      pass,
      message: () => {
        const wanted = times === undefined ? 'at least once' : timesOf(times)
        const isAny = pattern.status === undefined && pattern.body === undefined
        const found = `it was called ${timesOf(called.length)}${isAny ? '' : `, ${fitting.length} of them as expected`}`
        // Too many of the right ones are as telling as the wrong ones.
        const near = (fitting.length > (times ?? 0) ? fitting : called.filter(one => !fitting.includes(one))).slice(-3)
        const told = near.map(request => `\n  ${line(request)}${misses(request, pattern).join('')}`)
        const others = called.length > 0 ? '' : asked(sim)
        return `expected ${operation} ${pass ? 'not to be called' : 'to be called'} ${wanted}: ${found}${told.join('')}${others}`
      },
    }
  },

  toBeQuiet(sim: Simulator): Verdict {
    demandSimulator(sim, 'toBeQuiet()')
    const busy = whatRuns(sim)
    return {
      pass: busy.length === 0,
      message: () =>
        busy.length === 0
          ? 'expected something to run: nothing does, and nothing is billed'
          : `expected nothing to run and nothing to be billed:${busy.map(one => `\n  ${one}`).join('')}`,
    }
  },

  toHaveCost(sim: Simulator, pattern: CostPattern): Verdict {
    demandSimulator(sim, 'toHaveCost({ max: 5 })')
    demandFields('toHaveCost', pattern, ['min', 'max', 'of'])
    const { min, max, of } = pattern
    const range = rangeOf(pattern)
    if (range === '' || Number.isNaN(min) || Number.isNaN(max) || min! > max!) {
      const wrong = range === '' ? 'no range is given' : `${range} is no range`
      throw new RangeError(`Failed to look at the cost: ${wrong}. Give min, max or both, as in { max: 5 }.`)
    }
    demandBilled(sim, of)
    const spent = sim.ledger
      .entries()
      .filter(({ kind, subject }) => (kind === 'rent' || kind === 'tokens') && (of === undefined || subject === of))
    const dollars = spent.reduce((sum, { microcents }) => sum - microcents, 0) / 1e8
    const pass = dollars >= (min ?? 0) && dollars <= (max ?? Number.POSITIVE_INFINITY)
    return {
      pass,
      message: () =>
        `expected ${of ?? 'the account'} ${pass ? 'not ' : ''}to have cost ${range}: it cost $${dollars.toFixed(6)}` +
        costs(spent)
          .map(([subject, microcents]) => `\n  $${(microcents / 1e8).toFixed(6)} ${named(sim, subject)}`)
          .slice(0, 10)
          .join(''),
    }
  },
}

/** A matcher that passes because of a typo is worse than none. */
function demandSimulator(sim: Simulator, example: string): void {
  if (typeof sim === 'object' && sim !== null && 'clock' in sim && 'ledger' in sim) return
  throw new TypeError(`Failed to look at ${shown(sim)}: it is no simulator. Give one, as in expect(sim).${example}.`)
}

function rangeOf({ min, max }: CostPattern): string {
  const least = min === undefined ? [] : [`at least $${min}`]
  const most = max === undefined ? [] : [`at most $${max}`]
  return [...least, ...most].join(' and ')
}

function demandFields(matcher: string, pattern: object, known: readonly string[]): void {
  if (typeof pattern !== 'object' || pattern === null) {
    throw new RangeError(
      `Failed to look: ${matcher} is given ${shown(pattern)}. Give an object of ${known.join(', ')}.`,
    )
  }
  const strange = Object.keys(pattern).find(name => !known.includes(name))
  if (strange === undefined) return
  const meant = nearest(strange, known)
  throw new RangeError(
    `Failed to look: ${matcher} takes no '${strange}'. ${meant ? `Did you mean '${meant}'?` : `It takes ${known.join(', ')}.`}`,
  )
}

/** What is not there costs nothing, and would cost nothing for ever. */
function demandBilled({ world, ledger }: Simulator, id: string | undefined): void {
  if (id === undefined || world.deployments.get(id) !== undefined || world.batches.get(id) !== undefined) return
  const billed = [...new Set(ledger.entries().map(({ subject }) => subject))]
  if (billed.includes(id)) return
  const meant = nearest(id, billed)
  throw new RangeError(
    `Failed to look at the cost of '${id}': there is no such thing, and nothing of that id was billed. ` +
      (meant ? `Did you mean '${meant}'?` : 'Give the id of a deployment, a batch or whatever the ledger has.'),
  )
}

function misses(request: ReceivedRequest, { status, body }: ReceivedPattern): string[] {
  const found: string[] = []
  if (status !== undefined && request.status !== status)
    found.push(`\n    status: expected ${status}, found ${request.status}`)
  if (body === undefined) return found
  return [
    ...found,
    ...differences(request.body, body, 'body').map(
      one => `\n    ${one.path}: expected ${one.expected}, found ${one.found}`,
    ),
  ]
}

function timesOf(count: number): string {
  return `${count} ${count === 1 ? 'time' : 'times'}`
}

/** What each thing has cost in micro-cents, the dearest first. */
function costs(spent: readonly LedgerEntry[]): [subject: string, microcents: number][] {
  const bySubject = new Map<string, number>()
  for (const { subject, microcents } of spent) bySubject.set(subject, (bySubject.get(subject) ?? 0) - microcents)
  return [...bySubject].sort(([, one], [, other]) => other - one)
}

/** The model of what was billed, where it has one: ids alone say little. */
function named({ world }: Simulator, id: string): string {
  const deployment = world.deployments.get(id)
  return deployment === undefined ? id : `${id} (${deployment.model_name})`
}

function line({ method, path, status, body }: ReceivedRequest): string {
  return `${method} ${path} → ${status === 0 ? 'no answer' : status}${body === undefined ? '' : ` ${shown(body)}`}`
}

function asked(sim: Simulator): string {
  const last = sim.requests.slice(-5)
  return last.length === 0
    ? '\n  the client asked nothing'
    : `\n  it asked last:${last.map(one => `\n    ${line(one)}`).join('')}`
}

function whatRuns({ world }: Simulator): string[] {
  const found: string[] = []
  for (const [, row] of world.instances.entries()) {
    found.push(`instance ${row.id} of ${world.deployments.read(row.deployment).plan.modelName} is ${row.state}`)
  }
  for (const [, row] of world.batches.entries()) {
    if (['validating', 'in_progress', 'finalizing', 'cancelling'].includes(row.status)) {
      found.push(`batch ${row.id} is ${row.status}`)
    }
  }
  for (const [, row] of world.rentals.entries()) {
    const what = row.kind === 'hosted' ? 'hosted instance' : 'container'
    if (countsAgainstLimit(row.state)) found.push(`${what} ${row.id} is ${row.state}`)
  }
  return found.sort()
}
