import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/kernel/duration.ts'
import { estimateWeights, instanceHardware } from '../../src/simulation/fleet/weights.ts'
import { InstanceEngine, type InstanceWorkload } from '../../src/simulation/load/engine.ts'
import { EMPTY_FLOW, type RequestFlow, toWholeRequests } from '../../src/simulation/load/request-flow.ts'
import { estimateServing, maxRateFor, requiredInstances } from '../../src/simulation/load/serving.ts'
import { forAll } from '../setup/for-all.ts'
import { anyWork } from './any-engine.ts'
import { advanceFlow, anyLoad, anyStretch, curveOf } from './any-load.ts'

const NEVER = Number.POSITIVE_INFINITY

const rateOfEach = (engine: InstanceEngine, share: number) => engine.rateWith(share * engine.places)

function speedOf(about: Partial<InstanceWorkload> = {}) {
  const hardware = instanceHardware(estimateWeights('acme/chat-8b'), 'H100-80GB', 1, { maxBatchSize: 96 })
  return new InstanceEngine({ ...hardware, promptTokens: 500, outputTokens: 200, ...about })
}

const anyShare = () => fc.double({ min: 0.05, max: 1, noNaN: true })
const anyQueueLimit = () => fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.constant(NEVER))
/** One instance takes on a few to fifty requests/s, so loads below 100/s fall on both sides of a few of them. */
const anyReady = () => fc.integer({ min: 0, max: 4 })

describe('instances for a rate', () => {
  const each = rateOfEach(speedOf(), 0.7)

  test('none for nothing, one for a little, and more as it grows', () => {
    expect([0, 0.001, 25, 26, 100, 1000].map(rate => requiredInstances(rate, each))).toEqual([0, 1, 1, 2, 4, 40])
  })

  test('never fall as the rate grows', () => {
    const rate = fc.double({ min: 0, max: 1e6, noNaN: true })
    forAll([anyWork(), anyShare(), rate, rate], (work, share, a, b) => {
      const one = rateOfEach(new InstanceEngine(work), share)
      expect(requiredInstances(Math.min(a, b), one)).toBeLessThanOrEqual(requiredInstances(Math.max(a, b), one))
    })
  })

  test('and rates for instances are inverse to the last digit', () => {
    forAll([anyWork(), anyShare(), fc.nat(10_000)], (work, share, instances) => {
      const one = rateOfEach(new InstanceEngine(work), share)
      const most = maxRateFor(instances, one)
      expect(requiredInstances(most, one)).toBe(instances)
      expect(requiredInstances(instances === 0 ? 1e-300 : most * (1 + Number.EPSILON), one)).toBe(instances + 1)
    })
    forAll([anyShare(), fc.nat(50), fc.double({ min: 0, max: 1000, noNaN: true })], (share, instances, rate) => {
      const one = rateOfEach(speedOf(), share)
      expect(requiredInstances(rate, one) > instances).toBe(rate > maxRateFor(instances, one))
    })
  })

  test('tell an autoscaler when a day next changes its mind', () => {
    const curve = curveOf({ kind: 'wave', low: 2, high: 200 })
    let t = 2 * HOUR
    let instances = requiredInstances(curve.rateAt(t), each)
    const decisions = [instances]
    while (t < 26 * HOUR) {
      t = Math.min(
        curve.firstAbove(maxRateFor(instances, each), t, 26 * HOUR),
        instances === 0 ? NEVER : curve.firstAtMost(maxRateFor(instances - 1, each), t, 26 * HOUR),
      )
      if (t === NEVER) break
      expect(requiredInstances(curve.rateAt(t - 1), each)).toBe(instances)
      instances = requiredInstances(curve.rateAt(t), each)
      decisions.push(instances)
    }
    expect(decisions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 2, 1])
  })
})

describe('serving', () => {
  const speed = speedOf()

  test('what one instance cannot take waits, then is refused', () => {
    const curve = curveOf({ kind: 'constant', rps: 50 })
    const after = toWholeRequests(advanceFlow(EMPTY_FLOW, curve, speed, 1, 100, 0, 10 * SECOND))
    // Of one request a part was served, of another a part refused; of 500 that makes 499 that can be reported.
    expect(after).toEqual({ arrived: 499, served: 300, refused: 99, backlog: 100 })
  })

  test('a second instance works the queue off', () => {
    const curve = curveOf({ kind: 'constant', rps: 50 })
    const late = advanceFlow(EMPTY_FLOW, curve, speed, 1, 100, 0, 10 * SECOND)
    expect(late.backlog).toBe(100)
    const better = advanceFlow(late, curve, speed, 2, 100, 10 * SECOND, 12 * SECOND)
    expect(better.backlog).toBeCloseTo(100 - 2 * (2 * speed.requestsPerSecond - 50), 9)
    const well = advanceFlow(better, curve, speed, 2, 100, 12 * SECOND, MINUTE)
    expect(well.backlog).toBe(0)
    expect(well.refused).toBe(late.refused)
  })

  test('without an instance everything waits up to the limit', () => {
    const curve = curveOf({ kind: 'constant', rps: 10 })
    expect(advanceFlow(EMPTY_FLOW, curve, speed, 0, 50, 0, 20 * SECOND)).toEqual({
      arrived: 200,
      served: 0,
      refused: 150,
      backlog: 50,
    })
    expect(advanceFlow(EMPTY_FLOW, curve, speed, 0, 0, 0, 20 * SECOND).refused).toBe(200)
    expect(advanceFlow(EMPTY_FLOW, curve, speed, 0, NEVER, 0, DAY).backlog).toBe(864_000)
  })

  test('a queue that shrinks turns its end away', () => {
    const waiting: RequestFlow = { arrived: 100, served: 20, refused: 0, backlog: 80 }
    const curve = curveOf({ kind: 'constant', rps: 0 })
    expect(advanceFlow(waiting, curve, speed, 0, 50, 0, SECOND)).toEqual({ ...waiting, refused: 30, backlog: 50 })
  })

  test('nothing is lost: arrived = served + refused + waiting, and each lies in its bounds', { tags: 'slow' }, () => {
    forAll([anyLoad(), anyStretch(), anyReady(), anyQueueLimit()], (load, [from, to], ready, limit) => {
      const curve = curveOf(load)
      const after = advanceFlow(EMPTY_FLOW, curve, speed, ready, limit, from, to)
      const size = 1e-12 + 1e-9 * after.arrived
      expect(Math.abs(after.arrived - curve.integral(from, to))).toBeLessThanOrEqual(size)
      expect(Math.abs(after.arrived - after.served - after.refused - after.backlog)).toBeLessThanOrEqual(size)
      expect(after.backlog).toBeGreaterThanOrEqual(0)
      expect(after.backlog).toBeLessThanOrEqual(limit)
      expect(after.refused).toBeGreaterThanOrEqual(0)
      const possible = (ready * speed.requestsPerSecond * (to - from)) / SECOND
      expect(after.served).toBeLessThanOrEqual(possible * (1 + 1e-9))
    })
  })

  test('is the same however it is cut', () => {
    const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 30 })
    forAll([anyLoad(), anyStretch(), anyReady(), anyQueueLimit(), cuts], (load, [from, to], ready, limit, at) => {
      const curve = curveOf(load)
      const whole = advanceFlow(EMPTY_FLOW, curve, speed, ready, limit, from, to)
      const moments = [...at.map(share => Math.floor(from + (to - from) * share)).sort((a, b) => a - b), to]
      let state: RequestFlow = EMPTY_FLOW
      let before = from
      for (const moment of moments) {
        state = advanceFlow(state, curve, speed, ready, limit, before, moment)
        before = moment
      }
      const size = 1e-9 * Math.max(1, whole.arrived)
      for (const field of ['arrived', 'served', 'refused', 'backlog'] as const) {
        expect(Math.abs(state[field] - whole[field])).toBeLessThanOrEqual(size)
      }
    })
  })

  test('is what thousands of small steps give', () => {
    forAll(
      [anyLoad(), anyStretch(), anyReady(), anyQueueLimit()],
      { numRuns: 40 },
      (load, [from, to], ready, limit) => {
        const curve = curveOf(load)
        const capacity = ready * speed.requestsPerSecond
        const stretch = Math.min(to - from, 5 * MINUTE)
        const steps = 5000
        let backlog = 0
        let refused = 0
        for (let i = 0; i < steps; i++) {
          const [a, b] = [from + Math.round((stretch / steps) * i), from + Math.round((stretch / steps) * (i + 1))]
          backlog = Math.max(0, backlog + curve.integral(a, b) - (capacity * (b - a)) / SECOND)
          refused += Math.max(0, backlog - limit)
          backlog = Math.min(backlog, limit)
        }
        const exact = advanceFlow(EMPTY_FLOW, curve, speed, ready, limit, from, from + stretch)
        // A small step that crosses the capacity evens out what queues in it, and bursts cross it often.
        const slack = 1 + 0.03 * exact.arrived
        expect(Math.abs(exact.backlog - backlog)).toBeLessThan(slack)
        expect(Math.abs(exact.refused - refused)).toBeLessThan(slack)
      },
    )
  })

  test('ten tenths of a request are one', () => {
    const curve = curveOf({ kind: 'constant', rps: 0.1 })
    let state: RequestFlow = EMPTY_FLOW
    for (let i = 0; i < 10; i++) state = advanceFlow(state, curve, speed, 1, 10, i * SECOND, (i + 1) * SECOND)
    expect(state.served).toBeLessThan(1)
    expect(toWholeRequests(state)).toEqual({ arrived: 1, served: 1, refused: 0, backlog: 0 })
  })

  test('counts in whole requests only grow, and add up over any window', () => {
    forAll([anyLoad(), anyStretch(), anyReady(), anyQueueLimit()], (load, [from, to], ready, limit) => {
      const curve = curveOf(load)
      let state: RequestFlow = EMPTY_FLOW
      let before = toWholeRequests(state)
      const broken: unknown[] = []
      for (let i = 0; i < 20; i++) {
        const [a, b] = [from + Math.floor(((to - from) * i) / 20), from + Math.floor(((to - from) * (i + 1)) / 20)]
        state = advanceFlow(state, curve, speed, ready, limit, a, b)
        const now = toWholeRequests(state)
        const addsUp = now.arrived === now.served + now.refused + now.backlog
        const isClose = Math.abs(now.arrived - state.arrived) < 2.001 && Math.abs(now.backlog - state.backlog) < 1.001
        const grows = (['arrived', 'served', 'refused'] as const).every(field => now[field] >= before[field])
        if (!addsUp || !isClose || !grows) broken.push({ i, before, now, state })
        before = now
      }
      expect(broken).toEqual([])
    })
  })
})

describe('a snapshot', () => {
  const speed = speedOf()

  test('of a quiet deployment: each request as if it were alone', () => {
    const calm = estimateServing(0.01, speed, 2, 0)
    const { tokenTime, firstTokenTime } = speed.at(1)
    expect(calm.concurrency).toBeCloseTo(0.01 * 200 * tokenTime, 12)
    expect(calm.timeToFirstToken).toBeCloseTo(firstTokenTime, 12)
    expect(calm.tokensPerSecond).toBe(2)
    expect(calm.queue).toBe(0)
  })

  test('at the target, each instance has that share of its places', () => {
    const { concurrency } = estimateServing(maxRateFor(3, rateOfEach(speed, 0.7)), speed, 3, 0)
    expect(concurrency).toBeCloseTo(0.7 * 3 * 96, 9)
  })

  test('of an overload: all places taken, and the first token waits for the queue', () => {
    const busy = estimateServing(50, speed, 1, 100)
    expect(busy.concurrency).toBe(96)
    expect(busy.queue).toBe(100)
    expect(busy.utilisation).toBe(1)
    expect(busy.tokensPerSecond).toBeCloseTo(speed.tokensPerSecond, 6)
    expect(busy.timeToFirstToken).toBeCloseTo(100 / speed.requestsPerSecond + speed.at(96).firstTokenTime, 9)
  })

  test('without an instance nothing comes', () => {
    expect(estimateServing(5, speed, 0, 30)).toEqual({
      concurrency: 0,
      queue: 30,
      timeToFirstToken: NEVER,
      tokensPerSecond: 0,
      utilisation: 0,
    })
  })

  test('gets no better as the rate grows', () => {
    const rate = fc.double({ min: 0, max: 500, noNaN: true })
    forAll([anyWork(), fc.integer({ min: 1, max: 9 }), rate, rate], (work, ready, a, b) => {
      const one = new InstanceEngine(work)
      const [less, more] = [Math.min(a, b), Math.max(a, b)].map(each => estimateServing(each, one, ready, 0))
      for (const field of ['concurrency', 'timeToFirstToken', 'tokensPerSecond', 'utilisation'] as const) {
        expect(more![field]).toBeGreaterThanOrEqual(less![field] * (1 - 1e-12))
      }
      expect(more!.concurrency).toBeLessThanOrEqual(ready * work.maxBatchSize * (1 + 1e-12))
    })
  })
})
