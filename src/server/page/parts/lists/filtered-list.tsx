import type { ComponentChildren } from 'preact'
import { useSession } from '../../store/session.ts'
import { formatCount } from '../format.ts'
import { useKeys } from '../use-keys.ts'
import { FilterField } from './filter-field.tsx'
import { WindowedList } from './windowed-list.tsx'

const ROW_HEIGHT = 30

interface FilteredListProps<Item> {
  /** The setting of the address with the selected row, and the first word of the classes of rows. */
  readonly name: 'request' | 'entry'
  readonly label: string
  /** What the list is of: `requests`. */
  readonly of: string
  readonly placeholder: string
  readonly hint?: string
  readonly found: readonly Item[]
  /** How many there are without the filter, in words. */
  readonly total: string
  /** How many were dropped before they could be read. */
  readonly missed: number
  /** Title and class of each column. */
  readonly columns: readonly (readonly [title: string, style?: string])[]
  /** The cells of a row. */
  readonly row: (item: Item) => ComponentChildren
  /** Buttons beside the filter. */
  readonly tools: ComponentChildren
  /** What is shown above the rows. */
  readonly note?: ComponentChildren
  /** The details of the selected row; false if none is selected. */
  readonly children: ComponentChildren
}

/** A list with a filter, whose selected row has its details beside it. `j` and `k` select the next and previous row. */
export function FilteredList<Item extends { readonly seq: number }>({
  name,
  label,
  of,
  placeholder,
  hint,
  found,
  total,
  missed,
  columns,
  row,
  tools,
  note,
  children,
}: FilteredListProps<Item>) {
  const { place } = useSession()
  const chosen = place.value[name]
  const selected = found.findIndex(({ seq }) => String(seq) === chosen)
  const select = (index: number) => {
    const next = found[Math.max(0, Math.min(found.length - 1, index))]
    if (next !== undefined) place.go({ [name]: String(next.seq) }, 'replace')
  }
  const move = (step: number) => () => select(selected === -1 ? found.length - 1 : selected + step)
  useKeys({ j: move(1), k: move(-1) })
  return (
    <div class={`split ${children === false ? '' : 'has-details'}`}>
      <section class="split-list" aria-label={label}>
        <div class="toolbar">
          <FilterField {...{ of, placeholder, hint }} />
          <span class="faint" role="status">
            {formatCount(found.length)} of {total}
            {missed > 0 && `, ${formatCount(missed)} were dropped unread`}
          </span>
          {tools}
        </div>
        {note}
        <div class={`list-row ${name}-columns list-head`}>
          {columns.map(([title, style]) => (
            <span key={title} class={style}>
              {title}
            </span>
          ))}
        </div>
        <WindowedList
          items={found}
          rowHeight={ROW_HEIGHT}
          label={`List of ${of}`}
          shown={selected}
          followsEnd
          row={(item, index) => (
            <button
              key={item.seq}
              type="button"
              class={`list-row ${name}-columns ${name}-row`}
              aria-pressed={index === selected}
              style={{ height: `${ROW_HEIGHT}px` }}
              onClick={() => select(index)}
            >
              {row(item)}
            </button>
          )}
        />
      </section>
      {children}
    </div>
  )
}
