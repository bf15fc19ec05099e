/** A table for each kind of thing, as the service or the simulator shows it. A row opens the inspector with its JSON. */

import { DayTime } from '../parts/day-time.tsx'
import { formatCount, kindWords } from '../parts/format.ts'
import { FilterField } from '../parts/lists/filter-field.tsx'
import { Table } from '../parts/lists/table.tsx'
import { Panel } from '../parts/panel.tsx'
import { ThingLink } from '../parts/thing-link.tsx'
import type { FieldsByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

/** The most letters of a cell, and of a digest in it. */
const MAX_LETTERS = 60
const DIGEST_LETTERS = 12
/** Least real milliseconds between two looks: each reads a copy of the world. */
const PAUSE_MS = 1_500

export function ThingsView() {
  const { place } = useSession()
  const { kind = 'deployment', filter, sort } = place.value
  const fields = { kind, filter, sort } as FieldsByRoute['GET /_sim/things']
  const { value, error } = useAnswer('GET /_sim/things', fields, { refresh: 'requests', pauseMs: PAUSE_MS })
  const { kinds = [], columns = [], rows = [], total = 0, refused } = value ?? {}
  return (
    <Panel title="Things" route="GET /_sim/things" fields={fields} error={error}>
      <div class="toolbar">
        <select
          aria-label="Kind"
          value={kind}
          onChange={event => place.go({ kind: event.currentTarget.value, sort: undefined }, 'replace')}
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
      {filter && total > 0 && rows.length === 0 && (
        <p class="empty">
          No {kindWords(kind)} matches '{filter}'.{' '}
          <button type="button" class="link-button" onClick={() => place.go({ filter: undefined }, 'replace')}>
            Clear the filter
          </button>
        </p>
      )}
      {rows.length > 0 && (
        <Table
          titles={['id', ...columns]}
          sort={{ by: sort, choose: by => place.go({ sort: by }, 'replace') }}
          rows={rows.map(({ id, cells }) => ({
            key: id,
            open: () => place.go({ id }),
            cells: [<ThingLink key={id} id={id} />, ...cells.map((cell, column) => toCell(columns[column]!, cell))],
          }))}
        />
      )}
    </Panel>
  )
}

/** Returns a cell: a time as everywhere in the page, and a long text shortened. Its title has the exact value. */
function toCell(column: string, text: string) {
  const isUnix = /(^created|_at)$/.test(column) && /^\d{10}$/.test(text)
  const iso = isUnix ? new Date(Number(text) * 1000).toISOString() : text
  if (/^\d{4}-\d\d-\d\dT/.test(iso)) return <DayTime iso={iso} title={text} />
  const most = /^[\da-f]{40,}$/.test(text) ? DIGEST_LETTERS : MAX_LETTERS
  return text.length > most ? <span title={text}>{text.slice(0, most)}…</span> : text
}
