/** Delays and failures of payments and shared capacity that the weather brings: functions of the seed, without state. */
import { draw } from '../../data/profiles/distribution.ts'
import type { WeatherPack } from '../../data/profiles/load.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type EntityKey, type Purpose, purpose, roundDown } from '../../kernel/random.ts'
import type { SimulationContext } from '../context.ts'

const TOPUP_DECLINED = purpose('weather.topupDeclined')
const TOPUP_DELAYED = purpose('weather.topupDelayed')
const TOPUP_DELAY = purpose('weather.topupDelay')
const BATCH_WAIT = purpose('weather.batchWait')
const BATCH_WAITS = purpose('weather.batchWaits')

/** What the draws are functions of. */
type ChaosContext = Pick<SimulationContext, 'chance' | 'profile'>
type BatchWaitLength = keyof WeatherPack['batchWaitShares']

/** Returns the weather pack of a profile; undefined for a world without weather. */
export function weatherPack({ profile }: ChaosContext): WeatherPack | undefined {
  const { pack, packs } = profile.weather
  return pack === 'none' ? undefined : packs[pack]
}

/** Returns the draw by which the nth charge of an account is declined; undefined if the weather declines none. */
export function drawTopupDecline(context: ChaosContext, uid: string, index: number): number | undefined {
  return drawBelow(context, weatherPack(context)?.topupDeclined ?? 0, uid, TOPUP_DECLINED, index)
}

/**
 * Returns how much later than usual the nth charge of an account comes, and the draw that made it late; undefined if it
 * comes as usual.
 */
export function drawTopupDelay(context: ChaosContext, uid: string, index: number) {
  const { chance, profile } = context
  const drawn = drawBelow(context, weatherPack(context)?.topupDelayed ?? 0, uid, TOPUP_DELAYED, index)
  if (drawn === undefined) return undefined
  const key = chance.key('account', uid)
  return { draw: drawn, delay: Math.round(draw(profile.weather.topupDelayLasts, chance, key, TOPUP_DELAY, index)) }
}

/** Returns the nth draw of an account if it is below a probability, with six digits; otherwise undefined. */
function drawBelow(
  { chance }: ChaosContext,
  probability: number,
  uid: string,
  of: Purpose,
  index: number,
): number | undefined {
  if (probability === 0) return undefined
  const drawn = chance.unit(chance.key('account', uid), of, index)
  return drawn < probability ? roundDown(drawn) : undefined
}

/** The wait of a batch for shared capacity. */
export interface BatchWait {
  readonly wait: BatchWaitLength
  /** Microseconds; Infinity if the batch expires before. */
  readonly duration: Micros
  /** The draw that gave `wait`, with six digits, and the share of `wait`. Both are missing without weather. */
  readonly drawn?: { readonly draw: number; readonly share: number }
}

/** Returns how long a batch waits for shared capacity. */
export function drawBatchWait(context: ChaosContext, key: EntityKey): BatchWait {
  const { chance, profile } = context
  const pack = weatherPack(context)
  if (pack === undefined) return { wait: 'none', duration: 0 }
  const unit = chance.unit(key, BATCH_WAIT)
  const wait = pickByShare(pack.batchWaitShares, unit)
  const drawn = { draw: roundDown(unit), share: pack.batchWaitShares[wait] }
  if (wait === 'none') return { wait, duration: 0, drawn }
  if (wait === 'forever') return { wait, duration: Number.POSITIVE_INFINITY, drawn }
  const { batchWaitShort, batchWaitLong, batchWaitDay } = profile.weather
  const distribution = { short: batchWaitShort, long: batchWaitLong, day: batchWaitDay }[wait]
  return { wait, duration: Math.round(draw(distribution, chance, key, BATCH_WAITS)), drawn }
}

/** Returns the name whose share contains a number in [0, 1). */
export function pickByShare<Name extends string>(shares: Readonly<Record<Name, number>>, unit: number): Name {
  const names = Object.keys(shares) as Name[]
  let rest = unit
  for (const name of names) {
    rest -= shares[name]
    if (rest < 0) return name
  }
  return names[names.length - 1]!
}
