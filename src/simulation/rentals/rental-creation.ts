import { formatDuration } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import type { Generation } from '../../kernel/row.ts'
import type { SimulationContext } from '../context.ts'
import type { Store } from '../store.ts'
import {
  countsAgainstQuota,
  type FixtureRental,
  type Machine,
  type RentalKind,
  RentalRow,
  type RentalSpec,
} from './rental-row.ts'

const ID = purpose('rental.id')

const ID_PREFIXES: Readonly<Record<RentalKind, string>> = { hosted: 'inst_', container: 'container_' }

/** What a request for a rental of the other kind has. */
const NEITHER = { gpu: 'other', numGpus: 0, image: '', machine: undefined, storageGb: 0 } as const

/** Returns the row of a new rental, or of one of a fixture. It has no resources yet. */
export function createRow(
  context: SimulationContext,
  generation: Generation,
  spec: RentalSpec,
  fixture: FixtureRental | undefined,
): RentalRow {
  const { name, storageGb, ...own } = { ...NEITHER, ...spec }
  const key = context.newKey(own.kind, name)
  const id = fixture?.id ?? `${ID_PREFIXES[own.kind]}${context.chance.letters(24, key, ID)}`
  const createdAt = fixture?.createdAt ?? context.clock.now
  const row = new RentalRow(generation, id, {
    plan: { ...own, key, createdAt },
    name,
    state: fixture?.state ?? 'creating',
    since: createdAt,
    updatedAt: createdAt,
    storageGb,
    stateAfterShutdown: own.kind === 'hosted' ? 'stopped' : 'deleted',
  })
  row.failReason = fixture?.failReason ?? ''
  if (!countsAgainstQuota(row.state)) row.endedAt = createdAt
  return row
}

/** Whether the region of a plan has another machine for the account. */
export function hasFreeMachine(
  store: Store,
  rentals: Iterable<[number, Readonly<RentalRow>]>,
  { planId, region }: Machine,
): boolean {
  const capacity = store.plans.get(planId)?.capacity
  if (capacity === undefined) return true
  let used = 0
  for (const [, { hasMachine, plan }] of rentals) {
    if (hasMachine && plan.machine?.planId === planId && plan.machine.region === region) used++
  }
  return used < capacity
}

/** Returns the reason for which a rental gave up its wait. */
export function formatShortage(
  { profile }: SimulationContext,
  { gpu, numGpus, plan: { machine } }: Readonly<RentalRow>,
): string {
  const waited = formatDuration(profile.timings.rentalCapacityWait)
  return machine === undefined
    ? `no node had ${numGpus} free ${gpu} for ${waited}`
    : `the region ${machine.region} had no machine for the plan ${machine.planId} for ${waited}`
}
