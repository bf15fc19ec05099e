/** A table for each kind of thing, as the service or the simulator shows it. A row opens the inspector with its JSON. */

import { formatCount, kindWords } from '../../parts/format.ts'
import { FilterField } from '../../parts/lists/filter-field.tsx'
import { Table } from '../../parts/lists/table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { ThingLink } from '../../parts/thing-link.tsx'
import type { FieldsByRoute } from '../../simulator/ask.ts'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'

/** Least real milliseconds between two looks: each reads a copy of the world. */
const PAUSE_MS = 1_500

export function ThingsView() {
  const { place } = useSession()
  const { kind = 'deployment', filter } = place.value
  const fields = { kind, filter } as FieldsByRoute['GET /_sim/things']
  const { value, error } = useAnswer('GET /_sim/things', fields, { refresh: 'requests', pauseMs: PAUSE_MS })
  const { kinds = [], columns = [], rows = [], total = 0, refused } = value ?? {}
  return (
    <Panel title="Things" route="GET /_sim/things" fields={fields} error={error}>
      <div class="toolbar">
        <select
          aria-label="Kind"
          value={kind}
          onChange={event => place.go({ kind: event.currentTarget.value }, 'replace')}
        >
          {kinds.map(name => (
            <option key={name} value={name}>
              {kindWords(name)}
            </option>
          ))}
        </select>
        <FilterField of="things" placeholder="any cell" />
        <span class="faint" role="status">
          {formatCount(rows.length)} of {formatCount(total)}
        </span>
      </div>
      {refused && <p class="warn">! The service refuses this list now.</p>}
      {value !== undefined && (
        <Table
          titles={['Id', ...columns]}
          rows={rows.map(({ id, cells }) => ({ key: id, cells: [<ThingLink key={id} id={id} />, ...cells] }))}
        />
      )}
    </Panel>
  )
}
