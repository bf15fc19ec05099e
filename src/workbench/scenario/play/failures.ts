/** The report of a failed scenario: the message, the position in the script, and the last events. */
import { pathToFileURL } from 'node:url'
import { formatDuration, type Micros, SECOND } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { type Difference, formatJsonValue } from '../../../lib/differences.ts'
import { hideSecrets } from '../../../lib/text/secrets.ts'
import { CheckError } from '../check.ts'
import { type TraceDifference, toTraceLine } from '../runner/trace.ts'
import type { ScenarioEnvironment } from './environment.ts'

/** Number of events in a report. */
export const LAST_EVENTS = 10

/** The failure of a scenario. */
export interface Failure {
  /** The expected and the actual value. */
  readonly message: string
  /** Virtual time of the failure: microseconds since the epoch of the world. */
  readonly at: Micros
  /** Line and column in the script. */
  readonly where: { readonly line: number; readonly column: number } | undefined
  /** Of a check: each path that differs. */
  readonly differences: readonly Difference[]
  /** Of a trace: the first line that differs. */
  readonly trace?: TraceDifference | undefined
  /** The last events of the subjects involved, as lines of a trace. */
  readonly events: readonly string[]
}

/** @param more what differs from a failure without a place and without events */
export function failureOf(message: string, at: Micros, more: Partial<Failure> = {}): Failure {
  return { message, at, where: undefined, differences: [], events: [], ...more }
}

export function bugError(error: unknown): Error {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return new Error(`The simulator has a bug, please report it with this scenario: ${text}`, { cause: error })
}

export function createFailure(stage: ScenarioEnvironment, error: unknown, file: string | undefined): Failure {
  const check = error instanceof CheckError ? error : undefined
  return {
    message: failureMessage(error),
    at: stage.clock.elapsed,
    where: scriptPosition(error, file),
    differences: check?.differences ?? [],
    events: lastEventsOf(stage.entries, check?.actual),
  }
}

export function failureMessage(error: unknown): string {
  if (!(error instanceof Error)) return `the script threw ${formatJsonValue(error)}`
  const isKnownError = [
    'CheckError',
    'CommandError',
    'Refusal',
    'UntilError',
    'Error',
    'RangeError',
    'FixtureError',
  ].includes(error.name)
  // Every report lists the last events below its message.
  const message = error.name === 'UntilError' ? error.message.replace(/ Allow more with [\s\S]*$/, '') : error.message
  return hideSecrets(isKnownError ? message : `${error.name}: ${message}`)
}

/** Describes an error outside of the awaited calls of a script, for example in a timer. */
export function createStrayFailure(
  error: unknown,
  { elapsed, failure }: { readonly elapsed: Micros; readonly failure?: Failure | undefined },
  file: string,
): Failure {
  const where = scriptPosition(error, file)
  const message = failureMessage(error)
  const origin = where === undefined ? ' An earlier scenario may have left the timer that it came from.' : ''
  const text = message.startsWith('Failed to play: ') ? message : `an error that nothing caught: ${message}.${origin}`
  return failureOf(text, failure?.at ?? elapsed, { where, events: failure?.events ?? [] })
}

/** Returns the position in the script where an error was thrown. */
function scriptPosition(error: unknown, file: string | undefined): Failure['where'] {
  if (file === undefined || !(error instanceof Error)) return undefined
  const line = error.stack?.split('\n').find(text => text.includes(file) || text.includes(pathToFileURL(file).href))
  const at = /:(\d+):(\d+)\)?\s*$/.exec(line ?? '')
  return at ? { line: Number(at[1]), column: Number(at[2]) } : undefined
}

/**
 * Returns the last events of the subjects of a failure: those that it names, else those of the last reads, else all.
 */
function lastEventsOf(record: readonly Entry[], actual: unknown): string[] {
  const subjects = new Set(
    record.filter(entry => entry.kind !== 'request' && entry.kind !== 'check').map(({ subject }) => subject),
  )
  const lastRequest = record.findLast(entry => entry.kind === 'request')
  const namedIds = [...textsOf(actual)].filter(text => subjects.has(text))
  const requestedIds = decodeURIComponent(lastRequest?.subject ?? '')
    .split(/[ /?&=]/)
    .filter(text => subjects.has(text))
  const involved = namedIds.length > 0 ? namedIds : requestedIds
  const entries = involved.length > 0 ? withCauses(record, entry => isAbout(entry, involved)) : record
  return entries.flatMap(entry => toTraceLine(entry) ?? []).slice(-LAST_EVENTS)
}

/** Returns the selected entries and their causes: an instance is lost because a node crashed. */
function withCauses(record: readonly Entry[], matches: (entry: Entry) => boolean): Entry[] {
  const bySeq = new Map(record.map(entry => [entry.seq, entry]))
  const included = new Set<Entry>()
  for (const first of record.filter(matches)) {
    let entry: Entry | undefined = first
    while (entry && !included.has(entry)) {
      included.add(entry)
      entry = entry.cause > 0 && entry.cause < entry.seq ? bySeq.get(entry.cause) : undefined
    }
  }
  return record.filter(entry => included.has(entry))
}

function isAbout(entry: Entry, involved: readonly string[]): boolean {
  return involved.some(
    id =>
      entry.subject === id ||
      // The id of an instance begins with that of its deployment.
      entry.subject.startsWith(`${id}-`) ||
      Object.values(entry.fields ?? {}).includes(id),
  )
}

/** Returns every text in a value, at any depth. */
function* textsOf(value: unknown, depth = 0): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null && depth < 6) {
    for (const item of Object.values(value)) yield* textsOf(item, depth + 1)
  }
}

/** Formats a virtual time with the exact seconds of traces. */
export function formatVirtualTime(at: Micros): string {
  const seconds = Math.floor(at / SECOND)
  return `${at === 0 ? '0s' : formatDuration(at)} (${seconds}.${String(at - seconds * SECOND).padStart(6, '0')})`
}
