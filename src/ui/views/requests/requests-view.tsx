/** The requests of clients: a list with a filter, and everything about the selected one. */
import { useMemo } from 'preact/hooks'
import type { ControlRequest } from '../../../control/client/index.ts'
import { plural } from '../../../lib/format-count.ts'
import { Address } from '../../parts/address.tsx'
import { formatCount, formatDuration, formatTime, secondsBetween } from '../../parts/format.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import { useKeys } from '../../parts/use-keys.ts'
import { WindowedList } from '../../parts/windowed-list.tsx'
import { useListKeys } from '../../store/list-keys.ts'
import { useSession } from '../../store/session.ts'
import { FILTER_HELP, matchesFilter } from './filter.ts'
import { RequestDetails } from './request-details.tsx'
import { NEW_REQUEST, NOTHING_KEPT, Resend } from './resend.tsx'

const ROW_HEIGHT = 30

export function RequestsView() {
  const session = useSession()
  const { place, feed } = session
  const revision = feed.revision.value
  const { filter = '', request } = place.value
  const found = useMemo(() => feed.requests.filter(each => matchesFilter(each, filter)), [revision, filter])
  const selected = found.findIndex(({ seq }) => String(seq) === request)
  const select = (index: number) => {
    const next = found[Math.max(0, Math.min(found.length - 1, index))]
    if (next !== undefined) place.go({ request: String(next.seq) }, 'replace')
  }
  useListKeys({ move: step => select(selected === -1 ? found.length - 1 : selected + step) })
  useKeys({
    c: () => {
      if (request !== undefined) place.go({ view: 'causes', entry: request })
    },
  })
  const shown = found[selected]
  const isNew = request === 'new'
  return (
    <div class={`split ${shown === undefined && !isNew ? '' : 'has-details'}`}>
      <section class="split-list" aria-label="Requests">
        <div class="toolbar">
          <input
            type="search"
            class="filter"
            data-filter
            aria-label="Filter requests"
            placeholder="Filter: POST 4xx -poll"
            title={FILTER_HELP}
            value={filter}
            onInput={event => place.go({ filter: event.currentTarget.value }, 'replace')}
          />
          <span class="faint" role="status">
            {formatCount(found.length)} of {plural(feed.requests.length, 'request')}
            {feed.missedRequests.value > 0 &&
              `, ${formatCount(feed.missedRequests.value)} were dropped before they were read`}
          </span>
          <button type="button" class="small" onClick={() => place.go({ request: 'new' }, 'replace')}>
            New request
          </button>
          <Address route="GET /_sim/requests" fields={{ limit: 1_000 }} />
        </div>
        {feed.requests.length === 0 && <p class="empty">No client has sent a request yet.</p>}
        <div class="list-row request-columns list-head">
          {COLUMNS.map(([style, title]) => (
            <span key={title} class={style}>
              {title}
            </span>
          ))}
        </div>
        <WindowedList
          items={found}
          rowHeight={ROW_HEIGHT}
          label="List of requests"
          shown={selected}
          followsEnd
          row={(each, index) => (
            <Row key={each.seq} request={each} isSelected={index === selected} select={() => select(index)} />
          )}
        />
      </section>
      {isNew && (
        <section class="split-details" aria-label="New request">
          <Resend request={NEW_REQUEST} kept={NOTHING_KEPT} />
        </section>
      )}
      {shown !== undefined && (
        <RequestDetails key={shown.seq} request={shown} close={() => place.go({ request: undefined }, 'replace')} />
      )}
    </div>
  )
}

/** The titles of the columns, with the classes of their cells. */
const COLUMNS = [
  ['', 'Sent'],
  ['', 'Status'],
  ['', 'Method'],
  ['', 'Path'],
  ['operation', 'Operation'],
  ['decided', 'Decided by'],
  ['waited', 'Took'],
] as const

interface RowProps {
  readonly request: ControlRequest
  readonly isSelected: boolean
  readonly select: () => void
}

function Row({ request, isSelected, select }: RowProps) {
  const { method, path, operation, status, sentAt, at, decidedBy } = request
  const waited = secondsBetween(sentAt, at)
  return (
    <button
      type="button"
      class="list-row request-columns request-row"
      aria-pressed={isSelected}
      style={{ height: `${ROW_HEIGHT}px` }}
      onClick={select}
    >
      <time dateTime={sentAt}>{formatTime(sentAt)}</time>
      <StatusMark status={status} />
      <span class="mono method">{method}</span>
      <span class="mono path">{path}</span>
      <span class="faint operation">{operation}</span>
      <span class="faint decided">{decidedBy === 'none' ? '' : decidedBy}</span>
      <span class="faint waited">{waited > 0 ? formatDuration(waited) : ''}</span>
    </button>
  )
}
