import { useSignal } from '@preact/signals'
import type { ControlRequest } from '../../../control/client/index.ts'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import { JsonView } from '../../parts/json-view.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import type { AnswersByRoute } from '../../simulator/ask.ts'
import { DEFAULT_WORLD, describeError, useSession } from '../../store/session.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

type Answer = AnswersByRoute['POST /_sim/requests']

/** Sends a request again, as it was or changed: in this world, in a fork of it, or in a fork of its past. */
export function Resend({ request }: { request: ControlRequest }) {
  const session = useSession()
  const method = useSignal(request.method)
  const path = useSignal(request.path)
  const body = useSignal(request.body === undefined ? '' : JSON.stringify(request.body, undefined, 2))
  const answer = useSignal<{ readonly world: string; readonly value: Answer } | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)

  const send = async (openWorld: () => Promise<string>) => {
    error.value = undefined
    try {
      const world = await openWorld()
      const sent = {
        ...{ method: method.value, path: path.value },
        ...(body.value.trim() !== '' && { body: parseJsonOrText(body.value) }),
        ...(request.client !== '' && { client: request.client }),
      }
      answer.value = { world, value: await session.ask('POST /_sim/requests', sent, { world }) }
    } catch (problem) {
      error.value = describeError(problem)
    }
    session.revision.value++
  }
  const here = session.world.value
  const fork = async () => (await session.ask('POST /_sim/worlds', { from: here }, { world: DEFAULT_WORLD })).world

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
          {METHODS.map(name => (
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
      <textarea
        class="mono"
        aria-label="Body in JSON"
        rows={Math.min(14, Math.max(3, body.value.split('\n').length))}
        value={body.value}
        onInput={event => {
          body.value = event.currentTarget.value
        }}
      />
      <div class="toolbar">
        <button type="submit" class="primary">
          Send
        </button>
        <button type="button" onClick={() => send(fork)}>
          Send in a fork of now
        </button>
      </div>
      {error.value !== undefined && <p role="alert">✗ {error.value}</p>}
      {answer.value !== undefined && (
        <div class="answer">
          <p>
            <StatusMark status={answer.value.value.status} /> in the world <strong>{answer.value.world}</strong>
            {answer.value.world !== here && (
              <>
                {' · '}
                <a href={session.place.link({ view: 'requests', world: answer.value.world, origin: here })}>
                  open this world
                </a>
              </>
            )}
          </p>
          <JsonView value={answer.value.value.body} label="Body of the answer" />
        </div>
      )}
    </form>
  )
}
