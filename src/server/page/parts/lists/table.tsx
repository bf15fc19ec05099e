import type { ComponentChildren } from 'preact'

interface TableProps {
  /** Titles of the columns. That of a column of buttons is empty. */
  readonly titles: readonly string[]
  readonly rows: readonly TableRow[]
}

export interface TableRow {
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
