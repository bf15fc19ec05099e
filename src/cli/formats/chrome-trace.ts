/** Recordings as a trace of Chrome, which Perfetto shows: lanes of deployments, instances, batches, requests and faults. */

import type { Micros } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import { Lifecycle } from '../../server/control/views/lifecycle.ts'
import type { RecordedExchange } from '../../simulator/history/timeline.ts'

/** An event in the Trace Event Format. Times are microseconds. */
export interface TraceEvent {
  readonly name: string
  readonly ph: 'X' | 'i' | 'M'
  readonly ts: number
  readonly pid: number
  readonly tid: number
  readonly dur?: number
  readonly s?: 't'
  readonly cat: string
  readonly args?: Readonly<Record<string, unknown>>
}

export interface ChromeTrace {
  readonly displayTimeUnit: 'ms'
  readonly traceEvents: readonly TraceEvent[]
}

/** The groups of lanes, in the order in which they are shown, with the journal kinds of each. */
const GROUPS = [
  ['Deployments', /^deployment\./],
  ['Instances', /^instance\./],
  ['Batches', /^batch\.(?!progressed)/],
  ['Rentals', /^(hosted|container)\./],
  ['Requests', undefined],
  ['Faults', /^fault\./],
  [
    'Fleet and account',
    /^(node|zone|pool|hub|registry|autoscaler|disk|gpu|funds|card|account|price|limit|scenario|topup)\./,
  ],
] as const

/**
 * Returns the trace of a recording.
 *
 * @param entries the journal of its replay
 * @param end the time of the last line
 */
export function toChromeTrace(
  exchanges: readonly RecordedExchange[],
  entries: readonly Entry[],
  end: Micros,
): ChromeTrace {
  const lanes = new Lanes()
  for (const [index, [, pattern]] of GROUPS.entries()) {
    if (pattern === undefined) addRequests(lanes, index + 1, exchanges, end)
    else
      addEntries(
        lanes,
        index + 1,
        entries.filter(({ kind }) => pattern.test(kind)),
        end,
      )
  }
  return { displayTimeUnit: 'ms', traceEvents: [...lanes.names(), ...lanes.events] }
}

/** The lanes of a trace: a thread of a process each. */
class Lanes {
  readonly events: TraceEvent[] = []
  readonly #threads = new Map<string, { readonly pid: number; readonly tid: number; readonly name: string }>()

  tidOf(pid: number, name: string): number {
    const key = `${pid} ${name}`
    const known = this.#threads.get(key)
    if (known !== undefined) return known.tid
    const tid = this.#threads.size + 1
    this.#threads.set(key, { pid, tid, name })
    return tid
  }

  /**
   * Adds a slice, or a mark without a duration. Some readers split a slice into its begin and its end, and cannot sort
   * the two at one time.
   */
  add(event: Omit<TraceEvent, 'ph' | 'dur' | 's'>, duration: Micros): void {
    this.events.push(duration > 0 ? { ...event, ph: 'X', dur: duration } : { ...event, ph: 'i', s: 't' })
  }

  names(): TraceEvent[] {
    const none = { ph: 'M' as const, ts: 0, cat: '__metadata' }
    const groups = GROUPS.flatMap(([name], index) => [
      { ...none, name: 'process_name', pid: index + 1, tid: 0, args: { name } },
      { ...none, name: 'process_sort_index', pid: index + 1, tid: 0, args: { sort_index: index } },
    ])
    const threads = [...this.#threads.values()].map(({ pid, tid, name }) => {
      return { ...none, name: 'thread_name', pid, tid, args: { name } }
    })
    return [...groups, ...threads]
  }
}

/**
 * Adds a slice for each state of a subject, and a mark for its last state and for what changes no state. A state that ends
 * at once is a mark.
 */
function addEntries(lanes: Lanes, pid: number, entries: readonly Entry[], end: Micros): void {
  const bySubject = new Map<string, Lifecycle>()
  for (const entry of entries) {
    const lifecycle = bySubject.get(entry.subject) ?? new Lifecycle()
    bySubject.set(entry.subject, lifecycle)
    lifecycle.add(entry)
  }
  for (const [subject, { items }] of bySubject) {
    const tid = lanes.tidOf(pid, subject)
    for (const item of items) {
      const { kind, time, fields, seq } = 'mark' in item ? item.mark : item.segment.entry!
      const name = 'mark' in item ? kind.slice(kind.indexOf('.') + 1) : item.segment.name
      const event = { name, cat: kind, ts: time, pid, tid, args: { ...fields, seq } }
      const isMark = 'mark' in item || item.segment.isFinal
      lanes.add(event, isMark ? 0 : (item.segment.end ?? end) - time)
    }
  }
}

/** Adds a slice for each request, and a mark for one without a duration. Requests that overlap are in lanes of their own. */
function addRequests(lanes: Lanes, pid: number, exchanges: readonly RecordedExchange[], end: Micros): void {
  const busyUntil: Micros[] = []
  for (const { line, sentAt, endedAt = end, answer } of exchanges) {
    const free = busyUntil.findIndex(time => time <= sentAt)
    const lane = free < 0 ? busyUntil.length : free
    busyUntil[lane] = endedAt
    const args = { request: line.request, status: answer?.status ?? 0, ...(answer?.wire && { wire: answer.wire.kind }) }
    const name = `${line.method} ${line.path.split('?', 1)[0]}`
    const tid = lanes.tidOf(pid, `lane ${lane + 1}`)
    lanes.add({ name, cat: 'request', ts: sentAt, pid, tid, args }, endedAt - sentAt)
  }
}
