/** One world of a running server: requests to it in order, its time as of the last answer, and its journal. */

import { Clock } from '../../../kernel/clock.ts'
import type { Entry, EntryFields } from '../../../kernel/journal.ts'
import type { ControlClient } from './control-client.ts'
import { isReadRequest } from './local.ts'

const JOURNAL_PAGE = 10_000

export class RemoteWorld {
  readonly control: ControlClient
  /** Path of the world on its server. */
  readonly path: string
  /** The world's time as of the last answer that contained it. */
  clock: Clock
  /** Grows with each request that may change the world. */
  changeCount = 0
  /** Entries of the journal that were read so far, and the notes of the script between them. */
  entries: Entry[] = []
  /** Sequence number of the last entry that was read. */
  lastReadSeq = 0
  /** Whether the journal may have entries that were not read. A new world has those of its first fault rules. */
  #isJournalStale = true
  #queue: Promise<unknown> = Promise.resolve()
  #tasksInProgress = 0

  constructor(control: ControlClient, path: string, epochMs: number) {
    this.control = control
    this.path = path
    this.clock = new Clock(epochMs)
  }

  /** Whether the server is working for this world. */
  get isBusy(): boolean {
    return this.#tasksInProgress > 0
  }

  /** Runs work after all earlier requests, as in one process. */
  inOrder<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(async () => {
      this.#tasksInProgress++
      try {
        return await act()
      } finally {
        this.#tasksInProgress--
      }
    })
    this.#queue = result.catch(() => {})
    return result
  }

  /** Sends a request to the control plane of this world. */
  request(method: string, path: string, body?: unknown) {
    if (method !== 'GET') this.#isJournalStale = true
    return this.control.request(method, `${this.path}/_sim${path}`, body)
  }

  /** Sends a request that changes the world, in order. */
  sendChange<T>(command: () => Promise<T>): Promise<T> {
    this.#isJournalStale = true
    this.changeCount++
    return this.inOrder(command)
  }

  /** Reports a request to the service. */
  onServiceRequest(isRead: boolean): void {
    this.#isJournalStale = true
    if (!isRead) this.changeCount++
  }

  /** Sends a request that moves time, in order. */
  requestMove(path: string, body: object): Promise<{ readonly reached: boolean }> {
    return this.inOrder(async () => {
      const result = await this.request('POST', path, body)
      const { epochMs } = this.clock
      this.clock = new Clock(epochMs, this.clock.elapsedAt(result.now))
      return result
    })
  }

  /** Adds a note after everything that has happened so far. */
  addNote(kind: string, subject: string, fields: EntryFields): void {
    const note: Entry = { seq: 0, time: this.clock.now, kind, subject, cause: 0, fields }
    this.inOrder(async () => {
      await this.readJournal()
      this.entries.push(note)
      // The next request that reads the journal reports a connection error.
    }).catch(() => {})
  }

  /** Reads the journal up to now. Only for use inside `inOrder`. */
  async readJournal(): Promise<void> {
    if (!this.#isJournalStale) return
    for (;;) {
      const path = `/journal?after=${this.lastReadSeq}&limit=${JOURNAL_PAGE}`
      const { entries, last, dropped } = await this.request('GET', path)
      if (dropped > this.lastReadSeq) {
        throw new Error(
          `Failed to keep the record: the server dropped ${dropped - this.lastReadSeq} entries before they were read. Advance in smaller steps.`,
        )
      }
      for (const { at: _, ...entry } of entries) this.#addEntry({ fields: undefined, ...entry })
      this.lastReadSeq = entries.at(-1)?.seq ?? last
      if (this.lastReadSeq >= last) break
    }
    this.#isJournalStale = false
  }

  /** Reads the requests after `seq` again, because the outcome of some has changed. */
  async rereadRequests(seq: number): Promise<void> {
    let after = seq
    while (after < this.lastReadSeq) {
      const { entries } = await this.request('GET', `/journal?after=${after}&limit=${JOURNAL_PAGE}`)
      if (entries.length === 0) return
      for (const { at: _, ...entry } of entries) {
        const place = entry.kind === 'request' ? this.entries.findIndex(({ seq }) => seq === entry.seq) : -1
        if (place >= 0) this.entries = this.entries.with(place, { fields: undefined, ...entry })
      }
      after = entries.at(-1).seq
    }
  }

  #addEntry(entry: Entry): void {
    // Requests of this class to the control plane are not part of the scenario.
    if (entry.kind === 'request' && /^\w+ \/_sim(?:[/?]|$)/.test(entry.subject)) return
    if (isReadRequest(entry) && isReadRequest(this.entries.at(-1))) this.entries.pop()
    this.entries.push(entry)
  }
}
