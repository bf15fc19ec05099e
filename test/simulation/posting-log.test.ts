import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ArchiveReader, ArchiveWriter, forkState } from '../../src/kernel/archive.ts'
import type { LedgerEntry } from '../../src/simulation/account/ledger-types.ts'
import { PostingLog } from '../../src/simulation/account/posting-log.ts'
import { forAll } from '../setup/for-all.ts'

const base = { time: fc.nat(100), subject: fc.string(), microcents: fc.integer() }
const posting: fc.Arbitrary<LedgerEntry> = fc.oneof(
  fc.record({ ...base, kind: fc.constantFrom('funds', 'topup', 'rent', 'adjustment') }),
  fc.record({ ...base, kind: fc.constant('tokens'), tokens: fc.nat(), token_id: fc.string() }),
  fc.record({
    ...base,
    kind: fc.constant('units'),
    pricing_type: fc.constant('tokens'),
    units: fc.nat(),
    token_id: fc.string(),
  }),
)

function add(log: PostingLog, { time, kind, subject, microcents, ...charge }: LedgerEntry): void {
  log.push(time, kind, subject, microcents, kind === 'tokens' || kind === 'units' ? (charge as never) : undefined)
}

test('postings are read as they were added, on both sides of a fork and after a snapshot', () => {
  const some = fc.array(posting, { maxLength: 300 })
  forAll([some, some, some, fc.nat(100), fc.nat(100)], { numRuns: 30 }, (before, mine, theirs, from, to) => {
    const log = new PostingLog()
    for (const one of before) add(log, one)
    const fork = new PostingLog()
    forkState([log], [fork])
    for (const one of mine) add(log, one)
    for (const one of theirs) add(fork, one)
    expect([...log]).toEqual([...before, ...mine])
    expect([...fork]).toEqual([...before, ...theirs])
    expect(log.between(from, to)).toEqual([...log].filter(({ time }) => time >= from && time <= to))
    const archive = new ArchiveWriter()
    log.archive(archive)
    const restored = new PostingLog()
    restored.archive(new ArchiveReader(archive.values))
    expect([restored.length, ...restored]).toEqual([log.length, ...log])
  })
})
