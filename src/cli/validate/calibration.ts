/** Fits the factors of a profile on the constants of an engine to measurements. */
import type { EngineFactors } from '../../data/engine-classes.ts'
import { constantsOf, modelValue, type PublishedRow } from './comparison.ts'

/** Errors above this count less than their squares. */
const ROBUST_FROM = 0.15
/** The search begins with steps of this factor, as a logarithm, and ends with steps of a thousandth. */
const FIRST_STEP = 0.7
const LAST_STEP = 0.001
const NAMES = ['efficiency', 'fixedTime', 'serverTime'] as const

/** Returns the factors with which the model is nearest to measurements, by least squares of logarithms. */
export function calibrate(rows: readonly PublishedRow[]): EngineFactors {
  const loss = (factors: EngineFactors) =>
    rows.reduce((sum, row) => {
      const model = modelValue(row, constantsOf(row.setup, factors))
      const error = Math.log(model / row.value) / ROBUST_FROM
      return sum + 2 * (Math.sqrt(1 + error * error) - 1)
    }, 0)
  let best: EngineFactors = { efficiency: 1, fixedTime: 1, serverTime: 1 }
  let least = loss(best)
  for (let step = FIRST_STEP; step > LAST_STEP; ) {
    const tries = NAMES.flatMap(name =>
      [step, -step].map(change => ({ ...best, [name]: best[name] * Math.exp(change) })),
    )
    const [next] = tries.map(factors => ({ factors, value: loss(factors) })).sort((a, b) => a.value - b.value)
    if (next!.value < least) {
      best = next!.factors
      least = next!.value
    } else step /= 2
  }
  return best
}
