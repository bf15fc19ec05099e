/** The base run: the flow without faults, twice, which shows whether it is repeatable. */

import { SECOND } from '../../../kernel/duration.ts'
import { quote } from '../../../lib/quote.ts'
import { hideSecrets } from '../../../lib/text/secrets.ts'
import type { ObservedRequest } from '../../../simulator/judge/observation.ts'
import { visibleStatus } from '../plan/coordinates.ts'
import { FLOW_URL } from '../run/client.ts'
import type { FlowRunner, RunResult } from '../run/runner.ts'
import { ExploreError } from './budget.ts'

const STAY_ADVICE =
  'A request has left the world, because it was not sent with the fetch of the flow. Send it with that fetch, or with ' +
  'the global one as it is at that moment. A client with another HTTP library can be explored as a command.'
const ADVICE = 'Use now(), sleep() and the seed instead of the wall clock and Math.random().'

/**
 * Runs the flow twice without faults, and returns the first result. Calls `onFirst` after the first run.
 *
 * @throws ExploreError if the runs differ, with the first request that does, and if the flow throws, or sends no request,
 *   and breaks nothing: there is nothing to explore
 */
export async function runBase(runner: FlowRunner, flow: string, onFirst: () => void): Promise<RunResult> {
  const first = await runner.run([])
  onFirst()
  const second = await runner.run([])
  const difference = findDifference(first, second)
  if (difference !== undefined) {
    throw new ExploreError(
      `Failed to explore ${flow}: the flow is not repeatable: ${difference}. ${runner.advice ?? ADVICE}`,
    )
  }
  const { end } = first.base!
  if (end.kind === 'threw' && first.broken.length === 0) {
    const { error } = end
    const text = error instanceof Error ? `${error.name}: ${error.message.replace(/\.$/, '')}` : quote(error)
    const advice = hasLeftWorld(error) ? STAY_ADVICE : 'Correct the flow, its fixtures or its seed.'
    throw new ExploreError(`Failed to explore ${flow}: it throws in a run without faults: ${text}. ${advice}`)
  }
  if (first.requests.length === 0 && first.broken.length === 0) {
    throw new ExploreError(
      `Failed to explore ${flow}: it sends no request, so there is nothing to break. ` +
        'Send requests with the fetch that the flow gets, and await them.',
    )
  }
  return first
}

/** Says so if the service refused all that the client asked without faults: then its faults show little. */
export function notesOfBase({ requests }: RunResult): string[] {
  if (requests.length === 0 || requests.some(({ outcome, status }) => outcome !== 'answered' || status < 400)) return []
  const statuses = [...new Set(requests.map(({ status }) => status))]
  return [
    `Without faults, the client got only errors (${statuses.join(', ')}), so little of it was explored. Check its token, its paths and its fixtures.`,
  ]
}

/** Whether an error comes from a real look-up of the host that only the fetch of a flow knows. */
function hasLeftWorld(error: unknown): boolean {
  const host = new URL(FLOW_URL).hostname
  const names = (one: unknown) => one instanceof Error && 'hostname' in one && one.hostname === host
  return names(error) || (error instanceof Error && names(error.cause))
}

const END_WORDS = { returned: 'returned', threw: 'threw', unsettled: 'did not end' } as const

/** Returns the first difference of two runs in words; undefined if they are equal. */
function findDifference(first: RunResult, second: RunResult): string | undefined {
  const count = Math.max(first.requests.length, second.requests.length)
  for (let at = 0; at < count; at++) {
    const [one, other] = [first.requests[at], second.requests[at]]
    const describe = DESCRIPTIONS.find(describe => describe(one) !== describe(other))
    if (describe !== undefined) {
      return hideSecrets(`request ${at + 1} was ${describe(one)} in the first run and ${describe(other)} in the second`)
    }
  }
  if (first.end !== second.end) {
    return `the flow ${END_WORDS[first.end]} in the first run and ${END_WORDS[second.end]} in the second`
  }
  if (first.digest === second.digest) return undefined
  return `its requests were equal, but the digest of the world was ${first.digest} and then ${second.digest}`
}

/** What can differ between the requests of two runs, the obvious first. */
const DESCRIPTIONS: readonly ((request: ObservedRequest | undefined) => string)[] = [
  describeTarget,
  request => `${describeTarget(request)} with the body ${quote(request?.body)}`,
  request => `${describeTarget(request)} after ${(request?.sentAt ?? 0) / SECOND} s`,
  request => `${describeTarget(request)} with the outcome ${request && visibleStatus(request)}`,
]

function describeTarget(request: ObservedRequest | undefined): string {
  return request === undefined ? 'missing' : `${request.method} ${request.path}`
}
