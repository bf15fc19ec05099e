/** The end of a run: the world recovers, and the invariants are applied to what the client left in it. */

import { type Duration, type Micros, micros } from '../../../kernel/duration.ts'
import { findCreatedThings } from '../../../simulator/judge/created-things.ts'
import type { ClientEnd, Observation } from '../../../simulator/judge/observation.ts'
import { DEFAULT_POLLS_AT_MOST } from '../../../simulator/judge/rules/polls-at-most.ts'
import { hideSecretsIn } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { FlowOptions } from '../flow.ts'
import type { InvariantSettings } from '../invariants.ts'
import type { AppliedPlan } from './applied-plan.ts'
import { findLines, findOwnedIds } from './client-result.ts'
import { readOwn, readOwnLines } from './own-readers.ts'
import type { RequestRecorder } from './request-recorder.ts'
import { findBoundaries, findFeatures, findLineage, toBase } from './run-record.ts'
import type { RunResult } from './run-result.ts'
import { describeViolation, judge } from './verdict.ts'

const DEFAULT_SETTLES: Duration = '48h'
/** Time of the world after the end of the flow, in which what goes on without a client shows itself. */
const RECOVERY: Duration = '15m'
/** Journal entries of one run. A run that has more keeps the newest. */
export const JOURNAL_LIMIT = 50_000

/** A client that has ended, and its world. */
export interface EndedClient {
  readonly sim: Simulator
  readonly plan: AppliedPlan
  readonly recorder: RequestRecorder
  readonly end: ClientEnd
  readonly startedAt: Micros
  readonly starts: number
  readonly output: string
  /** Moves the time of the world. */
  advance(duration: Duration): Promise<unknown>
}

/** Returns the longest time that a client may take. */
export function settlesWithin({ settles }: InvariantSettings): Micros {
  return micros(settles || DEFAULT_SETTLES)
}

/** Ends all faults and failures of a world. */
export function heal(sim: Simulator, plan: AppliedPlan): void {
  plan.stop()
  sim.cluster.recoverAll()
}

/** Recovers the world, applies the invariants, and returns what remains of the run. */
export async function concludeRun(
  client: EndedClient,
  options: Pick<FlowOptions, 'invariants' | 'own' | 'lines'>,
  base: Observation['base'],
): Promise<RunResult> {
  const { sim, plan } = client
  const { invariants = {} } = options
  const endedAt = sim.clock.elapsed
  heal(sim, plan)
  await client.advance(RECOVERY)
  const observation = observe(client, endedAt, options, base)
  const entries = sim.journal.entries()
  const violations = judge(observation, invariants)
  const lineage = new Map<string, ReadonlySet<number>>()
  for (const violation of violations) {
    if (lineage.has(violation.signature)) continue
    lineage.set(violation.signature, findLineage(violation, observation, entries, plan))
  }
  return {
    digest: sim.digest,
    requests: observation.requests,
    end: observation.end.kind,
    broken: hideSecretsIn(sim, violations.map(describeViolation)),
    fired: plan.fired,
    lineage,
    boundaries: findBoundaries(entries, observation),
    features: findFeatures(entries, observation.requests),
    duration: endedAt - client.startedAt,
    base: toBase(observation),
  }
}

function observe(
  { sim, recorder, end, startedAt, starts, output }: EndedClient,
  endedAt: Micros,
  { invariants = {}, own, lines }: Pick<FlowOptions, 'invariants' | 'own' | 'lines'>,
  base: Observation['base'],
): Observation {
  const created = findCreatedThings(sim, recorder.bySeq)
  const ids = created.map(({ id }) => id)
  const linesOf = (result: unknown) => (lines === undefined ? findLines(result) : readOwnLines(lines, result))
  const pollsAtMost = invariants.pollsAtMost || DEFAULT_POLLS_AT_MOST
  return {
    ...{ requests: recorder.requests, end, sim, startedAt, endedAt, created, base, output },
    owned: own !== undefined && end.kind === 'returned' ? new Set(readOwn(own, end.result)) : findOwnedIds(end, ids),
    lines: end.kind === 'returned' ? linesOf(end.result) : undefined,
    crashes: starts - 1,
    settings: {
      settles: settlesWithin(invariants),
      pollsAtMost,
      spendsAtMost: invariants.spendsAtMost === false ? undefined : invariants.spendsAtMost,
    },
  }
}
