import { useSignal } from '@preact/signals'
import type { ControlRequest } from '../../../control/client/index.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { formatDuration, formatTime, secondsBetween } from '../../parts/format.ts'
import { JsonView } from '../../parts/json-view.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import { ThingLink } from '../../parts/thing-link.tsx'
import { type Session, useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { CODE_FORMS, type SentRequest } from './as-code.ts'
import { Resend } from './resend.tsx'

export function RequestDetails({ request, close }: { request: ControlRequest; close: () => void }) {
  const session = useSession()
  const isEditing = useSignal(false)
  const { seq, method, path, operation, status, sentAt, at, client, subjects, body, retryAfter, unread } = request
  const { value: explanation, error } = useAnswer('GET /_sim/explain/{subject}', { subject: String(seq) })
  const waited = secondsBetween(sentAt, at)
  return (
    <section class="split-details" aria-label={`Request ${seq}`}>
      <div class="details-head">
        <h2>
          <StatusMark status={status} /> <span class="mono">{method}</span>
        </h2>
        <button type="button" class="quiet" aria-label="Close the request" onClick={close}>
          ✕
        </button>
      </div>
      <p class="mono break">{path}</p>
      <dl class="facts">
        <dt>Operation</dt>
        <dd>{operation === '' ? 'unknown path' : operation}</dd>
        <dt>Sent</dt>
        <dd>
          <time dateTime={sentAt}>{formatTime(sentAt)}</time>
          {waited > 0 && ` · answered after ${formatDuration(waited)} of the world's time`}
        </dd>
        {retryAfter !== undefined && (
          <>
            <dt>Retry-After</dt>
            <dd>{retryAfter} s</dd>
          </>
        )}
        <dt>Client</dt>
        <dd>{client === '' ? 'no token' : client}</dd>
        <dt>Journal</dt>
        <dd>
          <a href={session.place.link({ view: 'causes', entry: String(seq) })}>entry {seq}: causes and effects</a>
        </dd>
        {subjects.length > 0 && (
          <>
            <dt>Names</dt>
            <dd class="links">
              {subjects.map(id => (
                <ThingLink key={id} id={id} />
              ))}
            </dd>
          </>
        )}
        {unread !== undefined && unread.length > 0 && (
          <>
            <dt>Not read</dt>
            <dd class="warn">{unread.join(', ')}</dd>
          </>
        )}
      </dl>
      <h3>Why this answer</h3>
      {error !== undefined && <p role="alert">✗ {error}</p>}
      <ul class="sentences">
        {explanation?.sentences.map(sentence => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {explanation !== undefined && explanation.chain.length > 1 && (
        <ol class="chain" aria-label="Chain of causes">
          {explanation.chain.slice(1).map(entry => (
            <li key={entry.seq}>
              <time dateTime={entry.at}>{formatTime(entry.at)}</time> {entry.sentence}
            </li>
          ))}
        </ol>
      )}
      {body !== undefined && (
        <>
          <h3>Body</h3>
          <JsonView value={body} label="Body of the request" />
        </>
      )}
      <div class="toolbar actions">
        {CODE_FORMS.map(({ label, write }) => (
          <CopyButton
            key={label}
            label={`Copy as ${label}`}
            text={async () => write(await toSentRequest(session, request))}
          />
        ))}
        <button
          type="button"
          class="small"
          aria-expanded={isEditing.value}
          onClick={() => {
            isEditing.value = !isEditing.value
          }}
        >
          Edit and send again
        </button>
      </div>
      {isEditing.value && <Resend request={request} />}
    </section>
  )
}

/** Adds the path of the operation, which the OpenAPI document of the world has. */
async function toSentRequest(session: Session, request: ControlRequest): Promise<SentRequest> {
  const { operation, method, path, status, body } = request
  const response = await session.send('/openapi.json')
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, { operationId?: string }>> }
  const template = Object.keys(paths).find(key =>
    Object.values(paths[key]!).some(({ operationId }) => operationId === operation),
  )
  return { operation, method, path, template: template ?? path, status, ...(body !== undefined && { body }) }
}
