/** What a failed test is told of its simulator: enough to see what happened, and one line that does it again. */
import type { FaultView } from './faults/faults.ts'
import { type Entry, secondsOf, traceLine } from './kernel/journal.ts'
import type { ReceivedRequest } from './received.ts'
import { shown } from './scenario/check.ts'
import type { Simulator } from './simulator.ts'

const LAST_REQUESTS = 10
const LAST_EVENTS = 30

/** Where a test stands. */
export interface TestPlace {
  /** Its name, after those of the suites around it. */
  readonly test: string
  readonly file: string
}

/**
 * The last requests, the story of the deployments and batches that the client touched, the seed, and how to run the test
 * again.
 */
export function accountOf(sim: Simulator, { test, file }: TestPlace): string {
  const asked = sim.requests
  const entries = sim.journal.entries()
  const requests = asked.slice(-LAST_REQUESTS)
  const touched = touchedBy(sim, asked, entries)
  const events = entries
    .filter(
      ({ kind, subject }) =>
        kind !== 'request' && [...touched].some(id => subject === id || subject.startsWith(`${id}-`)),
    )
    .slice(-LAST_EVENTS)
  const faults = sim.faults.list().filter(({ hits }) => hits > 0)
  const lines = [
    `The simulator of '${test}' at ${sim.clock.iso}, seed ${JSON.stringify(sim.seed)}:`,
    '  what the client asked last, at which second of its world:',
    ...(requests.length === 0
      ? ['    nothing']
      : requests.map(
          ({ at, method, path, status, body }) =>
            `    ${secondsOf(sim.world.clock.fromIso(at))} ${method} ${path} → ${status === 0 ? 'no answer' : status}${body === undefined ? '' : ` ${shown(body)}`}`,
        )),
    ...(faults.length === 0 ? [] : [`  faults that struck: ${faults.map(struck).join('; ')}`]),
    ...(events.length === 0 ? [] : ['  what became of it:', ...events.map(entry => `    ${traceLine(entry)}`)]),
    `  again: npx vitest run ${quoted(file)} -t ${quoted(escaped(test))}`,
  ]
  return `${lines.join('\n')}\n`
}

function struck({ id, rule, hits }: FaultView): string {
  return `${id} (${rule.fault.kind}), ${hits === 1 ? 'once' : `${hits} times`}`
}

/** As a shell takes it, whatever is in it. */
function quoted(text: string): string {
  return /^[\w./@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** The runner takes a name for a pattern. */
function escaped(name: string): string {
  return name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Wire ids of deployments and batches that requests made or named. */
function touchedBy(
  { world }: Simulator,
  asked: readonly ReceivedRequest[],
  entries: readonly Entry[],
): ReadonlySet<string> {
  const named = new Set(asked.flatMap(({ path }) => path.split(/[/?&=]/)))
  const requests = new Set(entries.filter(({ kind }) => kind === 'request').map(({ seq }) => seq))
  const made = entries
    .filter(({ kind, cause }) => /^(deployment|adapter|batch)\.created$/.test(kind) && requests.has(cause))
    .map(({ subject }) => subject)
  const known = (id: string) => world.deployments.get(id) !== undefined || world.batches.get(id) !== undefined
  return new Set([...made, ...[...named].filter(known)])
}
