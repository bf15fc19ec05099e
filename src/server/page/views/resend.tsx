import { useSignal } from '@preact/signals'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import { plural } from '../../../lib/text/numbers.ts'
import type { ControlRequest } from '../../control/client/index.ts'
import { Button, Small } from '../parts/buttons.tsx'
import { formatTime } from '../parts/format.ts'
import { intoView, set } from '../parts/hooks.ts'
import { Table } from '../parts/lists.tsx'
import { JsonView, StatusMark } from '../parts/words.tsx'
import type { AnswersByRoute, FieldsByRoute } from '../store/ask.ts'
import { DEFAULT_WORLD, describeError, useSession } from '../store/session.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

type NewRequest = FieldsByRoute['POST /_sim/requests']

/** What the form of a new request begins with. Its client is the first token of the world. */
export const NEW_REQUEST = { seq: 0, method: 'GET', path: '/deploy/list' } as ControlRequest
export const NOTHING_KEPT = { sent: null } as Kept

/** A request that was sent again. */
interface Sent {
  readonly world: string
  /** Ends the wait for its answer. */
  readonly stop: AbortController
  readonly answer?: AnswersByRoute['POST /_sim/requests']
  readonly error?: string
}

interface ResendProps {
  readonly request: ControlRequest
  /** What the past has of it. */
  readonly kept: Kept
}

/** Sends a request again, as it was or changed: in this world, in a fork of it, or in a fork of its past. */
export function Resend({ request, kept }: ResendProps) {
  const session = useSession()
  const newest = useSignal<Sent | undefined>(undefined)
  const mistake = useSignal<string | undefined>(undefined)
  const { seq, reason = '' } = request
  const past = kept.sent
  const here = session.world.value
  const rule = request.decidedBy === 'fault' ? /^(\S+) \(\w+\)$/.exec(reason)?.[1] : undefined
  // A body that is not whole can be sent as it was, and not edited.
  const problem = past?.note ?? undefined
  const body = past === null ? request.body : problem === undefined ? (past.body ?? undefined) : undefined
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body, undefined, 2)

  /** Makes the world of a button. */
  const openWorld = async (place: string, isWithoutRule: boolean): Promise<string> => {
    if (place === 'here') return here
    const moment = place === 'then' ? { from: here, before_request: seq } : { from: here }
    const { world } = await session.ask('POST /_sim/worlds', moment, { world: DEFAULT_WORLD })
    if (isWithoutRule) await session.ask('DELETE /_sim/faults/{id}', { id: rule! }, { world })
    return world
  }
  /** Returns the request of the form: what the person changed of the first one. */
  const readRequest = (form: FormData): NewRequest => {
    const field = (name: string) => String(form.get(name))
    const sent = field('body').replaceAll('\r', '')
    const headers = parseHeaders(field('headers'))
    const changes = {
      ...(field('method') !== request.method && { method: field('method') }),
      ...(field('path') !== request.path && { path: field('path') }),
      ...(sent !== text && { body: sent.trim() === '' ? null : parseJsonOrText(sent) }),
    }
    if (past !== null) return { repeat: { seq, world: here }, ...changes, headers }
    const { method, path, client } = request
    return {
      ...{ method, path, body, ...changes },
      ...(client === '' ? { headers: { authorization: null, ...headers } } : { client, headers }),
    }
  }
  const send = async (form: FormData, place: string) => {
    const stop = new AbortController()
    const show = (sent: Omit<Sent, 'stop'>) => set(newest, { ...sent, stop })
    newest.value?.stop.abort()
    newest.value = undefined
    let world = here
    try {
      world = await openWorld(place, place === 'then' && form.has('without'))
      show({ world })
      const answer = await session.ask('POST /_sim/requests', readRequest(form), { world, signal: stop.signal })
      show({ world, answer })
    } catch (error) {
      if (stop.signal.aborted) newest.value = undefined
      else show({ world, error: describeError(error) })
    }
    session.revision.value++
  }

  return (
    <form
      class="resend"
      aria-label="Edit and send again"
      onSubmit={event => {
        event.preventDefault()
        void send(new FormData(event.currentTarget), (event.submitter as HTMLButtonElement | null)?.value ?? 'here')
      }}
    >
      <div class="resend-line">
        <select name="method" aria-label="Method">
          {[...new Set([request.method, ...METHODS])].map(name => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <input name="path" class="mono" aria-label="Path and query" defaultValue={request.path} />
      </div>
      <textarea
        name="headers"
        class="mono"
        rows={2}
        aria-label="Header changes"
        placeholder="Header changes, as name: value. Without a value: not sent"
      />
      <textarea
        name="body"
        class="mono"
        rows={Math.min(14, Math.max(3, text.split('\n').length))}
        aria-label="Body in JSON"
        placeholder={problem === undefined ? 'No body' : `Not editable: ${problem}`}
        defaultValue={text}
        onInput={event => set(mistake, mistakeIn(event.currentTarget.value))}
      />
      {mistake.value !== undefined && (
        <p class="warn" role="status" ref={intoView}>
          ! This is not JSON, and is sent as a text: {mistake.value}
        </p>
      )}
      <div class="toolbar">
        <Button words="Send" type="submit" value="here" />
        <Button words="Send in a fork" type="submit" value="now" />
        {rule !== undefined && past !== null && (
          <label>
            <input type="checkbox" name="without" /> without {rule}
          </label>
        )}
        <Button
          words="Send in a fork of the past"
          type="submit"
          value="then"
          class="primary"
          disabled={past === null}
        />
      </div>
      {newest.value !== undefined && <Outcome sent={newest.value} request={request} kept={kept} />}
    </form>
  )
}

function Outcome({ sent: { world, stop, answer, error }, request, kept }: ResendProps & { readonly sent: Sent }) {
  const session = useSession()
  if (error !== undefined) {
    return (
      <p role="alert" ref={intoView}>
        ✗ {error}
      </p>
    )
  }
  const here = session.world.value
  return (
    <div ref={intoView}>
      {world !== here && (
        <p>
          Sent in the world <strong>{world}</strong>
          {' · '}
          <a href={session.place.link({ view: 'requests', world, origin: here })}>open this world</a>
        </p>
      )}
      {answer === undefined ? (
        <p class="toolbar" role="status">
          No answer yet. It may wait for time.
          <Small
            words="Advance it by 1 min"
            onClick={() => session.act(`Advance ${world} by 1m`, 'POST /_sim/clock/advance', { by: '1m' }, world)}
          />
          <Small words="Stop waiting" onClick={() => stop.abort()} />
        </p>
      ) : request.seq === 0 ? (
        <>
          <StatusMark status={answer.status} />
          <Content content={answer} of="the answer" />
        </>
      ) : (
        <Comparison status={request.status} then={kept.answer} {...{ world, answer }} />
      )}
    </div>
  )
}

/** Returns where a body is not JSON, in the words of the browser. An empty one is fine. */
function mistakeIn(body: string): string | undefined {
  try {
    if (body.trim() !== '') JSON.parse(body)
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

/** Reads headers, one a line. One without a value is left out of the request. */
function parseHeaders(text: string): Record<string, string | null> {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  return Object.fromEntries(
    lines.map(line => {
      const [name = '', ...value] = line.split(':')
      return [name.trim(), value.join(':').trim() || null]
    }),
  )
}

/** How many differences are listed. */
const MAX_SHOWN = 40

type ComparisonProps = Required<Pick<Sent, 'world' | 'answer'>> & { status: number; then: Kept['answer'] }

/** The original answer, if the past has it, and the new one side by side: the statuses, and what differs. */
function Comparison({ status, then, world, answer }: ComparisonProps) {
  // The date of an answer is that of its clock, and says nothing about the answer.
  const differences =
    then === null ? undefined : compareAnswers(then, answer).filter(({ part }) => part !== 'header date')
  return (
    <div ref={intoView} class="answers">
      <Table
        titles={['Part', 'Then', `${world}, ${formatTime(answer.now)}`]}
        rows={[
          {
            key: 'status',
            cells: ['status', ...[status, answer.status].map(one => <StatusMark key={one} status={one} />)],
          },
          ...(differences ?? [])
            .filter(({ part }) => part !== 'status')
            .slice(0, MAX_SHOWN)
            .map(({ part, before, after }) => ({ key: part, cells: [part, before ?? '–', after ?? '–'] })),
        ]}
      />
      <p role="status">
        {differences === undefined
          ? 'The original answer is missing: only the statuses are compared.'
          : differences.length === 0
            ? '✓ The answers are equal: status, headers (without the date) and body.'
            : `! ${plural(differences.length, 'part')} of the answer differ${differences.length === 1 ? 's' : ''}.`}
      </p>
      {answer.body !== null && <JsonView value={answer.body} label="Body of the new answer" />}
      {answer.note !== null && <p class="faint">{answer.note}</p>}
    </div>
  )
}

type Answer = Pick<NonNullable<Kept['answer']>, 'status' | 'headers' | 'body'>

/**
 * Returns the parts of two answers that differ, as in `status`, `header date`, `body.error.message`. A side without the
 * part is undefined.
 */
function compareAnswers(before: Answer, after: Answer) {
  const [one, other] = [partsOf(before), partsOf(after)]
  return [...new Set([...one.keys(), ...other.keys()])]
    .map(part => ({ part, before: one.get(part), after: other.get(part) }))
    .filter(difference => difference.before !== difference.after)
}

function partsOf({ status, headers, body }: Answer): Map<string, string> {
  const parts = new Map([['status', status === 0 ? 'no answer' : String(status)]])
  for (const [name, value] of Object.entries(headers)) parts.set(`header ${name}`, value)
  addValues(parts, 'body', body)
  return parts
}

function addValues(parts: Map<string, string>, path: string, value: unknown): void {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : []
  for (const [name, field] of fields)
    addValues(parts, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`, field)
  if (fields.length === 0) parts.set(path, typeof value === 'string' ? value : JSON.stringify(value))
}

/** What the past has of a request. */
export type Kept = AnswersByRoute['GET /_sim/requests/{seq}']

interface ContentProps {
  readonly content: Pick<NonNullable<Kept['answer']>, 'headers' | 'body' | 'bytes' | 'note'>
  /** Whose headers and body they are, as in `the request`. */
  readonly of: string
}

/** Headers and body of a request or an answer. */
export function Content({ content: { headers, body, bytes, note }, of }: ContentProps) {
  return (
    <>
      <details>
        <summary>{plural(Object.keys(headers).length, 'header')}</summary>
        <JsonView value={headers} label={`Headers of ${of}`} />
      </details>
      {bytes === 0 ? <p class="faint">No body</p> : body !== null && <JsonView value={body} label={`Body of ${of}`} />}
      {bytes > 0 && (
        <p class="faint">
          {plural(bytes, 'byte')}
          {note !== null && `: ${note}`}
        </p>
      )}
    </>
  )
}
