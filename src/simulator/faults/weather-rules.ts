import type { Profile } from '../../data/profiles/load.ts'
import { SECOND } from '../../kernel/duration.ts'
import type { Fault, FaultRule } from './rules.ts'

/**
 * Returns the fault rules of a profile's weather: `weather-lost-answers`, `weather-errors`, `weather-rate-limits` and
 * `weather-slow-answers`, each if its chance in the active pack is above 0.
 *
 * @example weatherFaultRules(loadProfile({ weather: { pack: 'launch-day' } })).map(({ name }) => name)
 */
export function weatherFaultRules({ weather }: Profile): FaultRule[] {
  const { pack, packs, wireRetryAfter, wireSlowBy } = weather
  const activePack = packs[pack]
  if (activePack === undefined) return []
  const slowDelay = `${wireSlowBy / SECOND}s`
  const retryAfter = `${wireRetryAfter / SECOND}s`
  const overloaded: Fault = {
    kind: 'status',
    status: 503,
    message: 'the service is overloaded',
    headers: { 'retry-after': String(Math.ceil(wireRetryAfter / SECOND)) },
  }
  const parts: readonly [name: string, on: string, chance: number, fault: Fault][] = [
    // Only for a write does a lost answer leave the client in doubt.
    ['lost-answers', 'POST *', activePack.wireLostAnswers, { kind: 'reset', effect: 'done' }],
    ['errors', '*', activePack.wireErrors, overloaded],
    ['rate-limits', '*', activePack.wireRateLimits, { kind: 'rateLimit', retryAfter }],
    ['slow-answers', '*', activePack.wireSlowAnswers, { kind: 'latency', delay: slowDelay, jitter: slowDelay }],
  ]
  return parts
    .filter(([, , chance]) => chance > 0)
    .map(([name, on, chance, fault]) => ({ name: `weather-${name}`, on, chance, fault }))
}
