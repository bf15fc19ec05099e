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

/** A row a path of an operation, by path and method, in neutral words or those of a profile. */
export function endpointTable(operations: Operations, names?: Names): EndpointRow[] {
  const said = (text: string) => names?.prose(text) ?? text
  const shown = (path: string) => names?.path(path) ?? path
  return Object.entries(operations).flatMap(([operation, endpoint]) => {
    const { method, path, mirror, provenance, summary } = endpoint
    const assumed = assumptionsOf(endpoint).map(said)
    const own = { method, path: shown(path), operation, provenance, summary: said(summary), assumed }
    if (mirror === undefined) return [own]
    const same = `The same as ${method} ${shown(path)}`
    return [own, { ...own, path: shown(mirror), provenance: 'neighbour' as const, summary: same, assumed: [] }]
  })
}
