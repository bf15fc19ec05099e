/** The journal, and for its selected entry what caused it and what came of it. */
import { useMemo } from 'preact/hooks'
import type { ControlEntry } from '../../../control/client/index.ts'
import { Address } from '../../parts/address.tsx'
import { formatCount, formatTime } from '../../parts/format.ts'
import { WindowedList } from '../../parts/windowed-list.tsx'
import { useListKeys } from '../../store/list-keys.ts'
import { useSession } from '../../store/session.ts'
import { CauseGraph } from './cause-graph.tsx'

const ROW_HEIGHT = 28

export function CausesView() {
  const session = useSession()
  const { place, feed } = session
  const revision = feed.revision.value
  const { filter = '', entry } = place.value
  const found = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length === 0) return feed.journal
    return feed.journal.filter(each => matchesWords(each, words))
  }, [revision, filter])
  const selected = entry === undefined ? -1 : found.findIndex(({ seq }) => String(seq) === entry)
  const select = (index: number) => {
    const next = found[Math.max(0, Math.min(found.length - 1, index))]
    if (next !== undefined) place.go({ entry: String(next.seq) }, 'replace')
  }
  useListKeys({ move: step => select(selected === -1 ? found.length - 1 : selected + step) })
  return (
    <div class={`split ${entry === undefined ? '' : 'has-details'}`}>
      <section class="split-list" aria-label="Journal">
        <div class="toolbar">
          <input
            type="search"
            class="filter"
            data-filter
            aria-label="Filter the journal"
            placeholder="Filter: deployment. h100-0"
            value={filter}
            onInput={event => place.go({ filter: event.currentTarget.value }, 'replace')}
          />
          <span class="faint" role="status">
            {formatCount(found.length)} of {formatCount(feed.journal.length)}{' '}
            {feed.journal.length === 1 ? 'entry' : 'entries'}
            {feed.missed.value > 0 && `, ${formatCount(feed.missed.value)} were dropped before they were read`}
          </span>
          <Address route="GET /_sim/journal" fields={{ limit: 20_000 }} />
        </div>
        <div class="list-row entry-columns list-head">
          <span class="number">Entry</span>
          <span>Time</span>
          <span>Kind</span>
          <span>Subject</span>
        </div>
        <WindowedList
          items={found}
          rowHeight={ROW_HEIGHT}
          label="List of journal entries"
          shown={selected}
          followsEnd
          row={(each, index) => (
            <EntryRow key={each.seq} entry={each} isSelected={index === selected} select={() => select(index)} />
          )}
        />
      </section>
      {entry !== undefined && (
        <CauseGraph
          key={entry}
          seq={Number(entry)}
          select={seq => place.go({ entry: String(seq) })}
          close={() => place.go({ entry: undefined }, 'replace')}
        />
      )}
    </div>
  )
}

interface EntryRowProps {
  readonly entry: ControlEntry
  readonly isSelected: boolean
  readonly select: () => void
}

function EntryRow({ entry: { seq, at, kind, subject }, isSelected, select }: EntryRowProps) {
  return (
    <button
      type="button"
      class="list-row entry-columns entry-row"
      aria-pressed={isSelected}
      style={{ height: `${ROW_HEIGHT}px` }}
      onClick={select}
    >
      <span class="faint number">{seq}</span>
      <time dateTime={at}>{formatTime(at)}</time>
      <span class="mono">{kind}</span>
      <span class="mono faint">{subject}</span>
    </button>
  )
}

function matchesWords({ kind, subject, fields }: ControlEntry, words: readonly string[]): boolean {
  const text = `${kind} ${subject} ${Object.values(fields ?? {}).join(' ')}`.toLowerCase()
  return words.every(word => text.includes(word))
}
