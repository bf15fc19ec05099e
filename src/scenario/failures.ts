/** What is told of a scenario that failed: the message, where the script was, and what happened last. */
import { pathToFileURL } from 'node:url'
import { type Micros, readable, SECOND } from '../kernel/duration.ts'
import type { Entry } from '../kernel/journal.ts'
import { CheckError, type Difference, shown } from './check.ts'
import type { Stage } from './stage.ts'
import { lineOf, type TraceDifference } from './trace.ts'

/** How many events a failure is shown with. */
export const LAST_EVENTS = 10

/** Why a scenario failed. */
export interface Failure {
  /** What was done or expected, and what came instead. */
  readonly message: string
  /** Virtual time of it: microseconds since the epoch of the world. */
  readonly at: Micros
  /** Where the script was: line and column of its file. */
  readonly where: { readonly line: number; readonly column: number } | undefined
  /** Of a check: each path that differs. */
  readonly differences: readonly Difference[]
  /** Of a trace: the first line that differs. */
  readonly trace?: TraceDifference | undefined
  /** The last events of the things involved, as lines of a trace. */
  readonly events: readonly string[]
}

export function bugError(error: unknown): Error {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return new Error(`The simulator has a bug, please report it with this scenario: ${text}`, { cause: error })
}

export async function failureOf(stage: Stage, error: unknown, file: string | undefined): Promise<Failure> {
  const record = await stage.record()
  const check = error instanceof CheckError ? error : undefined
  return {
    message: messageOf(error),
    at: stage.clock.elapsed,
    where: placeIn(error, file),
    differences: check?.differences ?? [],
    events: eventsOf(record, check?.actual),
  }
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return `the script threw ${shown(error)}`
  const ours = ['CheckError', 'Refusal', 'UntilError', 'Error', 'RangeError', 'FixtureError'].includes(error.name)
  // What happened last stands below, for every failure alike.
  const message = error.name === 'UntilError' ? error.message.replace(/ Allow more with [\s\S]*$/, '') : error.message
  return ours ? message : `${error.name}: ${message}`
}

/** Where in the script an error came up. */
function placeIn(error: unknown, file: string | undefined): Failure['where'] {
  if (file === undefined || !(error instanceof Error)) return undefined
  const line = error.stack?.split('\n').find(text => text.includes(file) || text.includes(pathToFileURL(file).href))
  const at = /:(\d+):(\d+)\)?\s*$/.exec(line ?? '')
  return at ? { line: Number(at[1]), column: Number(at[2]) } : undefined
}

/** The last events of the things a failure is about: those it names, else those last looked at, else all. */
function eventsOf(record: readonly Entry[], actual: unknown): string[] {
  const subjects = new Set(record.filter(entry => entry.kind !== 'request' && entry.kind !== 'check').map(idOf))
  const lastRequest = record.findLast(entry => entry.kind === 'request')
  const named = [...textsOf(actual)].filter(text => subjects.has(text))
  const asked = decodeURIComponent(lastRequest?.subject ?? '')
    .split(/[ /?&=]/)
    .filter(text => subjects.has(text))
  const involved = named.length > 0 ? named : asked
  const entries = involved.length > 0 ? withCauses(record, entry => concerns(entry, involved)) : record
  return entries.flatMap(entry => lineOf(entry) ?? []).slice(-LAST_EVENTS)
}

/** The entries that are wanted, and what caused them: an instance is lost because a node crashed. */
function withCauses(record: readonly Entry[], wanted: (entry: Entry) => boolean): Entry[] {
  const bySeq = new Map(record.map(entry => [entry.seq, entry]))
  const shown = new Set<Entry>()
  for (const first of record.filter(wanted)) {
    let entry: Entry | undefined = first
    while (entry && !shown.has(entry)) {
      shown.add(entry)
      entry = entry.cause > 0 && entry.cause < entry.seq ? bySeq.get(entry.cause) : undefined
    }
  }
  return record.filter(entry => shown.has(entry))
}

function concerns(entry: Entry, involved: readonly string[]): boolean {
  return involved.some(
    id =>
      entry.subject === id ||
      // An instance is named after its deployment.
      entry.subject.startsWith(`${id}-`) ||
      Object.values(entry.fields ?? {}).includes(id),
  )
}

function idOf(entry: Entry): string {
  return entry.subject
}

/** Every text in a value, as deep as it goes. */
function* textsOf(value: unknown, depth = 0): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null && depth < 6) {
    for (const item of Object.values(value)) yield* textsOf(item, depth + 1)
  }
}

/** Virtual time for people, with the exact seconds that traces show. */
export function timeOf(at: Micros): string {
  const seconds = Math.floor(at / SECOND)
  return `${at === 0 ? '0s' : readable(at)} (${seconds}.${String(at - seconds * SECOND).padStart(6, '0')})`
}
