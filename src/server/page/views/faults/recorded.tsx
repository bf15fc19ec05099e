import { useSignal } from '@preact/signals'
import { CopyButton } from '../../parts/copy-button.tsx'
import { DownloadButton } from '../../parts/download-button.tsx'
import { formatTime } from '../../parts/format.ts'
import { JsonView } from '../../parts/json-view.tsx'
import { Panel, Problem } from '../../parts/panel.tsx'
import { describeError, useSession } from '../../store/session.ts'

/** What the person did here, and the scenario that does it again. */
export function Recorded() {
  const session = useSession()
  const scenario = useSignal<{ readonly name: string; readonly text: string } | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  const onlyActions = useSignal(true)
  const world = session.world.value
  const actions = session.actions.value.filter(action => action.world === world)
  const record = async () => {
    const only = onlyActions.value ? 'actions' : undefined
    // A world that began with a snapshot, as a fork does, can be written in TypeScript alone.
    for (const [format, name] of [
      ['yaml', 'scenario.yaml'],
      ['typescript', 'scenario.ts'],
    ] as const) {
      try {
        scenario.value = { name, text: await session.ask('GET /_sim/past/scenario', { format, only }) }
        problem.value = undefined
        return
      } catch (error) {
        problem.value = describeError(error)
      }
    }
  }
  return (
    <Panel title="What you did">
      {actions.length === 0 && <p class="empty">What you do on this page is listed here.</p>}
      <ol class="plain did">
        {actions.map(({ label, at, request }) => (
          <li key={`${at} ${label} ${request.body}`} class="line">
            <span>
              <time dateTime={at}>{formatTime(at)}</time> {label}
            </span>
            <CopyButton label="Copy as curl" text={() => session.curlOf(request)} />
          </li>
        ))}
      </ol>
      <div class="toolbar create">
        <button type="button" class="primary" onClick={record}>
          Record as scenario
        </button>
        <label>
          <input
            type="checkbox"
            checked={onlyActions.value}
            onChange={event => {
              onlyActions.value = event.currentTarget.checked
            }}
          />{' '}
          without the requests of clients
        </label>
      </div>
      <Problem text={problem.value} />
      {scenario.value !== undefined && <Scenario {...scenario.value} />}
    </Panel>
  )
}

function Scenario({ name, text }: { name: string; text: string }) {
  return (
    <>
      <JsonView value={text} label={`Scenario in ${name.endsWith('.ts') ? 'TypeScript' : 'YAML'}`} />
      <div class="toolbar create">
        <CopyButton label="Copy" text={() => text} />
        <DownloadButton label={`Save as ${name}`} name={name} text={() => text} />
        <span class="faint">
          The first time, run it with <code>modelhost-sim run {name} --update</code>, which writes its trace. Without
          --update, it then fails if the world does something else.
        </span>
      </div>
    </>
  )
}
