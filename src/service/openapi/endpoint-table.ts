/** The endpoint table as data, for the CLI and the docs. */
import type { Operations, Provenance } from '../endpoint.ts'
import type { Names } from '../naming/names-profile.ts'
import { listAssumptions } from './openapi.ts'

export interface EndpointRow {
  method: string
  path: string
  operation: string
  provenance: Provenance
  summary: string
  assumed: string[]
}

/** Returns a row for each path of each operation, with neutral names or those of a names profile. */
export function endpointTable(operations: Operations, names?: Names): EndpointRow[] {
  const translatePath = (path: string) => names?.toVendorPath(path) ?? path
  return Object.entries(operations).flatMap(([operation, endpoint]) => {
    const { method, path, mirror, provenance, summary } = endpoint
    const assumed = listAssumptions(endpoint)
    const row = { method, path: translatePath(path), operation, provenance, summary, assumed }
    if (mirror === undefined) return [row]
    const mirrorSummary = `The same as ${method} ${translatePath(path)}`
    return [
      row,
      { ...row, path: translatePath(mirror), provenance: 'neighbour' as const, summary: mirrorSummary, assumed: [] },
    ]
  })
}
