/** What every request that asks for GPUs is held to, in the order of its refusals. */
import type { World } from '../cluster/world.ts'
import type { GpuType } from '../store/records.ts'
import { refuse } from './endpoint.ts'

/** Where a simulated world stops; far beyond any account's limit. */
const MOST_RENTALS = 100_000

/** 402: nothing new starts on an account that has no funds or is suspended. */
export function demandFunds({ ledger }: World): void {
  const { suspended } = ledger
  if (suspended === undefined) return
  refuse(
    402,
    suspended === 'balance'
      ? 'no funds: add some with POST /payment/funds'
      : `the account is suspended (${suspended}): funds do not end that`,
  )
}

/** 403: what is asked for must fit beside what the account holds or has asked for. */
export function demandWithinLimit(world: World, gpu: GpuType, wanted: number): void {
  if (wanted === 0 || gpu === 'other') return
  const limit = world.limits.of(gpu)
  if (limit === null) return
  const held = world.limits.held(gpu)
  if (held + wanted > limit) {
    refuse(
      403,
      `over the GPU limit: this asks for ${wanted} ${gpu}, ${held} ${held === 1 ? 'is' : 'are'} held or asked for, and the ` +
        `limit is ${limit}; ` +
        'ask for more with POST /v1/me/gpu_limit/request',
    )
  }
}

/** 429: a world holds so many rentals, the deleted included. */
export function demandRentalRoom({ rentals }: World): void {
  if (rentals.count < MOST_RENTALS) return
  refuse(429, `this world holds ${MOST_RENTALS} hosted instances and containers, which is its limit`, {
    'retry-after': '3600',
  })
}
