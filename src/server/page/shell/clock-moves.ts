/** The ways in which the page moves a clock and makes forks. */
import type { Session } from '../store/session.ts'

/** The name of the hold by which the page pauses a clock. */
export const HOLD_OWNER = 'control-room'

/** Advances the clock by a duration: `90m`. */
export async function advance(session: Session, by: string): Promise<void> {
  await session.act(`Advance by ${by}`, 'POST /_sim/clock/advance', { by })
}

/** Advances the clock to a time in ISO 8601. */
export async function advanceTo(session: Session, to: string): Promise<void> {
  await session.act(`Advance to ${to}`, 'POST /_sim/clock/advance', { to })
}

export async function nextEvent(session: Session): Promise<void> {
  await session.act('Go to the next event', 'POST /_sim/clock/next', {})
}

/** Holds the clock, or releases the hold of the page. A manual clock has nothing to pause. */
export async function togglePause(session: Session): Promise<void> {
  const clock = session.clock.peek()
  if (clock === undefined || clock.mode === 'manual') return
  const owner = HOLD_OWNER
  if (clock.paused_by.includes(owner)) await session.act('Play', 'POST /_sim/clock/resume', { owner })
  else await session.act('Pause', 'POST /_sim/clock/pause', { owner })
}
