import { DEFAULT_WORLD, useSession } from '../../store/session.ts'
import type { Finding } from './report.ts'

/** Creates a world with the fault rules of a finding, so that the client can be sent there by hand. */
export function ReproduceButton({ finding }: { finding: Finding }) {
  const session = useSession()
  const rules = finding.plan.flatMap(item => {
    const { fault } = item as { fault?: Record<string, unknown> }
    return fault === undefined ? [] : [fault]
  })
  if (rules.length === 0) return null
  const create = async () => {
    const from = session.world.peek()
    const made = await session.act(
      'Fork for the finding',
      'POST /_sim/worlds',
      { from, clock: 'manual' },
      DEFAULT_WORLD,
    )
    if (made === undefined) return
    session.place.go({ view: 'faults', world: made.world, origin: from })
    for (const rule of rules) {
      await session.act('Add a fault rule', 'POST /_sim/faults', rule as never, made.world)
    }
  }
  return (
    <button type="button" class="small" onClick={create}>
      Open a fork with these faults
    </button>
  )
}
