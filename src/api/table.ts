/** The endpoint table as data: for the CLI, the docs and whoever wants to know what may be relied on. */
import type { Operations, Provenance } from './endpoint.ts'
import { assumptionsOf } from './openapi.ts'

export interface EndpointRow {
  method: string
  path: string
  operation: string
  provenance: Provenance
  summary: string
  assumed: string[]
}

/** A row an operation, by path and method. */
export function endpointTable(operations: Operations): EndpointRow[] {
  return Object.entries(operations).map(([operation, endpoint]) => ({
    method: endpoint.method,
    path: endpoint.path,
    operation,
    provenance: endpoint.provenance,
    summary: endpoint.summary,
    assumed: assumptionsOf(endpoint),
  }))
}
