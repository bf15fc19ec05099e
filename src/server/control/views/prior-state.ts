/** The state of a thing before its first journal entry: the world began with it, or the journal has dropped its start. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { INSTANCE_STATES, type InstanceRow } from '../../../simulation/deployments/instance-row.ts'
import type { World } from '../../../simulation/world.ts'
import type { LifeKind } from './lifecycle.ts'

interface PriorState {
  readonly name: string
  /** At the earliest the start of the world. */
  readonly begin: Micros
}

/**
 * Returns a function that looks up the state that a thing had before an entry. Undefined: it did not exist, or its state is
 * unknown. Without an entry, its present state is meant. It reads the instances of a world once.
 */
export function priorStatesOf(world: World) {
  let instances: ReadonlyMap<string, Readonly<InstanceRow>> | undefined
  return (kind: LifeKind, id: string, entry?: Entry): PriorState | undefined => {
    if (entry !== undefined && /\.(?:created|pending|provisioning)$/.test(entry.kind)) return undefined
    const before = entry?.time ?? Number.POSITIVE_INFINITY
    switch (kind) {
      case 'deployment':
        return deploymentState(world, id, before)
      case 'instance':
        instances ??= new Map(Array.from(world.instances.entries(), ([, row]) => [row.id, row]))
        return instanceState(instances.get(id), before, entry)
      case 'batch':
        return batchState(world, id, before)
      case 'hosted':
      case 'container':
        return entry === undefined ? rentalState(world, id) : undefined
      case 'node':
        return { name: 'ready', begin: 0 }
    }
  }
}

function deploymentState({ deployments, history }: World, id: string, before: Micros): PriorState | undefined {
  const ordinal = deployments.ordinalOf(id)
  if (ordinal === undefined) return undefined
  for (const { at, status } of history.statuses(deployments.read(ordinal))) {
    if (at < before) return { name: status, begin: Math.max(0, at) }
  }
  return undefined
}

function instanceState(
  row: Readonly<InstanceRow> | undefined,
  before: Micros,
  entry: Entry | undefined,
): PriorState | undefined {
  // If it is gone, its loss says what it was.
  if (row === undefined) return { name: String(entry?.fields?.state ?? 'ready'), begin: 0 }
  const { timeline, state } = row
  const newest = INSTANCE_STATES.filter(name => timeline[name] >= 0 && timeline[name] < before).at(-1)
  if (newest !== undefined) return { name: newest, begin: timeline[newest] }
  return { name: entry === undefined ? state : 'ready', begin: 0 }
}

function batchState({ batches }: World, id: string, before: Micros): PriorState | undefined {
  for (const [, { id: other, createdAt, statusTimes }] of batches.entries()) {
    if (other !== id) continue
    const times = Object.entries(statusTimes) as [string, Micros][]
    const [newest] = times.filter(([, time]) => time < before).sort(([, a], [, b]) => b - a)
    const [name, begin] = newest ?? ['validating', createdAt]
    return { name, begin: Math.max(0, begin) }
  }
  return undefined
}

function rentalState({ rentals }: World, id: string): PriorState | undefined {
  const ordinal = rentals.ordinalOf(id)
  if (ordinal === undefined) return undefined
  const { state, since } = rentals.read(ordinal)
  return { name: state, begin: Math.max(0, since) }
}
