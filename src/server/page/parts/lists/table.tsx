import type { ComponentChildren } from 'preact'

interface TableProps {
  /** Titles of the columns. That of a column of buttons is empty. */
  readonly titles: readonly string[]
  readonly rows: readonly TableRow[]
  /** By which title the rows are sorted, with a minus before it if the greatest is first, and how to choose another one. */
  readonly sort?: { readonly by: string | undefined; readonly choose: (by: string) => void }
}

export interface TableRow {
  readonly key: string
  /** Whether it is the shown one of its kind. */
  readonly isCurrent?: boolean
  /** A click on the row opens something. The first cell has a link that does the same. */
  readonly open?: () => void
  /** One for each column. */
  readonly cells: readonly ComponentChildren[]
}

/** A table whose first column names the rows. On a narrow screen, each row is a card. */
export function Table({ titles, rows, sort }: TableProps) {
  return (
    <div class="scroll-x">
      <table class="cards">
        <thead>
          <tr>
            {titles.map(title => {
              const order = sort && orderOf(title, sort.by)
              return (
                <th key={title} scope="col" aria-sort={order}>
                  {sort ? (
                    <button
                      type="button"
                      class="linklike"
                      onClick={() => sort.choose(order === 'ascending' ? `-${title}` : title)}
                    >
                      {title} {order === 'ascending' ? '▲' : order === 'descending' && '▼'}
                    </button>
                  ) : (
                    title || <span class="hidden">Actions</span>
                  )}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, isCurrent, open, cells: [first, ...cells] }) => (
            <tr key={key} aria-current={isCurrent} onClick={open}>
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

function orderOf(title: string, by: string | undefined): 'ascending' | 'descending' | 'none' {
  return by === title ? 'ascending' : by === `-${title}` ? 'descending' : 'none'
}
