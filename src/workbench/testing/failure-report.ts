/** Formats the report of a failed test: what happened in its simulator, and the command that repeats the test. */

import { formatSeconds, formatTraceLine } from '../../kernel/entry.ts'
import type { Entry } from '../../kernel/journal.ts'
import { formatJsonValue } from '../../lib/differences.ts'
import { escapeRegExp } from '../../lib/patterns.ts'
import { shellQuote } from '../../lib/quote.ts'
import type { ReceivedRequest } from '../../simulator/exchanges/request-log.ts'
import type { FaultView } from '../../simulator/faults/fault-controls.ts'
import type { Simulator } from '../../simulator/simulator.ts'

const LAST_REQUESTS = 10
const LAST_EVENTS = 30

/** The name and the file of a test. */
export interface TestLocation {
  /** Its name, after those of the suites around it. */
  readonly test: string
  readonly file: string
}

/**
 * The last requests, the story of the deployments and batches that the client touched, the seed, and how to run the test
 * again.
 *
 * @param isRecorded whether a recording of the test is kept. If not, the report says how to keep one
 */
export function formatFailureReport(sim: Simulator, { test, file }: TestLocation, isRecorded = false): string {
  const command = `npx vitest run ${shellQuote(file)} -t ${shellQuote(escapeRegExp(test))}`
  const received = sim.requests
  const entries = sim.journal.entries()
  const requests = received.slice(-LAST_REQUESTS)
  const touchedIds = touchedSubjects(sim, received, entries)
  const events = entries
    .filter(
      ({ kind, subject }) =>
        kind !== 'request' && [...touchedIds].some(id => subject === id || subject.startsWith(`${id}-`)),
    )
    .slice(-LAST_EVENTS)
  const faults = sim.faults.list().filter(({ hits }) => hits > 0)
  const lines = [
    `The simulator of '${test}' at ${sim.clock.iso}, seed ${JSON.stringify(sim.seed)}:`,
    '  Last requests of the client, with their simulated second:',
    ...(requests.length === 0
      ? ['    none']
      : requests.map(
          request => `    ${formatSeconds(sim.world.clock.elapsedAt(request.at))} ${formatRequestLine(request)}`,
        )),
    ...(faults.length === 0 ? [] : [`  faults that acted: ${faults.map(formatHits).join('; ')}`]),
    ...(events.length === 0
      ? []
      : ['  what happened to its deployments and batches:', ...events.map(entry => `    ${formatTraceLine(entry)}`)]),
    `  run it again: ${command}`,
    ...(isRecorded ? [] : [`  with a recording and a page of it: MODELHOST_SIM_RECORD=recordings ${command}`]),
  ]
  return sim.world.apiTokens.hideSecrets(`${lines.join('\n')}\n`)
}

function formatHits({ id, rule, hits }: FaultView): string {
  return `${id} (${rule.fault.kind}), ${hits === 1 ? 'once' : `${hits} times`}`
}

/** Returns the ids of deployments and batches that requests created or named. */
function touchedSubjects(
  { world }: Simulator,
  received: readonly ReceivedRequest[],
  entries: readonly Entry[],
): ReadonlySet<string> {
  const pathParts = new Set(received.flatMap(({ path }) => path.split(/[/?&=]/)))
  const requests = new Set(entries.filter(({ kind }) => kind === 'request').map(({ seq }) => seq))
  const created = entries
    .filter(({ kind, cause }) => /^(deployment|adapter|batch)\.created$/.test(kind) && requests.has(cause))
    .map(({ subject }) => subject)
  const isKnown = (id: string) => world.deployments.get(id) !== undefined || world.batches.get(id) !== undefined
  return new Set([...created, ...[...pathParts].filter(isKnown)])
}

/** Returns method, path, status and body of a request. */
export function formatRequestLine({ method, path, status, body }: ReceivedRequest): string {
  const end = body === undefined ? '' : ` ${formatJsonValue(body)}`
  return `${method} ${path} → ${status === 0 ? 'no answer' : status}${end}`
}
