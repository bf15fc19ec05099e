import { useSignal } from '@preact/signals'
import type { ControlRequest } from '../../../control/client/index.ts'
import { Address } from '../../parts/address.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { DetailsHead } from '../../parts/details-head.tsx'
import { formatDuration, formatTime, secondsBetween } from '../../parts/format.ts'
import { JsonView } from '../../parts/json-view.tsx'
import { Problem } from '../../parts/panel.tsx'
import { Sentences } from '../../parts/sentences.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import { ThingLink } from '../../parts/thing-link.tsx'
import { CauseTree } from '../../shell/causes.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { Content, type Kept } from './content.tsx'
import { Resend } from './resend.tsx'

export function RequestDetails({ request, close }: { request: ControlRequest; close: () => void }) {
  const isEditing = useSignal(false)
  const { seq, method, path, operation, status, sentAt, at, client, subjects, retryAfter, unread } = request
  const { value: explanation, error } = useAnswer('GET /_sim/explain/{subject}', { subject: String(seq) })
  const { value: kept, error: missing } = useAnswer(
    'GET /_sim/requests/{seq}',
    { seq: String(seq) },
    { refresh: 'once' },
  )
  const waited = secondsBetween(sentAt, at)
  return (
    <section class="split-details" aria-label={`Request ${seq}`}>
      <DetailsHead what="the request" close={close}>
        <h2>
          <StatusMark status={status} /> <span class="mono">{method}</span>
        </h2>
      </DetailsHead>
      <p class="mono break">{path}</p>
      <dl class="facts">
        <dt>Operation</dt>
        <dd>{operation === '' ? 'unknown path' : operation}</dd>
        <dt>Sent</dt>
        <dd>
          <time dateTime={sentAt}>{formatTime(sentAt)}</time>
          {waited > 0 && ` · answered after ${formatDuration(waited)} of virtual time`}
        </dd>
        {retryAfter !== undefined && (
          <>
            <dt>Retry-After</dt>
            <dd>{retryAfter} s</dd>
          </>
        )}
        <dt>Client</dt>
        <dd>{client === '' ? 'no token' : client}</dd>
        {subjects.length > 0 && (
          <>
            <dt>About</dt>
            <dd class="links">
              {subjects.map(id => (
                <ThingLink key={id} id={id} />
              ))}
            </dd>
          </>
        )}
        {unread !== undefined && unread.length > 0 && (
          <>
            <dt>Unread</dt>
            <dd class="warn">{unread.join(', ')}</dd>
          </>
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
        <button
          type="button"
          class="small"
          aria-expanded={isEditing.value}
          disabled={kept === undefined}
          onClick={() => {
            isEditing.value = !isEditing.value
          }}
        >
          Edit and send again
        </button>
        <Address route="GET /_sim/requests/{seq}" fields={{ seq: String(seq) }} />
        <Address route="GET /_sim/explain/{subject}" fields={{ subject: String(seq) }} name="Why" />
      </div>
      {isEditing.value && kept !== undefined && <Resend request={request} kept={kept} />}
    </section>
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
        <button type="button" class="small" onClick={() => session.act('Keep the past from now on', 'POST /_sim/past')}>
          Keep the past from now on
        </button>
      )}
    </>
  )
}
