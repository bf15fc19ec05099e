/** The endpoint table as data: for the CLI, the docs and whoever wants to know what may be relied on. */
import type { Operations, Provenance } from './endpoint.ts'
import type { Names } from './names.ts'
import { assumptionsOf } from './openapi.ts'

export interface EndpointRow {
  method: string
  path: string
  operation: string
  provenance: Provenance
  summary: string
  assumed: string[]
}

/** A row an operation, by path and method, in neutral words or those of a profile. */
export function endpointTable(operations: Operations, names?: Names): EndpointRow[] {
  const said = (text: string) => names?.prose(text) ?? text
  return Object.entries(operations).map(([operation, endpoint]) => ({
    method: endpoint.method,
    path: names?.path(endpoint.path) ?? endpoint.path,
    operation,
    provenance: endpoint.provenance,
    summary: said(endpoint.summary),
    assumed: assumptionsOf(endpoint).map(said),
  }))
}
