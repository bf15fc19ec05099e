import { forkWorld } from '../../store/fork-world.ts'
import { useSession } from '../../store/session.ts'
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
    const made = await forkWorld(session, session.world.peek(), 'Fork for the finding', 'faults')
    if (made === undefined) return
    for (const rule of rules) await session.act('Add a fault rule', 'POST /_sim/faults', rule as never, made)
  }
  return (
    <button type="button" class="small" onClick={create}>
      Open a fork with these faults
    </button>
  )
}
