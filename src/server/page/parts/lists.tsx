import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useSize } from './hooks.ts'

interface TableProps {
  /** Titles of the columns. That of a column of buttons is empty. */
  readonly titles: readonly string[]
  readonly rows: readonly TableRow[]
}

interface TableRow {
  readonly key: string
  /** Whether it is the shown one of its kind. */
  readonly isCurrent?: boolean
  /** One for each column. */
  readonly cells: readonly ComponentChildren[]
}

/** A table whose first column names the rows. On a narrow screen, each row is a card. */
export function Table({ titles, rows }: TableProps) {
  return (
    <div class="scroll-x">
      <table class="cards">
        <thead>
          <tr>
            {titles.map(title => (
              <th key={title} scope="col">
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

/** How many rows are drawn beyond each edge of what is visible. */
const OVERSCAN = 8

interface WindowedListProps<Item> {
  readonly items: readonly Item[]
  /** Height of every row in CSS pixels. */
  readonly rowHeight: number
  readonly label: string
  /** Draws a row. It gets `height: rowHeight`. */
  readonly row: (item: Item, index: number) => ComponentChildren
  /** Index of the row that has to be visible. */
  readonly shown?: number | undefined
  /** Whether the list stays at its end when rows are added while the end is visible. Default: no. */
  readonly followsEnd?: boolean
}

/** A list of which only the visible rows are in the document, so that 100,000 rows scroll as ten do. */
export function WindowedList<Item>({ items, rowHeight, label, row, shown, followsEnd }: WindowedListProps<Item>) {
  const box = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const { height } = useSize(box)
  const wasAtEnd = useRef(true)
  useLayoutEffect(() => {
    if (followsEnd && wasAtEnd.current) box.current!.scrollTop = items.length * rowHeight
  }, [items.length, followsEnd, height])
  useLayoutEffect(() => {
    if (shown === undefined || shown < 0) return
    const element = box.current!
    const [begin, end] = [shown * rowHeight, (shown + 1) * rowHeight]
    if (begin < element.scrollTop) element.scrollTop = begin
    else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight
    // What is opened beside a list can make it lower.
  }, [shown, height])
  const first = Math.max(0, Math.floor(top.value / rowHeight) - OVERSCAN)
  const last = Math.min(items.length, Math.ceil((top.value + height) / rowHeight) + OVERSCAN)
  const onScroll = () => {
    const { scrollTop, clientHeight, scrollHeight } = box.current!
    top.value = scrollTop
    wasAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight
  }
  return (
    <section class="windowed" ref={box} onScroll={onScroll} tabIndex={0} aria-label={label}>
      <div class="windowed-space" style={{ height: `${items.length * rowHeight}px` }}>
        <div class="windowed-rows" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {items.slice(first, last).map((item, index) => row(item, first + index))}
        </div>
      </div>
    </section>
  )
}
