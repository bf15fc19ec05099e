/** Delays and failures of payments and shared capacity that the weather brings: functions of the seed, without state. */
import { draw } from '../../data/profiles/distribution.ts'
import type { WeatherPack } from '../../data/profiles/load.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type EntityKey, purpose } from '../../kernel/random.ts'
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

/** Tells whether the nth charge of an account is declined although its card is good. */
export function declinesTopup(context: ChaosContext, uid: string, index: number): boolean {
  const { chance } = context
  const probability = weatherPack(context)?.topupDeclined ?? 0
  return probability > 0 && chance.unit(chance.key('account', uid), TOPUP_DECLINED, index) < probability
}

/** Returns how much later than usual the nth charge of an account comes. */
export function drawTopupDelay(context: ChaosContext, uid: string, index: number): Micros {
  const { chance, profile } = context
  const probability = weatherPack(context)?.topupDelayed ?? 0
  const key = chance.key('account', uid)
  if (probability === 0 || chance.unit(key, TOPUP_DELAYED, index) >= probability) return 0
  return Math.round(draw(profile.weather.topupDelayLasts, chance, key, TOPUP_DELAY, index))
}

/** Returns how long a batch waits for shared capacity: a word and its microseconds; Infinity if it expires before. */
export function drawBatchWait(
  context: ChaosContext,
  key: EntityKey,
): { readonly wait: BatchWaitLength; readonly duration: Micros } {
  const { chance, profile } = context
  const pack = weatherPack(context)
  const wait = pack ? pickByShare(pack.batchWaitShares, chance.unit(key, BATCH_WAIT)) : 'none'
  if (wait === 'none') return { wait, duration: 0 }
  if (wait === 'forever') return { wait, duration: Number.POSITIVE_INFINITY }
  const { batchWaitShort, batchWaitLong, batchWaitDay } = profile.weather
  const distribution = { short: batchWaitShort, long: batchWaitLong, day: batchWaitDay }[wait]
  return { wait, duration: Math.round(draw(distribution, chance, key, BATCH_WAITS)) }
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
