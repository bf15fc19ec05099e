import type { Signal } from '@preact/signals'
import { useSignal } from '@preact/signals'
import { DayTime } from '../../parts/day-time.tsx'
import { Table } from '../../parts/lists/table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { TextField } from '../../parts/text-field.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { CompareButton, type Other } from './differences.tsx'

/** The snapshots of the shown world. */
export function Snapshots({ compared }: { compared: Signal<Other | undefined> }) {
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
    <Panel title={`Snapshots of ${session.world.value}`} label="Snapshots" route="GET /_sim/snapshots" error={error}>
      {snapshots?.length === 0 && <p class="empty">No snapshot was taken yet.</p>}
      {snapshots !== undefined && snapshots.length > 0 && (
        <Table
          titles={['Snapshot', 'Time', '']}
          rows={snapshots.map(({ snapshot, now }) => ({
            key: snapshot,
            cells: [
              snapshot,
              <DayTime key={now} iso={now} />,
              <>
                <button
                  type="button"
                  class="small"
                  onClick={() =>
                    session.act(`Go back to ${snapshot}`, 'POST /_sim/snapshots/{snapshot}/restore', { snapshot })
                  }
                >
                  Go back to it
                </button>
                <CompareButton other={{ snapshot }} compared={compared} />
                <button
                  type="button"
                  class="small danger"
                  onClick={() =>
                    session.act(`Delete the snapshot ${snapshot}`, 'DELETE /_sim/snapshots/{snapshot}', { snapshot })
                  }
                >
                  Delete
                </button>
              </>,
            ],
          }))}
        />
      )}
      <form class="toolbar create" aria-label="Take a snapshot" onSubmit={take}>
        <TextField label="Name" size={16} placeholder="before-the-storm" value={name} />
        <button type="submit">Take a snapshot</button>
      </form>
    </Panel>
  )
}
