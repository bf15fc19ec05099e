/** The requests of clients: a list with a filter, and everything about the selected one. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { plural } from '../../../lib/text/numbers.ts'
import type { ControlRequest } from '../../control/client/index.ts'
import { CopyButton, Small } from '../parts/buttons.tsx'
import { FilterField } from '../parts/fields.tsx'
import { formatCount, formatDuration, formatTime, secondsBetween } from '../parts/format.ts'
import { set, useKeys } from '../parts/hooks.ts'
import { type Column, ColumnList } from '../parts/lists.tsx'
import { Address, DetailsHead, Problem } from '../parts/panel.tsx'
import { JsonView, Sentences, StatusMark, ThingLink } from '../parts/words.tsx'
import { CauseTree } from '../shell/causes.tsx'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'
import { Content, type Kept, NEW_REQUEST, NOTHING_KEPT, Resend } from './resend.tsx'

const ROW_HEIGHT = 30

const COLUMNS: readonly Column<ControlRequest>[] = [
  ['Sent', ({ sentAt }) => <time dateTime={sentAt}>{formatTime(sentAt)}</time>],
  ['Status', ({ status }) => <StatusMark status={status} />],
  ['Method', ({ method }) => <span class="mono">{method}</span>],
  ['Path', ({ path }) => <span class="mono">{path}</span>],
  ['Operation', ({ operation }) => operation, 'faint operation'],
  ['Decided by', decidedWords, 'faint decided'],
  ['Took', waitedWords, 'faint waited'],
]

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
          <Small words="New request" onClick={() => place.go({ request: 'new' }, 'replace')} />
          <Address route="GET /_sim/requests" fields={{ limit: 1_000 }} />
        </div>
        {feed.requests.length === 0 && <p class="empty">No client has sent a request yet.</p>}
        <ColumnList
          columns={COLUMNS}
          rowClass="list-row"
          items={found}
          rowHeight={ROW_HEIGHT}
          label="List of requests"
          shown={selected}
          followsEnd
          keyOf={({ seq }) => seq}
          onChoose={select}
        />
      </section>
      {request === 'new' ? (
        <section class="split-details" aria-label="New request">
          <DetailsHead what="the new request" close={close} title="New request" />
          <Resend request={NEW_REQUEST} kept={NOTHING_KEPT} />
        </section>
      ) : (
        shown !== undefined && <RequestDetails key={shown.seq} request={shown} close={close} />
      )}
    </div>
  )
}

/** What the filter means, for its help. */
const FILTER_HELP = 'Words of method, path, operation, status or ids. 4xx is any such status. A minus excludes.'

/** Returns whether a request has every word of a filter. */
function matchesFilter(request: ControlRequest, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const { method, path, operation, status, decidedBy, reason = '', client, subjects } = request
  const text = [method, path, operation, status, decidedBy, reason, client, ...subjects].join(' ').toLowerCase()
  const has = (word: string) => (/^[1-5]xx$/.test(word) ? String(status)[0] === word[0] : text.includes(word))
  return words.every(word => (/^-./.test(word) ? !has(word.slice(1)) : has(word)))
}

/** Returns what decided an answer, for the list. `none` is the request alone: as it should be, or with a mistake. */
function decidedWords({ decidedBy, status }: ControlRequest): string {
  return decidedBy !== 'none' ? decidedBy : status >= 400 ? 'request' : ''
}

function waitedWords({ sentAt, at }: ControlRequest): string {
  const waited = secondsBetween(sentAt, at)
  return waited > 0 ? formatDuration(waited) : ''
}

function RequestDetails({ request, close }: { request: ControlRequest; close: () => void }) {
  const isEditing = useSignal(false)
  const { seq, method, path, operation, status, sentAt, client, subjects, retryAfter, unread } = request
  const { value: explanation, error } = useAnswer('GET /_sim/explain/{subject}', { subject: String(seq) })
  const { value: kept, error: missing } = useAnswer(
    'GET /_sim/requests/{seq}',
    { seq: String(seq) },
    { refresh: 'once' },
  )
  const waited = waitedWords(request)
  return (
    <section class="split-details" aria-label={`Request ${method} ${path}`}>
      <DetailsHead what="the request" close={close}>
        <h2>
          <StatusMark status={status} /> <span class="mono">{method}</span>
        </h2>
      </DetailsHead>
      <p class="mono break">{path}</p>
      <dl class="facts">
        <Fact title="Operation">{operation === '' ? 'unknown path' : operation}</Fact>
        <Fact title="Sent">
          <time dateTime={sentAt}>{formatTime(sentAt)}</time>
          {waited && ` · answered after ${waited} of virtual time`}
        </Fact>
        {retryAfter !== undefined && <Fact title="Retry-After">{retryAfter} s</Fact>}
        <Fact title="Client">{client === '' ? 'no token' : client}</Fact>
        {subjects.length > 0 && (
          <Fact title="About" class="links">
            {subjects.map(id => (
              <ThingLink key={id} id={id} />
            ))}
          </Fact>
        )}
        {unread !== undefined && unread.length > 0 && (
          <Fact title="Unread" class="warn">
            {unread.join(', ')}
          </Fact>
        )}
      </dl>
      <h3>Why this answer</h3>
      <Problem text={error} />
      <Sentences of={explanation?.sentences} />
      <CauseTree seq={String(seq)} />
      <Problem text={missing} />
      {kept !== undefined && <Sides request={request} kept={kept} />}
      <div class="toolbar actions">
        {Object.entries(kept?.code ?? {}).map(([form, code]) => (
          <CopyButton key={form} label={`Copy as ${form}`} text={() => code} />
        ))}
        <Small
          words="Edit and send again"
          aria-expanded={isEditing.value}
          disabled={kept === undefined}
          onClick={() => set(isEditing, !isEditing.value)}
        />
        <Address route="GET /_sim/requests/{seq}" fields={{ seq: String(seq) }} />
        <Address route="GET /_sim/explain/{subject}" fields={{ subject: String(seq) }} name="Why" />
      </div>
      {isEditing.value && kept !== undefined && <Resend request={request} kept={kept} />}
    </section>
  )
}

function Fact({ title, class: style, children }: { title: string; class?: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{title}</dt>
      <dd class={style}>{children}</dd>
    </>
  )
}

/** What was sent and what was answered; without a past, what the list has and why the rest is missing. */
function Sides({ request: { body }, kept: { sent, answer, kept, reason } }: { request: ControlRequest; kept: Kept }) {
  const session = useSession()
  return (
    <>
      <h3>Sent</h3>
      {sent !== null ? (
        <Content content={sent} of="the request" />
      ) : (
        body !== undefined && <JsonView value={body} label="Body of the request" />
      )}
      <h3>Answered</h3>
      {answer !== null && <Content content={answer} of="the answer" />}
      {answer?.fault != null && <p class="warn">! {answer.fault}</p>}
      {reason !== null && <p class="faint">{reason}</p>}
      {!kept && (
        <Small
          words="Keep the past from now on"
          onClick={() => session.act('Keep the past from now on', 'POST /_sim/past')}
        />
      )}
    </>
  )
}
