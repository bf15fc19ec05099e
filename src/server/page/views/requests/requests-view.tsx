/** The requests of clients: a list with a filter, and everything about the selected one. */
import { useMemo } from 'preact/hooks'
import { plural } from '../../../../lib/text/format-count.ts'
import { Address } from '../../parts/address.tsx'
import { DetailsHead } from '../../parts/details-head.tsx'
import { formatCount, formatDuration, formatTime, secondsBetween } from '../../parts/format.ts'
import { FilterField } from '../../parts/lists/filter-field.tsx'
import { WindowedList } from '../../parts/lists/windowed-list.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import { useKeys } from '../../parts/use-keys.ts'
import { useSession } from '../../store/session.ts'
import { decidedWords, FILTER_HELP, matchesFilter } from './filter.ts'
import { RequestDetails } from './request-details.tsx'
import { NEW_REQUEST, NOTHING_KEPT, Resend } from './resend.tsx'

const ROW_HEIGHT = 30
/** Title and class of each column. */
const COLUMNS = [
  ['Sent'],
  ['Status'],
  ['Method'],
  ['Path'],
  ['Operation', 'operation'],
  ['Decided by', 'decided'],
  ['Took', 'waited'],
] as const

export function RequestsView() {
  const { place, feed } = useSession()
  const revision = feed.revision.value
  const { filter = '', request } = place.value
  const found = useMemo(() => feed.requests.filter(each => matchesFilter(each, filter)), [revision, filter])
  const selected = found.findIndex(({ seq }) => String(seq) === request)
  const select = (index: number) => {
    const next = found[Math.max(0, Math.min(found.length - 1, index))]
    if (next !== undefined) place.go({ request: String(next.seq) }, 'replace')
  }
  const move = (step: number) => () => select(selected === -1 ? found.length - 1 : selected + step)
  useKeys({ j: move(1), k: move(-1) })
  const shown = found[selected]
  const close = () => place.go({ request: undefined }, 'replace')
  const missed = feed.missedRequests.value
  return (
    <div class={`split ${request === 'new' || shown !== undefined ? 'has-details' : ''}`}>
      <section class="split-list" aria-label="Requests">
        <div class="toolbar">
          <FilterField of="requests" placeholder="POST 4xx -poll" hint={FILTER_HELP} />
          <span class="faint" role="status">
            {formatCount(found.length)} of {plural(feed.requests.length, 'request')}
            {missed > 0 && `, ${formatCount(missed)} were dropped unread`}
          </span>
          <button type="button" class="small" onClick={() => place.go({ request: 'new' }, 'replace')}>
            New request
          </button>
          <Address route="GET /_sim/requests" fields={{ limit: 1_000 }} />
        </div>
        {feed.requests.length === 0 && <p class="empty">No client has sent a request yet.</p>}
        <div class="list-row request-columns list-head">
          {COLUMNS.map(([title, style]) => (
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
          row={(each, index) => {
            const waited = secondsBetween(each.sentAt, each.at)
            return (
              <button
                key={each.seq}
                type="button"
                class="list-row request-columns request-row"
                aria-pressed={index === selected}
                style={{ height: `${ROW_HEIGHT}px` }}
                onClick={() => select(index)}
              >
                <time dateTime={each.sentAt}>{formatTime(each.sentAt)}</time>
                <StatusMark status={each.status} />
                <span class="mono method">{each.method}</span>
                <span class="mono path">{each.path}</span>
                <span class="faint operation">{each.operation}</span>
                <span class="faint decided">{decidedWords(each)}</span>
                <span class="faint waited">{waited > 0 ? formatDuration(waited) : ''}</span>
              </button>
            )
          }}
        />
      </section>
      {request === 'new' ? (
        <section class="split-details" aria-label="New request">
          <DetailsHead what="the new request" close={close}>
            <h2>New request</h2>
          </DetailsHead>
          <Resend request={NEW_REQUEST} kept={NOTHING_KEPT} />
        </section>
      ) : (
        shown !== undefined && <RequestDetails key={shown.seq} request={shown} close={close} />
      )}
    </div>
  )
}
