import { refuse } from '../api/endpoint.ts'
import type { Micros } from '../kernel/duration.ts'
import type { Simulator } from '../simulator.ts'

/**
 * Microseconds since the epoch of the world, of a moment in a query: Unix seconds or ISO 8601. Refuses any other with 400.
 *
 * @param what what the moment is for, as in `read the ledger from`
 */
export function moment({ world }: Simulator, what: string, text: string): Micros {
  const given = text.trim()
  if (/^-?\d+(\.\d+)?$/.test(given)) return Math.round(world.clock.fromUnix(Number(given)))
  // In a query a raw plus is a space.
  const iso = given.replace(/ (\d\d:?\d\d)$/, '+$1')
  const at = world.clock.fromIso(iso)
  if (Number.isFinite(at) && /(Z|[+-]\d\d:?\d\d)$/i.test(iso)) return at
  return refuse(
    400,
    `Failed to ${what} '${text}': no moment. Give Unix seconds, or ISO 8601 as in '2026-01-01T00:00:00Z'.`,
  )
}
