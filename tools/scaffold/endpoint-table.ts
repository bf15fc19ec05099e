/** The table of docs/endpoints.md. */
import { tableRow } from '../../src/cli/markdown.ts'
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

/** Returns the table of docs/endpoints.md. */
export function endpointsTable(rows: readonly EndpointRow[]): string {
  return [
    '| Endpoint | Operation | Provenance | Summary | Assumptions |',
    '|---|---|---|---|---|',
    ...rows.map(({ method, path, operation, provenance, summary, assumed }) =>
      tableRow([
        `\`${method} ${path}\``,
        `\`${operation}\``,
        provenance,
        summary,
        assumed.flatMap(assumption => assumption.split('; ')).join('<br>'),
      ]),
    ),
  ].join('\n')
}
