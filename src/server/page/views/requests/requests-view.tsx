/** The requests of clients: a list with a filter, and everything about the selected one. */
import { useMemo } from 'preact/hooks'
import { plural } from '../../../../lib/text/format-count.ts'
import { Address } from '../../parts/address.tsx'
import { DetailsHead } from '../../parts/details-head.tsx'
import { formatDuration, formatTime, secondsBetween } from '../../parts/format.ts'
import { FilteredList } from '../../parts/lists/filtered-list.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import { useKeys } from '../../parts/use-keys.ts'
import { useSession } from '../../store/session.ts'
import { decidedWords, FILTER_HELP, matchesFilter } from './filter.ts'
import { RequestDetails } from './request-details.tsx'
import { NEW_REQUEST, NOTHING_KEPT, Resend } from './resend.tsx'

export function RequestsView() {
  const { place, feed } = useSession()
  const revision = feed.revision.value
  const { filter = '', request } = place.value
  const found = useMemo(() => feed.requests.filter(each => matchesFilter(each, filter)), [revision, filter])
  useKeys({
    c: () => {
      if (request !== undefined) place.go({ view: 'causes', entry: request })
    },
  })
  const shown = found.find(({ seq }) => String(seq) === request)
  const close = () => place.go({ request: undefined }, 'replace')
  return (
    <FilteredList
      name="request"
      label="Requests"
      of="requests"
      placeholder="POST 4xx -poll"
      hint={FILTER_HELP}
      found={found}
      total={plural(feed.requests.length, 'request')}
      missed={feed.missedRequests.value}
      columns={[
        ['Sent'],
        ['Status'],
        ['Method'],
        ['Path'],
        ['Operation', 'operation'],
        ['Decided by', 'decided'],
        ['Took', 'waited'],
      ]}
      row={each => {
        const waited = secondsBetween(each.sentAt, each.at)
        return (
          <>
            <time dateTime={each.sentAt}>{formatTime(each.sentAt)}</time>
            <StatusMark status={each.status} />
            <span class="mono method">{each.method}</span>
            <span class="mono path">{each.path}</span>
            <span class="faint operation">{each.operation}</span>
            <span class="faint decided">{decidedWords(each)}</span>
            <span class="faint waited">{waited > 0 ? formatDuration(waited) : ''}</span>
          </>
        )
      }}
      tools={
        <>
          <button type="button" class="small" onClick={() => place.go({ request: 'new' }, 'replace')}>
            New request
          </button>
          <Address route="GET /_sim/requests" fields={{ limit: 1_000 }} />
        </>
      }
      note={feed.requests.length === 0 && <p class="empty">No client has sent a request yet.</p>}
    >
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
    </FilteredList>
  )
}
