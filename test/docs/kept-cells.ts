/** Tables of a page whose first cells are generated and whose last cell, the meaning, people write on the page itself. */

/** The generated cells of one row. The first is the key of the row. */
export type GeneratedRow = readonly string[]

/**
 * Returns the page with the first table below each heading generated again. The last cell of a row is that of the page;
 * it is empty for a new row. Throws if the page lacks a heading or a table below it.
 */
export function withTables(page: string, tables: ReadonlyMap<string, readonly GeneratedRow[]>): string {
  let result = page
  for (const [heading, rows] of tables) {
    const start = result.indexOf(`\n${heading}\n`)
    const from = start < 0 ? -1 : result.indexOf('\n|---', start + 1)
    if (from < 0) throw new Error(`the page has no table below '${heading}'`)
    const first = result.indexOf('\n', from + 1) + 1
    const end = /\n(?!\|)/.exec(result.slice(first - 1))!.index + first
    const meanings = new Map(result.slice(first, end).split('\n').map(toMeaning))
    const lines = rows.map(row => `| ${[...row, meanings.get(row[0]!) ?? ''].join(' | ')} |\n`)
    result = result.slice(0, first) + lines.join('') + result.slice(end)
  }
  return result
}

/** Returns the keys of rows without a meaning in the tables of a page. */
export function rowsWithoutMeaning(page: string): string[] {
  return [...page.matchAll(/^\| (.*?) \|.*\| {1,2}\|$/gm)].map(([, key]) => key!)
}

function toMeaning(line: string): [key: string, meaning: string] {
  const cells = line.slice(2, -2).split(' | ')
  return [cells[0]!, cells.at(-1)!]
}
