import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { reveal, useSize } from './hooks.ts'

interface TableProps {
  /** Titles of the columns. That of a column of buttons is empty. */
  readonly titles: readonly string[]
  /** What a title means. */
  readonly hints?: Readonly<Record<string, string>>
  readonly rows: readonly TableRow[]
  /** `cards`: on a narrow screen, each row is a card. `tight`: small figures. Default: `cards`. */
  readonly class?: 'cards' | 'tight'
}

interface TableRow {
  readonly key: string
  /** Whether it is the shown one of its kind. */
  readonly isCurrent?: boolean
  /** One for each column. */
  readonly cells: readonly ComponentChildren[]
}

/** A table whose first column names the rows. */
export function Table({ titles, hints, rows, class: style = 'cards' }: TableProps) {
  return (
    <div class="scroll-x">
      <table class={style}>
        <thead>
          <tr>
            {titles.map(title => (
              <th key={title} scope="col" title={hints?.[title]}>
                {title || <span class="hidden">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, isCurrent, cells: [first, ...cells] }) => (
            <tr key={key} aria-current={isCurrent}>
              <th scope="row">{first}</th>
              {cells.map((cell, index) => {
                const title = titles[index + 1]
                return (
                  <td key={title} class={title ? undefined : 'buttons'} data-label={title || undefined}>
                    {cell}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A column of a list: its title, the cell of an item, and the class of both. */
export type Column<Item> = readonly [
  title: string,
  cell: (item: Item, index: number) => ComponentChildren,
  style?: string,
]

interface ColumnListProps<Item> extends Omit<WindowedListProps<Item>, 'row'> {
  readonly columns: readonly Column<Item>[]
  /** Class of each row. It has the width of the columns. */
  readonly rowClass: string
  /** Whether the columns have no titles. */
  readonly isHeadless?: boolean
  readonly keyOf: (item: Item, index: number) => string | number
  /** A row was chosen. Rows are then buttons, and the shown one is pressed. */
  readonly onChoose?: (index: number) => void
}

/** A list of many items in columns with titles. */
export function ColumnList<Item>(props: ColumnListProps<Item>) {
  const { columns, rowClass, isHeadless, keyOf, onChoose, ...list } = props
  return (
    <>
      {!isHeadless && (
        <div class={`row ${rowClass} head`} aria-hidden={onChoose === undefined}>
          {columns.map(([title, , style]) => (
            <span key={title} class={style}>
              {title}
            </span>
          ))}
        </div>
      )}
      <WindowedList
        {...list}
        row={(item, index) => {
          const Row = onChoose === undefined ? 'div' : 'button'
          const choice = onChoose && {
            type: 'button' as const,
            'aria-pressed': index === list.shown,
            onClick: () => onChoose(index),
          }
          const key = keyOf(item, index)
          return (
            <Row key={key} class={`row ${rowClass}`} data-key={key} {...choice}>
              {columns.map(([title, cell, style]) => (
                <span key={title} class={style}>
                  {cell(item, index)}
                </span>
              ))}
            </Row>
          )
        }}
      />
    </>
  )
}

/** A text in a column, with words behind it for those who do not see the title. */
export function Figure({ text, what, isFaint }: { text: string | number; what: string; isFaint?: boolean }) {
  return (
    <span class={isFaint ? 'faint' : ''}>
      {text}
      <span class="hidden"> {what}</span>
    </span>
  )
}

/** How many rows are drawn beyond each edge of what is visible. */
const OVERSCAN = 8

interface WindowedListProps<Item> {
  readonly items: readonly Item[]
  /** Height of every row in CSS pixels. */
  readonly rowHeight: number
  /** The most rows that are visible without scrolling. Default: as many as there is room for. */
  readonly visibleRows?: number
  readonly label: string
  /** Draws a row. It gets `height: rowHeight`. */
  readonly row: (item: Item, index: number) => ComponentChildren
  /** Index of the row that has to be visible. */
  readonly shown?: number | undefined
  /** Whether the list stays at its end when rows are added while the end is visible. Default: no. */
  readonly followsEnd?: boolean
}

/** A list of which only the visible rows are in the document, so that 100,000 rows scroll as ten do. */
export function WindowedList<Item>(props: WindowedListProps<Item>) {
  const { items, rowHeight, visibleRows, label, row, shown, followsEnd } = props
  const box = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const { height } = useSize(box)
  const wasAtEnd = useRef(true)
  useLayoutEffect(() => {
    if (followsEnd && wasAtEnd.current) box.current!.scrollTop = items.length * rowHeight
  }, [items.length, followsEnd, height])
  useLayoutEffect(() => {
    if (shown === undefined || shown < 0) return
    reveal(box.current!, shown * rowHeight, (shown + 1) * rowHeight)
    // What is opened beside a list can make it lower.
  }, [shown, height])
  const first = Math.max(0, Math.floor(top.value / rowHeight) - OVERSCAN)
  const last = Math.min(items.length, Math.ceil((top.value + height) / rowHeight) + OVERSCAN)
  const onScroll = () => {
    const { scrollTop, clientHeight, scrollHeight } = box.current!
    top.value = scrollTop
    wasAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight
  }
  const list = (
    <section class="windowed" ref={box} onScroll={onScroll} tabIndex={0} aria-label={label}>
      <div class="windowed-space" style={{ height: `${items.length * rowHeight}px` }}>
        <div class="windowed-rows" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {items.slice(first, last).map((item, index) => row(item, first + index))}
        </div>
      </div>
    </section>
  )
  if (visibleRows === undefined) return list
  return <div style={{ height: `${Math.min(items.length, visibleRows) * rowHeight}px` }}>{list}</div>
}
