/** The journal, and for its selected entry what caused it and what came of it. */
import { useMemo } from 'preact/hooks'
import type { ControlEntry } from '../../control/client/index.ts'
import { Address } from '../parts/address.tsx'
import { formatCount, formatTime } from '../parts/format.ts'
import { FilteredList } from '../parts/lists/filtered-list.tsx'
import { useSession } from '../store/session.ts'
import { CauseGraph } from './cause-graph.tsx'

export function CausesView() {
  const { place, feed } = useSession()
  const revision = feed.revision.value
  const { filter = '', entry } = place.value
  const found = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length === 0) return feed.journal
    return feed.journal.filter(each => matchesWords(each, words))
  }, [revision, filter])
  const { length } = feed.journal
  return (
    <FilteredList
      name="entry"
      label="Journal"
      of="journal entries"
      placeholder="deployment. h100-0"
      found={found}
      total={`${formatCount(length)} ${length === 1 ? 'entry' : 'entries'}, without requests to /_sim`}
      missed={feed.missed.value}
      columns={[['Entry', 'number'], ['Time'], ['Kind'], ['Subject']]}
      row={({ seq, at, kind, subject }) => (
        <>
          <span class="faint number">{seq}</span>
          <time dateTime={at}>{formatTime(at)}</time>
          <span class="mono">{kind}</span>
          <span class="mono faint">{subject}</span>
        </>
      )}
      tools={<Address route="GET /_sim/journal" fields={{ limit: 20_000 }} />}
    >
      {entry !== undefined && (
        <CauseGraph
          key={entry}
          seq={Number(entry)}
          select={seq => place.go({ entry: String(seq) })}
          close={() => place.go({ entry: undefined }, 'replace')}
        />
      )}
    </FilteredList>
  )
}

function matchesWords({ kind, subject, fields }: ControlEntry, words: readonly string[]): boolean {
  const text = `${kind} ${subject} ${Object.values(fields ?? {}).join(' ')}`.toLowerCase()
  return words.every(word => text.includes(word))
}
