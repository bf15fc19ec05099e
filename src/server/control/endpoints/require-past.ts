import { refuse } from '../../../service/refusals.ts'
import type { Past } from '../../../simulator/history/past/past.ts'
import type { Pasts } from '../../../simulator/history/past/pasts.ts'
import type { Simulator } from '../../../simulator/simulator.ts'

/**
 * Returns the past of a world. Refuses with 409 if it is not kept.
 *
 * @param purpose what needs it, as in `save a page`
 */
export function requirePast(pasts: Pasts, sim: Simulator, purpose: string): Past {
  return (
    pasts.of(sim) ??
    refuse(409, `Failed to ${purpose}: the past of this world is not kept. Send POST /_sim/past to it before.`)
  )
}
