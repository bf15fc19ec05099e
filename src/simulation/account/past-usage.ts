import type { Fixture } from '../../data/records/fixture.ts'
import { type GpuType, parseGpuConfig } from '../../data/records/gpu-config.ts'
import type { PastUsageRecord } from '../../data/records/history.ts'
import type { Archive } from '../../kernel/archive.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { Part } from '../part.ts'
import type { MeteredUsage } from './ledger-types.ts'
import {
  gpuTimeCost,
  gpuTimeWeight,
  MICROCENTS_PER_CENT,
  type Microcents,
  overlap,
  tokenCost,
  tokenWeight,
} from './money.ts'
import { type TokenPrice, tokenPriceOf } from './request-cost.ts'

/** Months between the opening of an account and its epoch, if the fixture does not state the opening. */
const DEFAULT_MONTHS = 2

/** A stretch of time before the epoch, with a use that is spread evenly over it. */
interface PastStretch {
  readonly from: Micros
  readonly to: Micros
  readonly inputTokens: number
  readonly outputTokens: number
}

interface PastRent extends PastStretch {
  readonly id: string
  readonly kind: MeteredUsage['kind']
  readonly gpu: GpuType
  readonly instances: number
  readonly gpus: number
  readonly requests: number
  /** Micro-cents per hour of one GPU. */
  readonly price: number
}

interface PastTokens extends PastStretch {
  readonly model: string
  readonly tokenId: string
  readonly price: TokenPrice
}

/** The use of one deployment, hosted instance or container before the epoch. */
export interface PastRentUsage extends MeteredUsage {
  /** Billed microseconds of its instances, summed. */
  readonly instanceMicros: number
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** The tokens of one model and one API token before the epoch. */
export interface PastTokenUsage {
  readonly model: string
  readonly tokenId: string
  readonly tokens: number
  readonly microcents: Microcents
}

/**
 * What the account used before the epoch of the world. It follows from the fixture and never changes.
 *
 * Each figure of a window is the difference of two running totals that are rounded down, so adjoining windows add up.
 * Windows end at the epoch: their later part is empty.
 */
export class PastUsage extends Part {
  #openedAt: Micros = 0
  #rents: readonly PastRent[] = []
  #tokens: readonly PastTokens[] = []

  archive(archive: Archive): void {
    this.#openedAt = archive.value(this.#openedAt)
    this.#rents = archive.value(this.#rents)
    this.#tokens = archive.value(this.#tokens)
  }

  /** Reads the past from a fixture. Ids, models and times were checked when it was loaded. */
  open(fixture: Fixture): void {
    const { clock } = this.context
    const billed = billedThings(fixture)
    const rents: PastRent[] = []
    const tokens: PastTokens[] = []
    for (const record of fixture.history) {
      if (record.kind === 'rent') rents.push(this.#pastRent(record, billed))
      else tokens.push(this.#pastTokens(record, fixture.api_tokens[0]?.token_id))
    }
    this.#rents = rents
    this.#tokens = tokens
    const date = new Date(clock.epochMs)
    const months = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - DEFAULT_MONTHS, 1)
    const { created_at } = fixture.account
    this.#openedAt =
      created_at === undefined
        ? Math.min((months - clock.epochMs) * 1000, ...[...rents, ...tokens].map(({ from }) => from))
        : clock.elapsedAt(created_at)
  }

  /** When the account was opened, in microseconds since the epoch: not above 0. */
  get openedAt(): Micros {
    return this.#openedAt
  }

  /** Returns the use of each deployment, hosted instance and container in a window, sorted by id. */
  rentUsage(from: Micros, to: Micros): PastRentUsage[] {
    const usages = new Map<string, PastRentUsage>()
    for (const rent of this.#rents) {
      const instanceMicros = overlap(rent.from, rent.to, from, to) * rent.instances
      if (instanceMicros === 0) continue
      const { id, kind, gpu, gpus } = rent
      const before = usages.get(id)
      const cost = (at: Micros) => gpuTimeCost(BigInt(elapsed(rent, at)) * BigInt(gpus) * BigInt(rent.price))
      const within = (total: number) => shareAt(rent, total, to) - shareAt(rent, total, from)
      usages.set(id, {
        ...{ id, kind, gpu },
        microcents: (before?.microcents ?? 0) + cost(to) - cost(from),
        gpuMicros: (before?.gpuMicros ?? 0) + overlap(rent.from, rent.to, from, to) * gpus,
        instanceMicros: (before?.instanceMicros ?? 0) + instanceMicros,
        requests: (before?.requests ?? 0) + within(rent.requests),
        inputTokens: (before?.inputTokens ?? 0) + within(rent.inputTokens),
        outputTokens: (before?.outputTokens ?? 0) + within(rent.outputTokens),
      })
    }
    return [...usages.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Returns the GPU time of a deployment, hosted instance or container in a window, weighted by its price. */
  rentWeight(id: string, from: Micros, to: Micros): bigint {
    let weight = 0n
    for (const rent of this.#rents) {
      if (rent.id === id) weight += gpuTimeWeight(rent, from, to)
    }
    return weight
  }

  /** Returns the tokens of each model and API token in a window. */
  tokenUsage(from: Micros, to: Micros): PastTokenUsage[] {
    const usages: PastTokenUsage[] = []
    for (const past of this.#tokens) {
      const { model, tokenId, price } = past
      const totalsAt = (at: Micros) => ({
        input: shareAt(past, past.inputTokens, at),
        output: shareAt(past, past.outputTokens, at),
      })
      const [before, after] = [totalsAt(from), totalsAt(to)]
      const tokens = after.input - before.input + after.output - before.output
      if (tokens === 0) continue
      const costOf = ({ input, output }: typeof before) =>
        tokenCost(tokenWeight(input, price.input) + tokenWeight(output, price.output))
      usages.push({ model, tokenId, tokens, microcents: costOf(after) - costOf(before) })
    }
    return usages
  }

  #stretch(record: PastUsageRecord, from: string): PastStretch {
    const { clock } = this.context
    return {
      from: clock.elapsedAt(from),
      to: record.to === undefined ? 0 : clock.elapsedAt(record.to),
      inputTokens: record.input_tokens,
      outputTokens: record.output_tokens,
    }
  }

  #pastRent(record: Extract<PastUsageRecord, { kind: 'rent' }>, billed: ReadonlyMap<string, BilledThing>): PastRent {
    const { id, instances, requests } = record
    const { kind, gpu, numGpus, ownCents, createdAt } = billed.get(id)!
    const gpuCents = gpu === 'other' ? 0 : this.context.profile.prices.centsPerHour[gpu]
    const cents = record.cents_per_hour ?? ownCents ?? gpuCents
    return {
      ...{ id, kind, gpu, instances, requests },
      ...this.#stretch(record, record.from ?? createdAt!),
      gpus: instances * numGpus,
      price: Math.round(cents * MICROCENTS_PER_CENT),
    }
  }

  #pastTokens(record: Extract<PastUsageRecord, { kind: 'tokens' }>, defaultTokenId = ''): PastTokens {
    const { model, from, token_id = defaultTokenId, price_share } = record
    const price = tokenPriceOf(this.context.store, model, price_share) ?? { input: 0, output: 0 }
    return { ...this.#stretch(record, from), model, tokenId: token_id, price }
  }
}

/** Returns whole seconds by id, sorted: the sums of billed times before and after the epoch, rounded down once. */
export function toBilledSeconds(
  times: ReadonlyMap<string, Micros>,
  past: readonly PastRentUsage[],
): Record<string, number> {
  const sums = new Map(times)
  for (const { id, instanceMicros } of past) sums.set(id, (sums.get(id) ?? 0) + instanceMicros)
  const seconds = Array.from(sums, ([id, time]) => [id, Math.floor(time / SECOND)] as const)
  return Object.fromEntries(seconds.sort(([a], [b]) => (a < b ? -1 : 1)))
}

interface BilledThing {
  readonly kind: MeteredUsage['kind']
  readonly gpu: GpuType
  readonly numGpus: number
  /** Cents per hour of a machine, which has no GPU. */
  readonly ownCents?: number
  readonly createdAt: string | undefined
}

/** Returns all that a history can name, by id. */
function billedThings({ deployments, plans, hosted, containers }: Fixture): Map<string, BilledThing> {
  const things = new Map<string, BilledThing>()
  for (const { deploy_id, gpu, num_gpus, created_at } of deployments) {
    if (deploy_id === undefined) continue
    things.set(deploy_id, { kind: 'deployment', gpu, numGpus: num_gpus, createdAt: created_at })
  }
  const planCents = new Map(plans.map(({ id, cents_per_hour }) => [id, cents_per_hour]))
  for (const { instance_id, plan_id, created_at } of hosted) {
    const ownCents = planCents.get(plan_id)!
    things.set(instance_id, { kind: 'hosted', gpu: 'other', numGpus: 1, ownCents, createdAt: toIso(created_at) })
  }
  for (const { container_id, gpu_config, created_at } of containers) {
    const { gpu, num_gpus } = parseGpuConfig(gpu_config)!
    things.set(container_id, { kind: 'container', gpu, numGpus: num_gpus, createdAt: toIso(created_at) })
  }
  return things
}

function toIso(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString()
}

/** Microseconds of a stretch that have passed at a time. */
function elapsed({ from, to }: PastStretch, at: Micros): Micros {
  return Math.min(Math.max(0, at - from), to - from)
}

/** Returns how much of a total that is spread over a stretch has come about at a time, rounded down. */
function shareAt(stretch: PastStretch, total: number, at: Micros): number {
  if (total === 0 || stretch.to === stretch.from) return 0
  return Number((BigInt(total) * BigInt(elapsed(stretch, at))) / BigInt(stretch.to - stretch.from))
}
