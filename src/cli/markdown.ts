/** Returns a row of a Markdown table, with pipes escaped. */
export function tableRow(cells: readonly string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
