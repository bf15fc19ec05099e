import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { AppendLog } from '../../kernel/layered-map.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import type { ChargedTokens, ChargedUnits, LedgerEntry } from './ledger-types.ts'
import type { Microcents } from './money.ts'

/** The kinds of postings. The log stores their positions. */
const KINDS = ['funds', 'topup', 'rent', 'tokens', 'units', 'adjustment'] as const satisfies LedgerEntry['kind'][]

/** The columns of a posting. `charge` is the position of its charge; -1 without one. */
const POSTING = { time: 0, kind: 1, microcents: 2, charge: 3, width: 4 } as const

/** The postings of the ledger. Every end of a stretch of GPU time adds one, so they are columns instead of objects. */
export class PostingLog {
  readonly #numbers = new NumberLog(POSTING.width)
  readonly #subjects = new AppendLog<string>()
  readonly #charges = new AppendLog<ChargedTokens | ChargedUnits>()

  archive(archive: Archive): void {
    this.#numbers.archive(archive)
    this.#subjects.archive(archive)
    this.#charges.archive(archive)
  }

  get length(): number {
    return this.#numbers.length
  }

  /** Adds a posting. */
  push(
    time: Micros,
    kind: LedgerEntry['kind'],
    subject: string,
    microcents: Microcents,
    charge?: ChargedTokens | ChargedUnits,
  ): void {
    const charged = charge === undefined ? -1 : this.#charges.push(charge)
    this.#numbers.push([time, KINDS.indexOf(kind), microcents, charged])
    this.#subjects.push(subject)
  }

  /** Returns a posting. */
  at(position: number): LedgerEntry {
    const numbers = this.#numbers
    const charge = numbers.at(position, POSTING.charge)
    return {
      time: numbers.at(position, POSTING.time),
      kind: KINDS[numbers.at(position, POSTING.kind)]!,
      subject: this.#subjects.at(position)!,
      microcents: numbers.at(position, POSTING.microcents),
      ...(charge >= 0 && this.#charges.at(charge)),
    }
  }

  /** Returns the postings, oldest first. */
  *[Symbol.iterator](): Generator<LedgerEntry> {
    for (let position = 0; position < this.length; position++) yield this.at(position)
  }

  /** Returns the postings between two times, oldest first. */
  between(from: Micros, to: Micros): LedgerEntry[] {
    const postings: LedgerEntry[] = []
    for (let position = 0; position < this.length; position++) {
      const time = this.#numbers.at(position, POSTING.time)
      if (time >= from && time <= to) postings.push(this.at(position))
    }
    return postings
  }
}
