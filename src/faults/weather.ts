import { SECOND } from '../kernel/duration.ts'
import type { Profile } from '../store/profile.ts'
import type { Fault, FaultRule } from './rule.ts'

/**
 * The wire's part of a profile's weather, as rules of chance: `weather-lost-answers`, `weather-errors`,
 * `weather-rate-limits` and `weather-slow-answers`, each as far as the pack that blows has it.
 *
 * @example wireWeather(loadProfile({ weather: { pack: 'launch-day' } })).map(({ name }) => name)
 */
export function wireWeather({ weather }: Profile): FaultRule[] {
  const { pack, packs, wireRetryAfter, wireSlowBy } = weather
  const blowing = packs[pack]
  if (blowing === undefined) return []
  const slowBy = `${wireSlowBy / SECOND}s`
  const parts: readonly [name: string, on: string, chance: number, fault: Fault][] = [
    // Only a write leaves somebody in doubt of what has become of it.
    ['lost-answers', 'POST *', blowing.wireLostAnswers, { kind: 'reset', effect: 'done' }],
    ['errors', '*', blowing.wireErrors, { kind: 'status', status: 503, message: 'the service is overloaded' }],
    ['rate-limits', '*', blowing.wireRateLimits, { kind: 'rateLimit', retryAfter: `${wireRetryAfter / SECOND}s` }],
    ['slow-answers', '*', blowing.wireSlowAnswers, { kind: 'latency', delay: slowBy, jitter: slowBy }],
  ]
  return parts
    .filter(([, , chance]) => chance > 0)
    .map(([name, on, chance, fault]) => ({ name: `weather-${name}`, on, chance, fault }))
}
