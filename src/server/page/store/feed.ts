/** The live events of a world: its newest journal entries and requests, in the order in which they happened. */

import { batch, signal } from '@preact/signals'
import { delayUnlessAborted } from '../../../lib/real-time.ts'
import { formatIsoTime } from '../../../lib/text/iso-time.ts'
import { ServerSentEventParser } from '../../../lib/text/server-sent-events.ts'
import type { ControlEntry, ControlRequest } from '../../control/client/index.ts'
import type { EntryColumns } from '../../control/event-views.ts'
import { AskError, readAnswer } from './ask.ts'

/** The most entries and the most requests that the page keeps. The oldest are dropped a tenth at a time. */
const MAX_ENTRIES = 100_000
const MAX_REQUESTS = 10_000
/** Real milliseconds between two attempts to reach a server that is away. */
const RETRY_MS = 1_000

export type LinkState = 'connecting' | 'live' | 'lost' | 'locked'

/** Opens the stream of events of a world: sends `GET /_sim/events` with a query. */
type OpenEvents = (query: string, signal: AbortSignal) => Promise<Response>

export class Feed {
  readonly link = signal<LinkState>('connecting')
  /** Counts the frames in which something arrived. What reads `entries` or `requests` reads this first. */
  readonly revision = signal(0)
  /** Counts the frames in which something arrived that may have changed the world: all but reading requests. */
  readonly changes = signal(0)
  /** Requests that the simulator had dropped before the page could read them. */
  readonly missedRequests = signal(0)
  entries: ControlEntry[] = []
  requests: ControlRequest[] = []
  #stop = new AbortController()
  #isFramePending = false
  #hasChanges = false

  /** Follows a world from the oldest event that is kept. What was read of another world is forgotten. */
  follow(open: OpenEvents): void {
    this.#stop.abort()
    this.#stop = new AbortController()
    this.#clear()
    this.link.value = 'connecting'
    void this.#run(open, this.#stop.signal)
  }

  close(): void {
    this.#stop.abort()
  }

  async #run(open: OpenEvents, signal: AbortSignal): Promise<void> {
    let last = 'start'
    while (!signal.aborted) {
      await whenVisible(signal)
      const connected = abortedWhenHidden(signal)
      try {
        const response = await open(`?form=columns&after=${encodeURIComponent(last)}`, connected)
        if (!response.ok) await readAnswer(response)
        this.link.value = 'live'
        const parser = new ServerSentEventParser()
        for (const reader = response.body!.getReader(); ; ) {
          const { done, value } = await reader.read()
          if (done || signal.aborted) break
          for (const { type, id, data } of parser.read(value)) {
            last = id
            this.#take(type, JSON.parse(data))
          }
          this.#announce()
        }
      } catch (error) {
        if (error instanceof AskError && error.status === 401) {
          this.link.value = 'locked'
          return
        }
        // A server that started again does not know the position.
        if (error instanceof AskError && error.status === 400) last = 'start'
      }
      if (signal.aborted) return
      // A page that was hidden goes on as soon as it is visible.
      if (connected.aborted) continue
      this.link.value = 'lost'
      await delayUnlessAborted(RETRY_MS, signal)
    }
  }

  #take(type: string, value: unknown): void {
    const { requests = [] } = value as { requests?: readonly ControlRequest[] }
    if (type !== 'requests' || !requests.every(isReading)) this.#hasChanges = true
    if (type === 'entries') this.entries.push(...readEntryColumns(value as EntryColumns))
    else if (type === 'requests') this.requests.push(...requests)
    else if (type === 'gap') this.missedRequests.value += (value as { requests: number }).requests
    else if (type === 'world') this.#clear()
    if (this.entries.length > MAX_ENTRIES) this.entries = this.entries.slice(MAX_ENTRIES / 10)
    if (this.requests.length > MAX_REQUESTS) this.requests = this.requests.slice(MAX_REQUESTS / 10)
  }

  #clear(): void {
    this.entries = []
    this.requests = []
    this.missedRequests.value = 0
    this.#hasChanges = true
    this.#announce()
  }

  /** Counts a revision with the next frame, so that a thousand events are drawn once. */
  #announce(): void {
    if (this.#isFramePending) return
    this.#isFramePending = true
    requestAnimationFrame(() => {
      this.#isFramePending = false
      batch(() => {
        this.revision.value++
        if (this.#hasChanges) this.changes.value++
        this.#hasChanges = false
      })
    })
  }
}

/** Returns whether a request reads the world and leaves it as it is. */
function isReading({ method }: ControlRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Returns the entries of columns, in their order. */
export function readEntryColumns({ epoch, kinds, ...columns }: EntryColumns): ControlEntry[] {
  const epochMs = Date.parse(epoch)
  let seq = 0
  let time = 0
  return columns.seq.map((step, place) => {
    seq += step
    time += columns.time[place]!
    const kind = kinds[columns.kind[place]!]!
    const [subject, cause, fields] = [columns.subject[place]!, columns.cause[place]!, columns.fields[place]]
    return new ColumnEntry(epochMs, { seq, time, kind, subject, cause, ...(fields && { fields }) })
  })
}

/** An entry whose time becomes a text when it is shown: the page has far more entries than it shows. */
class ColumnEntry implements ControlEntry {
  readonly #epochMs: number
  declare readonly seq: number
  declare readonly time: number
  declare readonly kind: string
  declare readonly subject: string
  declare readonly cause: number
  declare readonly fields?: NonNullable<ControlEntry['fields']>

  constructor(epochMs: number, entry: Omit<ControlEntry, 'at'>) {
    this.#epochMs = epochMs
    Object.assign(this, entry)
  }

  get at(): string {
    return formatIsoTime(this.#epochMs, this.time)
  }
}

/** Whether the page can be seen. A tab behind another one, or in a minimized window, asks the simulator nothing. */

/** Resolves when the page is visible, or when the signal is aborted. */
export function whenVisible(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (!document.hidden || signal.aborted) return resolve()
    const done = new AbortController()
    const look = () => {
      if (document.hidden && !signal.aborted) return
      done.abort()
      resolve()
    }
    document.addEventListener('visibilitychange', look, { signal: done.signal })
    signal.addEventListener('abort', look, { signal: done.signal })
  })
}

/** Returns a signal that is aborted with another one, and when the page is hidden. */
function abortedWhenHidden(signal: AbortSignal): AbortSignal {
  const own = new AbortController()
  const look = () => {
    if (document.hidden || signal.aborted) own.abort()
  }
  document.addEventListener('visibilitychange', look, { signal: own.signal })
  signal.addEventListener('abort', look, { signal: own.signal })
  look()
  return own.signal
}
