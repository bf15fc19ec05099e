/** Reads journal entries that came in columns. */

import { formatIsoTime } from '../../../lib/text/iso-time.ts'
import type { ControlEntry } from '../../control/client/index.ts'
import type { EntryColumns } from '../../control/journal-view.ts'

/** Returns the entries of columns, in their order. */
export function readEntryColumns({ epoch, kinds, ...columns }: EntryColumns): ControlEntry[] {
  const epochMs = Date.parse(epoch)
  let seq = 0
  let time = 0
  return columns.seq.map((step, place) => {
    seq += step
    time += columns.time[place]!
    const kind = kinds[columns.kind[place]!]!
    return new ColumnEntry(
      epochMs,
      seq,
      time,
      kind,
      columns.subject[place]!,
      columns.cause[place]!,
      columns.fields[place],
    )
  })
}

/** An entry whose time becomes a text when it is shown: the page has far more entries than it shows. */
class ColumnEntry implements ControlEntry {
  readonly #epochMs: number
  readonly seq: number
  readonly time: number
  readonly kind: string
  readonly subject: string
  readonly cause: number
  readonly fields?: NonNullable<ControlEntry['fields']>

  constructor(
    epochMs: number,
    seq: number,
    time: number,
    kind: string,
    subject: string,
    cause: number,
    fields: ControlEntry['fields'],
  ) {
    this.#epochMs = epochMs
    this.seq = seq
    this.time = time
    this.kind = kind
    this.subject = subject
    this.cause = cause
    if (fields !== undefined) this.fields = fields
  }

  get at(): string {
    return formatIsoTime(this.#epochMs, this.time)
  }
}
