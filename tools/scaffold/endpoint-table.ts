/** The lists of docs/endpoints.md. */
import { tableRow } from '../../src/cli/commands/replay.ts'
import type { Operations, Provenance } from '../../src/service/endpoint.ts'
import { listAssumptions } from '../../src/service/openapi/openapi.ts'

interface EndpointRow {
  method: string
  path: string
  operation: string
  provenance: Provenance
  summary: string
  assumed: string[]
}

/** Returns a row for each path of each operation. */
export function endpointTable(operations: Operations): EndpointRow[] {
  return Object.entries(operations).flatMap(([operation, endpoint]) => {
    const { method, path, mirror, provenance, summary } = endpoint
    const assumed = listAssumptions(endpoint)
    const row = { method, path, operation, provenance, summary, assumed }
    if (mirror === undefined) return [row]
    const mirrorSummary = `The same as ${method} ${path}`
    return [row, { ...row, path: mirror, provenance: 'neighbour' as const, summary: mirrorSummary, assumed: [] }]
  })
}

/** Returns the table of docs/endpoints.md, and a list of the assumptions of each operation. */
export function endpointsTable(rows: readonly EndpointRow[]): string {
  const table = [
    '| Endpoint | Operation | Provenance | Summary |',
    '|---|---|---|---|',
    ...rows.map(({ method, path, operation, provenance, summary }) =>
      tableRow([`\`${method} ${path}\``, `\`${operation}\``, provenance, summary]),
    ),
  ]
  const lists = rows
    .filter(({ assumed }) => assumed.length > 0)
    .map(({ operation, assumed }) => {
      const items = assumed.flatMap(assumption => assumption.split('; '))
      return `### ${operation}\n\n${bulletList(items)}`
    })
  return [table.join('\n'), '## Assumptions and refusals by operation', ...lists].join('\n\n')
}

/** Returns a list of texts. */
export function bulletList(texts: readonly string[]): string {
  return texts.map(text => wrap(`- ${text}`)).join('\n')
}

/** Breaks an item of a list into lines of at most 120 characters. */
function wrap(item: string): string {
  return item.replaceAll(/(?=.{121})(.{1,120})(?: |$)(?!$)/g, '$1\n  ')
}
