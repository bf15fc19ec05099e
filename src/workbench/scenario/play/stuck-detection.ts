/** Ends a scenario that waits for something that never comes. */

import { formatDuration } from '../../../kernel/duration.ts'
import { clearRealTimeout, eventLoopTurn, setRealTimeout } from '../../../lib/real-time.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { failureMessage } from './failures.ts'

/** Real milliseconds without activity after which a script counts as stuck. */
export const STUCK_TIMEOUT_MS = 5_000
/** Checks of the activity of a script in that time. */
const STUCK_CHECKS = 25

/** A script that may be stuck. */
interface WaitingScript {
  /** The reason why the script waits. Undefined: unknown. */
  readonly waitReason: string | undefined
}

/**
 * Plays a script until it ends. Rejects when a promise fails that is not awaited, or when nothing has
 * happened for `ms` real milliseconds.
 */
export async function withStuckDetection(
  script: WaitingScript,
  environment: ScenarioEnvironment,
  ms: number,
  play: () => Promise<void>,
): Promise<void> {
  let fail = (_: unknown) => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const giveUp = (symptom: string) => {
    const waitReason = script.waitReason ?? environment.waitReason ?? 'it awaits something that never comes'
    fail(new Error(`Failed to go on: ${symptom}, and the script has not ended: ${waitReason}.`))
  }
  let before = environment.revision
  let idleChecks = 0
  let timer: unknown
  // Many short waits: a process that got no turn for a long time was not idle for that time.
  const scheduleCheck = () => {
    timer = setRealTimeout(() => {
      idleChecks = environment.revision === before ? idleChecks + 1 : 0
      before = environment.revision
      if (idleChecks === STUCK_CHECKS) giveUp(`nothing has happened for ${formatDuration(ms * 1000)} of real time`)
      scheduleCheck()
    }, ms / STUCK_CHECKS)
  }
  // Without any work left Node would exit silently. The turn keeps it running for the next scenario.
  const onBeforeExit = () => {
    giveUp('no work is left')
    eventLoopTurn()
  }
  const onUnhandledRejection = (reason: unknown) => {
    const error = new Error(`a promise that is not awaited failed: ${failureMessage(reason)}`, { cause: reason })
    if (reason instanceof Error) error.stack = reason.stack ?? ''
    fail(error)
  }
  process.on('beforeExit', onBeforeExit)
  process.on('unhandledRejection', onUnhandledRejection)
  scheduleCheck()
  try {
    await Promise.race([play(), failed])
    // Node reports an unhandled rejection one turn later. It must not count for the next scenario.
    await Promise.race([eventLoopTurn(), failed])
  } finally {
    // A timer that is left would keep the world of a play in memory for a fifth of a second.
    clearRealTimeout(timer)
    process.off('beforeExit', onBeforeExit)
    process.off('unhandledRejection', onUnhandledRejection)
  }
}
