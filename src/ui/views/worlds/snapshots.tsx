import { formatDay, formatTime } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import { TextField } from '../../parts/text-field.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { useSignal } from '../../store/use-signal.ts'

/** The snapshots of the shown world. */
export function Snapshots() {
  const session = useSession()
  const { value: snapshots, error } = useAnswer('GET /_sim/snapshots', {})
  const name = useSignal('')
  const take = async (event: Event) => {
    event.preventDefault()
    const fields = name.value === '' ? {} : { name: name.value }
    const made = await session.act('Take a snapshot', 'POST /_sim/snapshots', fields)
    if (made !== undefined) name.value = ''
  }
  return (
    <Panel
      title={`Snapshots of ${session.world.value}`}
      label="Snapshots"
      route="GET /_sim/snapshots"
      name="Snapshots"
      error={error}
    >
      {snapshots?.length === 0 && <p class="empty">No snapshot was taken yet.</p>}
      {snapshots !== undefined && snapshots.length > 0 && (
        <table class="cards">
          <thead>
            <tr>
              <th scope="col">Snapshot</th>
              <th scope="col">Time</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {snapshots.map(({ snapshot, now }) => (
              <tr key={snapshot}>
                <th scope="row">{snapshot}</th>
                <td data-label="Time">
                  <time dateTime={now}>
                    {formatDay(now)} {formatTime(now)}
                  </time>
                </td>
                <td class="buttons">
                  <button
                    type="button"
                    class="small"
                    onClick={() =>
                      session.act(`Go back to ${snapshot}`, 'POST /_sim/snapshots/{snapshot}/restore', { snapshot })
                    }
                  >
                    Go back to it
                  </button>
                  <button
                    type="button"
                    class="small danger"
                    onClick={() =>
                      session.act(`Delete the snapshot ${snapshot}`, 'DELETE /_sim/snapshots/{snapshot}', { snapshot })
                    }
                  >
                    Delete
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <form class="toolbar create" aria-label="Take a snapshot" onSubmit={take}>
        <TextField label="Name" size={16} placeholder="before-the-storm" value={name} />
        <button type="submit">Take a snapshot</button>
      </form>
    </Panel>
  )
}
