import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Chance, purpose } from '../../src/kernel/random.ts'
import { estimateWeights, instanceHardware } from '../../src/simulation/fleet/weights.ts'
import { InstanceEngine } from '../../src/simulation/load/engine.ts'
import { type Arrivals, NO_WAIT, promptWait, waitQuantile } from '../../src/simulation/load/prompt-wait.ts'
import { forAll } from '../setup/for-all.ts'
import { type Arrival, timesByEvents } from './engine-events.ts'

const DRAW = purpose('test.arrivals')
const POISSON = { burstiness: 1, promptSpread: 0 }
const hardware = instanceHardware(estimateWeights('acme/chat-8b'), 'H100-80GB', 1, { maxBatchSize: 256 })
const engineOf = (promptTokens: number, outputTokens: number) =>
  new InstanceEngine({ ...hardware, promptTokens, outputTokens })

/**
 * Draws requests in batches of a geometric size. `size` 1: independent requests.
 *
 * @param spread squared coefficient of variation of the lengths of prompts, which are lognormal
 */
function draw(
  rate: number,
  size: number,
  { promptTokens, outputTokens }: InstanceEngine,
  count: number,
  spread: number,
): Arrival[] {
  const sigma = Math.sqrt(Math.log(1 + spread))
  const median = promptTokens / Math.sqrt(1 + spread)
  const chance = new Chance('7')
  const key = chance.key('test', `${rate} ${size}`)
  let draws = 0
  const arrivals: Arrival[] = []
  for (let at = 0; arrivals.length < count; ) {
    at += chance.exponential(size / rate, key, DRAW, draws++)
    do {
      const prompt = spread === 0 ? promptTokens : chance.lognormal(median, sigma, key, DRAW, draws++)
      arrivals.push({ at, prompt: Math.max(1, Math.round(prompt)), answer: outputTokens })
    } while (chance.unit(key, DRAW, draws++) > 1 / size)
  }
  return arrivals
}

const p90 = (waits: readonly number[]) => [...waits].sort((a, b) => a - b)[Math.floor(0.9 * waits.length)]!

/** Returns the p90 of the wait by the law, with the rest of the step that runs: with a chunk of a prompt or without. */
function lawP90(engine: InstanceEngine, rate: number, instances: number, arrivals: Arrivals): number {
  const wait = promptWait(rate, engine, instances, arrivals)
  const { tokenTime, concurrency } = engine.atRate(rate / instances)
  const [long, short] = [engine.step(concurrency, engine.chunk), engine.step(concurrency, 0)]
  const chunks = (concurrency * engine.readTokens) / engine.outputTokens / engine.chunk
  const shareOfLong = (chunks * long) / tokenTime
  const waits: number[] = []
  for (let i = 0.5; i < 200; i++)
    for (let j = 0.5; j < 20; j++)
      for (let k = 0.05; k < 1; k += 0.1)
        waits.push(waitQuantile(wait, i / 200) + (j / 20) * (k < shareOfLong ? long : short))
  return p90(waits)
}

describe('waits against a simulation of every step', () => {
  // The dispersion of batches of a geometric size with this mean is 2 × size − 1.
  for (const [name, size, promptTokens, outputTokens, promptSpread] of [
    ['independent requests', 1, 1000, 200, 0],
    ['bursts of a few clients', 20, 2000, 30, 0],
    // The figures of the hour of a code service in the public traces of 2023: dispersion 69, lengths of 2,048 and 28.
    ['requests as of a code service', 35, 2048, 28, 0.93],
  ] as const)
    test.each([
      [1, 0.3],
      [1, 0.7],
      [4, 0.5],
      [4, 0.7],
    ])(
      `${name}: with %d instances at %d of what they can do, p90 is within a factor of 2`,
      { tags: 'slow' },
      (instances, use) => {
        const engine = engineOf(promptTokens, outputTokens)
        const rate = use * instances * engine.requestsPerSecond
        const arrivals = draw(rate, size, engine, size === 1 ? 6000 : 15_000, promptSpread)
        const simulated = p90(timesByEvents(arrivals, engine, instances).map(({ wait }) => wait))
        const model = lawP90(engine, rate, instances, { burstiness: 2 * size - 1, promptSpread })
        expect(Math.max(model / simulated, simulated / model)).toBeLessThan(2)
      },
    )
})

describe('the law of waits', () => {
  const engine = engineOf(1000, 200)

  test('has no wait without a load', () => {
    expect([promptWait(0, engine, 2, POISSON), promptWait(5, engine, 0, POISSON)]).toEqual([NO_WAIT, NO_WAIT])
    expect(waitQuantile(NO_WAIT, 0.99)).toBe(0)
  })

  test('grows with the rate, the burstiness and the spread, and falls with instances', () => {
    const share = fc.double({ min: 0.01, max: 0.9, noNaN: true })
    const more = fc.double({ min: 1, max: 50, noNaN: true })
    forAll([share, more, more, fc.integer({ min: 1, max: 20 })], (use, burstiness, spread, ready) => {
      const rate = use * ready * engine.requestsPerSecond
      const arrivals = { burstiness, promptSpread: spread - 1 }
      const { mean, share: waiting } = promptWait(rate, engine, ready, arrivals)
      expect(mean).toBeGreaterThan(0)
      expect(waiting).toBeGreaterThan(0)
      expect(waiting).toBeLessThan(1)
      expect(promptWait(rate * 1.1, engine, ready, arrivals).mean).toBeGreaterThan(mean)
      expect(promptWait(rate, engine, ready, { ...arrivals, burstiness: burstiness + 1 }).mean).toBeGreaterThan(mean)
      expect(promptWait(rate, engine, ready, { ...arrivals, promptSpread: spread }).mean).toBeGreaterThan(mean)
      expect(promptWait(rate, engine, ready + 1, arrivals).mean).toBeLessThan(mean)
    })
  })

  test('has quantiles whose mean is its mean', () => {
    const wait = promptWait(0.8 * engine.requestsPerSecond, engine, 1, { burstiness: 30, promptSpread: 1 })
    let sum = 0
    for (let i = 0.5; i < 100_000; i++) sum += waitQuantile(wait, i / 100_000)
    expect(sum / 100_000 / wait.mean).toBeCloseTo(1, 2)
  })
})
