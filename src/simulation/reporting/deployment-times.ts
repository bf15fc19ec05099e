/** The time that a deployment spent in its statuses, and its instances in their states. */

import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { INSTANCE_STATES, type InstanceState } from '../deployments/instance-row.ts'
import { INSTANCE_STAGES, type LossCause } from '../recording/instance-timeline.ts'
import type { World } from '../world.ts'
import { toSeconds } from './figures.ts'
import { instanceTimelines } from './instance-timelines.ts'
import type { ColdStartPhase } from './report-types.ts'
import { type CountedWindow, isWithin } from './report-window.ts'

/** The phases of a cold start, in microseconds. */
export type ColdStart = Readonly<Record<ColdStartPhase, Micros>>

/** Returns the time in each status, and the status at the end of the window. */
export function statusTimes(world: World, window: CountedWindow, row: Readonly<DeploymentRow>) {
  const { from, to } = window
  const micros = Object.fromEntries(DEPLOYMENT_STATUSES.map(status => [status, 0])) as Record<DeploymentStatus, Micros>
  let status: DeploymentStatus | undefined
  let failures = 0
  let until = to
  for (const change of world.history.statuses(row)) {
    if (change.at > to) continue
    status ??= change.status
    micros[change.status] += Math.max(0, until - Math.max(change.at, from))
    until = Math.min(until, change.at)
    // A failure at the epoch of the world belongs to the time before it.
    if (change.status === 'failed' && change.at > 0 && isWithin(window, change.at)) failures++
    if (change.at < from) break
  }
  const { deleted: _, ...present } = micros
  const sum = Object.values(present).reduce((total, time) => total + time, 0)
  return { status, failures, present: sum, seconds: toSeconds(present) }
}

/** Returns the time in each instance state, the cold starts and the losses. */
export function instanceTimes(world: World, window: CountedWindow, row: Readonly<DeploymentRow>) {
  const { from, to } = window
  const micros = Object.fromEntries(INSTANCE_STATES.map(state => [state, 0])) as Record<InstanceState, Micros>
  const coldStarts: ColdStart[] = []
  const losses: LossCause[] = []
  let heldMicros = 0
  for (const timeline of instanceTimelines(world, row)) {
    if (timeline.end < from) break
    if (timeline.lossCause !== undefined && isWithin(window, timeline.end)) losses.push(timeline.lossCause)
    let end = timeline.end
    for (let i = INSTANCE_STATES.length - 1; i >= 0; i--) {
      const state = INSTANCE_STATES[i]!
      if (timeline[state] < 0) continue
      const inState = Math.max(0, Math.min(end, to) - Math.max(timeline[state], from))
      micros[state] += inState
      if (state !== 'pending') heldMicros += inState
      end = timeline[state]
    }
    // An instance of a fixture that was part of the way through its start has no whole cold start.
    if (
      timeline.ready < 0 ||
      !isWithin(window, timeline.ready) ||
      INSTANCE_STAGES.slice(0, 7).some(stage => timeline[stage] < 0)
    )
      continue
    coldStarts.push({
      waiting_for_placement: timeline.placed - timeline.pending,
      image: timeline.pulled - timeline.placed,
      weights: timeline.loading - timeline.pulled,
      load: timeline.warming - timeline.loading,
      warm_up: timeline.ready - timeline.warming,
      total: timeline.ready - timeline.pending,
    })
  }
  return { heldMicros, coldStarts, losses, seconds: toSeconds(micros) }
}
