import { CONTAINER_STATES, HOSTED_STATES } from '../../data/records/enums.ts'
import type { SimulationContext } from '../context.ts'
import type { JournalKindName } from '../journal-kinds.ts'
import type { RentalKind, RentalRow, RentalState } from './rental-row.ts'

/** The journal kind of each state. Precomputed, because the engine hashes every new string again. */
const STATE_KINDS: Readonly<Record<RentalKind, Readonly<Partial<Record<RentalState, JournalKindName>>>>> = {
  hosted: Object.fromEntries(HOSTED_STATES.map(state => [state, `hosted.${state}`])),
  container: Object.fromEntries(CONTAINER_STATES.map(state => [state, `container.${state}`])),
}

/** Moves a rental to a state and records the change. */
export function enterState(context: SimulationContext, row: RentalRow, state: RentalState, reason?: string): void {
  const { clock } = context
  row.state = state
  row.since = clock.now
  row.updatedAt = clock.now
  if (row.endedAt < 0 && (state === 'stopped' || state === 'failed' || state === 'deleted')) row.endedAt = clock.now
  context.record(row, STATE_KINDS[row.kind][state]!, reason === undefined ? undefined : { reason })
  context.markVisibleChange()
}

/** Records a change of a rental that keeps its state. */
export function recordChange(
  context: SimulationContext,
  row: RentalRow,
  kind: JournalKindName,
  fields?: Record<string, string | number>,
): void {
  row.updatedAt = context.clock.now
  context.record(row, kind, fields)
  context.markVisibleChange()
}
