import type { Finding } from './files.ts'

/** The highest count that is accepted, by the name of the count. A name that is missing has 0. */
export type Ceilings = Readonly<Record<string, number>>
type Found = Readonly<Record<string, readonly Finding[]>>

/** Returns the names of the counts that are over their ceiling. */
export function checkCeilings(found: Found, ceilings: Ceilings): string[] {
  return Object.keys(found).filter(name => found[name]!.length > (ceilings[name] ?? 0))
}

/** Lowers the ceilings to the counts, never raises one, and removes those that have reached 0. */
export function lowerCeilings(found: Found, ceilings: Ceilings): Ceilings {
  return Object.fromEntries(
    Object.entries(ceilings)
      .map(([name, ceiling]) => [name, Math.min(ceiling, found[name]?.length ?? ceiling)] as const)
      .filter(([, ceiling]) => ceiling > 0),
  )
}
