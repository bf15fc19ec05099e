/** Moves a plan to another world, in which the things of the flow have other ids. */

import type { ObservedRequest } from '../../../simulator/judge/observation.ts'
import { withoutQuery } from '../plan/coordinates.ts'
import type { Plan, PlanItem } from '../plan/plan.ts'

/** Shorter parts of a path are not ids. */
const SHORTEST_ID = 8

/**
 * Returns a plan with the ids of another world: those at the same places in the requests of the flow without faults. An id
 * that has no counterpart stays.
 */
export function translatePlan(plan: Plan, from: readonly ObservedRequest[], to: readonly ObservedRequest[]): Plan {
  const ids = findIds(from, to)
  if (ids.size === 0) return plan
  return plan.map(item => translate(item, ids) as PlanItem)
}

/** Returns the ids of one world with their counterparts: the things of an operation are compared in their order. */
function findIds(from: readonly ObservedRequest[], to: readonly ObservedRequest[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>()
  const others = pathsByOperation(to)
  for (const [operation, paths] of pathsByOperation(from)) {
    for (const [i, path] of [...paths].entries()) {
      const parts = [...(others.get(operation) ?? [])][i]?.split('/') ?? []
      for (const [at, part] of path.split('/').entries()) {
        const other = parts[at]
        if (other !== undefined && other !== part && part.length >= SHORTEST_ID) ids.set(part, other)
      }
    }
  }
  return ids
}

/** Returns the paths of each operation, in the order of their first requests. */
function pathsByOperation(requests: readonly ObservedRequest[]): ReadonlyMap<string, ReadonlySet<string>> {
  const paths = new Map<string, Set<string>>()
  for (const { operation, path } of requests) {
    const known = paths.get(operation) ?? new Set()
    paths.set(operation, known.add(withoutQuery(path)))
  }
  return paths
}

function translate(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    return value
      .split('/')
      .map(part => ids.get(part) ?? part)
      .join('/')
  }
  if (Array.isArray(value)) return value.map(part => translate(part, ids))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, translate(part, ids)]))
}
