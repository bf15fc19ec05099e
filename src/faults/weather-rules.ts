import type { Profile } from '../data/profiles/load.ts'
import { SECOND } from '../kernel/duration.ts'
import type { Fault, FaultRule } from './rules.ts'

/**
 * The wire's part of a profile's weather, as rules of chance: `weather-lost-answers`, `weather-errors`,
 * `weather-rate-limits` and `weather-slow-answers`, each as far as the pack that blows has it.
 *
 * @example wireWeather(loadProfile({ weather: { pack: 'launch-day' } })).map(({ name }) => name)
 */
export function weatherFaultRules({ weather }: Profile): FaultRule[] {
  const { pack, packs, wireRetryAfter, wireSlowBy } = weather
  const activePack = packs[pack]
  if (activePack === undefined) return []
  const slowDelay = `${wireSlowBy / SECOND}s`
  const parts: readonly [name: string, on: string, chance: number, fault: Fault][] = [
    // Only a write leaves somebody in doubt of what has become of it.
    ['lost-answers', 'POST *', activePack.wireLostAnswers, { kind: 'reset', effect: 'done' }],
    ['errors', '*', activePack.wireErrors, { kind: 'status', status: 503, message: 'the service is overloaded' }],
    ['rate-limits', '*', activePack.wireRateLimits, { kind: 'rateLimit', retryAfter: `${wireRetryAfter / SECOND}s` }],
    ['slow-answers', '*', activePack.wireSlowAnswers, { kind: 'latency', delay: slowDelay, jitter: slowDelay }],
  ]
  return parts
    .filter(([, , chance]) => chance > 0)
    .map(([name, on, chance, fault]) => ({ name: `weather-${name}`, on, chance, fault }))
}
