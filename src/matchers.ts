/** What a test can demand of a simulator. They look and change nothing; the world may go on after them. */
import { operations } from './api/index.ts'
import { countsAgainstLimit } from './cluster/rental-row.ts'
import { nearest } from './kernel/nearest.ts'
import type { ReceivedRequest } from './received.ts'
import { differences, shown } from './scenario/check.ts'
import type { Simulator } from './simulator.ts'

/** Of a request that should have come: how often, answered how, with which fields in its body. */
export interface ReceivedPattern {
  /** At least once unless given. */
  readonly times?: number
  readonly status?: number
  /** Fields that the body must have; others do not matter. */
  readonly body?: unknown
}

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
  toHaveReceived(operation: keyof typeof operations, pattern?: ReceivedPattern): R
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
        const wanted = times === undefined ? 'at least once' : `${times} ${times === 1 ? 'time' : 'times'}`
        const found = `${operation} was called ${called.length} ${called.length === 1 ? 'time' : 'times'}, ${fitting.length} of them as expected`
        const near = called.filter(request => !fitting.includes(request)).slice(-3)
        const told = near.map(request => `\n  ${line(request)}${misses(request, pattern).join('')}`)
        const others = called.length > 0 ? '' : asked(sim)
        return `expected ${operation} ${pass ? 'not to be called' : 'to be called'} ${wanted}: ${found}${told.join('')}${others}`
      },
    }
  },

  toBeQuiet(sim: Simulator): Verdict {
    const busy = whatRuns(sim)
    return {
      pass: busy.length === 0,
      message: () =>
        busy.length === 0
          ? 'expected something to run: nothing does, and nothing is billed'
          : `expected nothing to run and nothing to be billed:${busy.map(one => `\n  ${one}`).join('')}`,
    }
  },

  toHaveCost(sim: Simulator, { min, max, of }: CostPattern): Verdict {
    const spent = sim.ledger
      .entries()
      .filter(({ kind, subject }) => (kind === 'rent' || kind === 'tokens') && (of === undefined || subject === of))
    const dollars = spent.reduce((sum, { microcents }) => sum - microcents, 0) / 1e8
    const pass = dollars >= (min ?? 0) && dollars <= (max ?? Number.POSITIVE_INFINITY)
    const range = `${min === undefined ? '' : `at least $${min}`}${min !== undefined && max !== undefined ? ' and ' : ''}${max === undefined ? '' : `at most $${max}`}`
    return {
      pass,
      message: () =>
        `expected ${of ?? 'the account'} ${pass ? 'not ' : ''}to have cost ${range || 'anything'}: it cost $${dollars.toFixed(6)}` +
        spent
          .map(({ subject, microcents }) => `\n  $${(-microcents / 1e8).toFixed(6)} ${subject}`)
          .slice(-10)
          .join(''),
    }
  },
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

function line({ method, path, status, body }: ReceivedRequest): string {
  return `${method} ${path} → ${status}${body === undefined ? '' : ` ${shown(body)}`}`
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
