import fc from 'fast-check'
import { OfferedLoad, type OfferedLoadInput } from '../../src/data/offered-load.ts'
import type { Micros } from '../../src/kernel/duration.ts'
import { Chance } from '../../src/kernel/random.ts'
import { LoadCurve } from '../../src/simulation/load/load-curve.ts'
import { FlowState, type RequestFlow } from '../../src/simulation/load/request-flow.ts'

/** Returns what becomes of a flow during a stretch. The flow itself stays as it is. */
export function advanceFlow(flow: RequestFlow, ...stretch: Parameters<FlowState['advance']>): RequestFlow {
  return new FlowState(flow).advance(...stretch)
}

/** A load of every kind whose rates stay below 100/s and whose periods are some minutes. */
export function anyLoad(): fc.Arbitrary<OfferedLoad> {
  const rps = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.double({ min: 0, max: 100, noNaN: true }))
  const us = (min: number, max: number) => fc.integer({ min, max })
  const rising = fc.uniqueArray(us(0, 600_000_000), { minLength: 1, maxLength: 8 })
  const inOrder = (times: readonly number[]) => [...times].sort((a, b) => a - b)
  return fc
    .oneof(
      rps.map(rate => ({ kind: 'constant', rps: rate }) as const),
      fc.record({ times: rising, rates: fc.array(rps, { minLength: 8, maxLength: 8 }) }).map(({ times, rates }) => ({
        kind: 'steps' as const,
        steps: inOrder(times).map((at, i) => ({ at: `${at}us`, rps: rates[i]! })),
      })),
      fc.record({ one: rps, other: rps, period: us(1_000_000, 300_000_000), peak: fc.nat(1000) }).map(drawn => ({
        kind: 'wave' as const,
        low: Math.min(drawn.one, drawn.other),
        high: Math.max(drawn.one, drawn.other),
        period: `${drawn.period}us`,
        peak_at: `${Math.floor((drawn.period / 1000) * drawn.peak)}us`,
      })),
      fc
        .record({ one: rps, other: rps, every: us(1_000_000, 200_000_000), share: fc.nat(1000), jitter: fc.nat(4) })
        .map(({ one, other, every, share, jitter }) => ({
          kind: 'burst' as const,
          base: Math.min(one, other),
          peak: Math.max(one, other),
          every: `${every}us`,
          lasts: `${Math.max(1, Math.floor((every / 1000) * share))}us`,
          jitter: jitter / 4,
        })),
      fc
        .record({ from: rps, to: rps, start: us(0, 300_000_000), takes: us(1, 300_000_000) })
        .map(({ from, to, start, takes }) => ({
          kind: 'ramp' as const,
          from,
          to,
          start: `${start}us`,
          end: `${start + takes}us`,
        })),
      fc
        .record({ times: rising, rates: fc.array(rps, { minLength: 9, maxLength: 9 }), repeat: fc.boolean() })
        .map(({ times, rates, repeat }) => ({
          kind: 'trace' as const,
          text: [...inOrder(times), Math.max(...times) + 1_000_000]
            .map((at, i) => `${at / 1e6},${rates[i]!}`)
            .join('\n'),
          repeat,
        })),
    )
    .map(load => OfferedLoad.parse(load))
}

/** Two moments in order within the first half hour. */
export function anyStretch(): fc.Arbitrary<readonly [from: Micros, to: Micros]> {
  const moment = fc.integer({ min: 0, max: 1_800_000_000 })
  return fc.tuple(moment, moment).map(([a, b]) => [Math.min(a, b), Math.max(a, b) + 1])
}

/** The curve of a load; `name` and `seed` decide where its bursts fall. */
export function curveOf(load: OfferedLoadInput, name = 'acme/chat', seed = 1): LoadCurve {
  const chance = new Chance(seed)
  return new LoadCurve(OfferedLoad.parse(load), { chance, key: chance.key('deployment', name) })
}
