import { type Signal, useSignal } from '@preact/signals'
import type { ControlRequest } from '../../../control/client/index.ts'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import type { AnswersByRoute, FieldsByRoute } from '../../simulator/ask.ts'
import { DEFAULT_WORLD, describeError, useSession } from '../../store/session.ts'
import { Comparison } from './comparison.tsx'
import type { Kept } from './content.tsx'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

interface ResendProps {
  readonly request: ControlRequest
  /** What the past has of it. */
  readonly kept: Kept
}

/** Sends a request again, as it was or changed: in this world, in a fork of it, or in a fork of then. */
export function Resend({ request, kept }: ResendProps) {
  const session = useSession()
  const { seq } = request
  const { sent } = kept
  // A body that is not whole can be sent as it was, and not edited.
  const isFixed = sent !== null && sent.note !== null
  const first = sent === null ? request.body : (sent.body ?? undefined)
  const text =
    first === undefined || isFixed ? '' : typeof first === 'string' ? first : JSON.stringify(first, undefined, 2)
  const method = useSignal(request.method)
  const path = useSignal(request.path)
  const headers = useSignal('')
  const body = useSignal(text)
  const isWithoutFault = useSignal(false)
  const waiting = useSignal<{ readonly world: string; readonly stop: AbortController } | undefined>(undefined)
  const answer = useSignal<
    { readonly world: string; readonly value: AnswersByRoute['POST /_sim/requests'] } | undefined
  >(undefined)
  const error = useSignal<string | undefined>(undefined)
  const here = session.world.value
  const [, rule] = request.decidedBy === 'fault' ? (/^(\S+) \(\w+\)$/.exec(request.reason ?? '') ?? []) : []

  const send = async (openWorld: () => Promise<string>) => {
    waiting.value?.stop.abort()
    error.value = undefined
    answer.value = undefined
    const stop = new AbortController()
    try {
      const world = await openWorld()
      waiting.value = { world, stop }
      const changes = {
        ...(method.value !== request.method && { method: method.value }),
        ...(path.value !== request.path && { path: path.value }),
        ...(body.value !== text && { body: body.value.trim() === '' ? null : parseJsonOrText(body.value) }),
        headers: parseHeaders(headers.value),
      }
      const fields: FieldsByRoute['POST /_sim/requests'] =
        sent === null ? toNewRequest(request, first, changes) : { repeat: { seq, world: here }, ...changes }
      const value = await session.ask('POST /_sim/requests', fields, { world, signal: stop.signal })
      answer.value = { world, value }
    } catch (problem) {
      if (!stop.signal.aborted) error.value = describeError(problem)
    }
    if (waiting.value?.stop === stop) waiting.value = undefined
    session.revision.value++
  }
  const make = async (fields: FieldsByRoute['POST /_sim/worlds']) =>
    (await session.ask('POST /_sim/worlds', { from: here, ...fields }, { world: DEFAULT_WORLD })).world
  const forkThen = async () => {
    const world = await make({ before_request: seq })
    if (rule !== undefined && isWithoutFault.value)
      await session.ask('DELETE /_sim/faults/{id}', { id: rule }, { world })
    return world
  }

  return (
    <form
      class="resend"
      aria-label="Edit and send again"
      onSubmit={event => {
        event.preventDefault()
        void send(() => Promise.resolve(here))
      }}
    >
      <div class="resend-line">
        <select
          aria-label="Method"
          value={method.value}
          onChange={event => {
            method.value = event.currentTarget.value
          }}
        >
          {[...new Set([...METHODS, request.method])].map(name => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <input
          class="mono"
          aria-label="Path and query"
          value={path.value}
          onInput={event => {
            path.value = event.currentTarget.value
          }}
        />
      </div>
      <Area label="Other headers" rows={2} text={headers} hint="name: value. Without a value, the header is left out" />
      <Area
        label="Body in JSON"
        rows={Math.min(14, Math.max(3, body.value.split('\n').length))}
        text={body}
        hint={isFixed ? `Sent as it was: ${sent.note}` : 'No body'}
      />
      <div class="toolbar">
        <button type="submit">Send</button>
        <button type="button" onClick={() => send(() => make({}))}>
          Send in a fork of now
        </button>
        <button type="button" class="primary" disabled={sent === null} onClick={() => send(forkThen)}>
          Send in a fork of then
        </button>
        {rule !== undefined && sent !== null && (
          <label>
            <input
              type="checkbox"
              checked={isWithoutFault.value}
              onChange={event => {
                isWithoutFault.value = event.currentTarget.checked
              }}
            />{' '}
            then without {rule}
          </label>
        )}
      </div>
      {error.value !== undefined && <p role="alert">✗ {error.value}</p>}
      {waiting.value !== undefined && (
        <p class="toolbar" role="status">
          No answer yet. It can wait for the time of {waiting.value.world}.
          <MoveOn world={waiting.value.world} />
          <button type="button" class="small" onClick={() => waiting.value?.stop.abort()}>
            Stop waiting
          </button>
        </p>
      )}
      {answer.value !== undefined && (
        <div class="answer">
          {answer.value.world !== here && (
            <p>
              Sent in the world <strong>{answer.value.world}</strong>
              {' · '}
              <a href={session.place.link({ view: 'requests', world: answer.value.world, origin: here })}>
                open this world
              </a>
            </p>
          )}
          <Comparison
            status={request.status}
            then={kept.answer}
            world={answer.value.world}
            answer={answer.value.value}
          />
        </div>
      )}
    </form>
  )
}

function MoveOn({ world }: { world: string }) {
  const session = useSession()
  return (
    <button
      type="button"
      class="small"
      onClick={() => session.act(`Advance ${world} by 1m`, 'POST /_sim/clock/advance', { by: '1m' }, world)}
    >
      Advance it by 1 min
    </button>
  )
}

function Area({ label, rows, text, hint }: { label: string; rows: number; text: Signal<string>; hint: string }) {
  return (
    <textarea
      class="mono"
      aria-label={label}
      placeholder={`${label}: ${hint}`}
      rows={rows}
      value={text.value}
      onInput={event => {
        text.value = event.currentTarget.value
      }}
    />
  )
}

/** Reads headers, one a line. One without a value is left out of the request. */
function parseHeaders(text: string): Record<string, string | null> {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  return Object.fromEntries(
    lines.map(line => {
      const [name = '', ...value] = line.split(':')
      return [name.trim().toLowerCase(), value.join(':').trim() || null]
    }),
  )
}

/** Returns a request of which the past has nothing, with changes: what the list has of it, sent by the same client. */
function toNewRequest(
  { method, path, client }: ControlRequest,
  body: unknown,
  { headers, ...changes }: { readonly headers: Record<string, string | null>; readonly body?: unknown },
): FieldsByRoute['POST /_sim/requests'] {
  return {
    ...{ method, path },
    ...(body !== undefined && { body }),
    ...changes,
    ...(client === '' ? { headers: { authorization: null, ...headers } } : { client, headers }),
  }
}
