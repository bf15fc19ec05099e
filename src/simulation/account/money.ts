/** What money is counted in, and what GPU time and tokens cost. */
import { HOUR, type Micros } from '../../kernel/duration.ts'

/** Micro-cents: the ledger's only unit, an integer. 1 cent is 1,000,000 of them. */
export type Microcents = number

export const MICROCENTS_PER_CENT = 1_000_000
export const MICROCENTS_PER_USD = 100 * MICROCENTS_PER_CENT

/** A stretch of time in which a constant number of GPUs was billed. */
export interface BilledInterval {
  readonly from: Micros
  readonly to: Micros
  readonly gpus: number
  /** Micro-cents per hour of one GPU. */
  readonly price: number
  /** It goes on. */
  readonly isOpen: boolean
}

/** Millionths of a micro-cent: what prices of tokens are kept to. */
const WEIGHT_PER_MICROCENT = 1_000_000n

/**
 * What tokens cost, in millionths of a micro-cent. A cent per million tokens is a micro-cent per token.
 *
 * @example tokenCost(tokenWeight(1000, 15)) // 15,000 micro-cents
 */
export function tokenWeight(tokens: number, centsPerMillion: number): bigint {
  return BigInt(tokens) * BigInt(Math.round(centsPerMillion * 1e6))
}

/**
 * The same for units of another kind, which can be fractions: both factors count to a millionth.
 *
 * @param units seconds, characters, image units or tokens
 * @example tokenCost(unitWeight(0.25, 0.2)) // 50,000 micro-cents
 */
export function unitWeight(units: number, centsPerUnit: number): bigint {
  return (BigInt(Math.round(units * 1e6)) * BigInt(Math.round(centsPerUnit * 1e12))) / 1_000_000n
}

/** Nano-dollars of a weight, floored. A micro-cent is ten of them. */
export function toNanoDollars(weight: bigint): number {
  return Number((weight * 10n) / WEIGHT_PER_MICROCENT)
}

/** Micro-cents of such a weight, floored. */
export function tokenCost(weight: bigint): Microcents {
  return Number(weight / WEIGHT_PER_MICROCENT)
}

/** GPU-microseconds × micro-cents per hour of the part of a stretch that lies between two moments. */
export function gpuTimeWeight(
  { from, to, gpus, price }: Omit<BilledInterval, 'isOpen'>,
  since: Micros,
  until: Micros,
): bigint {
  return BigInt(overlap(from, to, since, until)) * BigInt(gpus) * BigInt(price)
}

/** Micro-cents of a weight of GPU time, floored. */
export function gpuTimeCost(weight: bigint): Microcents {
  return Number(weight / BigInt(HOUR))
}

/** How much of a stretch lies in a window. */
export function overlap(from: Micros, to: Micros, windowFrom: Micros, windowTo: Micros): Micros {
  return Math.max(0, Math.min(to, windowTo) - Math.max(from, windowFrom))
}
