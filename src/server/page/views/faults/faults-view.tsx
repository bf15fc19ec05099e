/** What is broken now, what can be broken, and what clients get wrong answers from: each with its undo. */
import { ActiveFailures } from './active-failures.tsx'
import { FaultRules } from './fault-rules.tsx'
import { GiveCommand } from './give-command.tsx'
import { Recorded } from './recorded.tsx'
import { Timelines } from './timelines.tsx'

export function FaultsView() {
  return (
    <div class="columns">
      <div class="stack">
        <ActiveFailures />
        <GiveCommand />
        <Timelines />
      </div>
      <div class="stack">
        <FaultRules />
        <Recorded />
      </div>
    </div>
  )
}
