import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ENGINE_CLASSES, type EngineClass } from '../../src/data/engine-classes.ts'
import { GPUS } from '../../src/data/gpu-specs.ts'
import {
  type EngineSettings,
  estimateWeights,
  instanceHardware,
  modelFigures,
} from '../../src/simulation/fleet/weights.ts'
import {
  InstanceEngine,
  type InstanceWorkload,
  type ModelFigures,
  throughputBand,
} from '../../src/simulation/load/engine.ts'
import { forAll } from '../setup/for-all.ts'
import { anyWork } from './any-engine.ts'

const dense = { experts: 0, expertsPerToken: 0 }
const MODELS: Readonly<Record<string, Omit<ModelFigures, 'kvBytesPerToken'>>> = {
  '8B': { parameters: 8.03e9, active: 8.03e9, layers: 32, hidden: 4096, attentionWidth: 4096, ...dense },
  '70B': { parameters: 70.6e9, active: 70.6e9, layers: 80, hidden: 8192, attentionWidth: 8192, ...dense },
  '8x7B': {
    ...{ parameters: 46.7e9, active: 12.9e9, layers: 32, hidden: 4096, attentionWidth: 4096 },
    ...{ experts: 8, expertsPerToken: 2 },
  },
}

/** The set-ups of the reference: 16 bit with the class `default`, 8 bit with `tuned`. */
function engineOf(model: string, engineClass: EngineClass): InstanceEngine {
  const figures = MODELS[model]!
  const bytes = engineClass === 'default' ? 2 : 1
  const setUps = {
    '8B': { kv: 65_536, gpus: 1, promptTokens: 500, outputTokens: 200, maxBatchSize: 256, stepTokens: 8192 },
    '70B': { kv: 163_840, gpus: 4, promptTokens: 1000, outputTokens: 250, maxBatchSize: 256, stepTokens: 8192 },
    '8x7B': { kv: 65_536, gpus: 2, promptTokens: 600, outputTokens: 250, maxBatchSize: 128, stepTokens: 2048 },
  }
  const { kv, ...setUp } = setUps[model as keyof typeof setUps]
  return new InstanceEngine({
    ...setUp,
    gpu: GPUS['H100-80GB'],
    model: { ...figures, kvBytesPerToken: kv * bytes },
    weightBytes: figures.parameters * bytes,
    constants: ENGINE_CLASSES[engineClass],
  })
}

describe('the reference of the model', () => {
  test.each([
    ['8B', 'default', 1, 0.00725475, 0.689204, 0.0371784],
    ['8B', 'default', 32, 0.0100377, 15.9399, 0.0434176],
    ['8B', 'default', 128, 0.0190642, 33.5708, 0.0518562],
    ['8B', 'tuned', 1, 0.00473794, 1.05531, 0.0143638],
    ['8B', 'tuned', 32, 0.00669232, 23.908, 0.0186044],
    ['8B', 'tuned', 128, 0.0127446, 50.2175, 0.0244003],
    ['70B', 'default', 1, 0.01723, 0.232153, 0.107826],
    ['70B', 'default', 32, 0.0280357, 4.56561, 0.124539],
    ['70B', 'default', 128, 0.0635892, 8.05168, 0.150725],
    ['70B', 'tuned', 1, 0.0139668, 0.286393, 0.0607523],
    ['70B', 'tuned', 32, 0.0213425, 5.99741, 0.0733219],
    ['70B', 'tuned', 128, 0.0441835, 11.588, 0.0906209],
    ['8x7B', 'default', 1, 0.00918617, 0.435437, 0.0466099],
    ['8x7B', 'default', 32, 0.0214444, 5.96892, 0.0583923],
    ['8x7B', 'default', 128, 0.0272942, 18.7586, 0.064602],
    ['8x7B', 'tuned', 1, 0.0114588, 0.349078, 0.0279637],
    ['8x7B', 'tuned', 32, 0.0188946, 6.77443, 0.0381412],
    ['8x7B', 'tuned', 128, 0.0242266, 21.1338, 0.0430684],
  ] as const)('%s %s with %d requests: %d s a token, %d requests/s, %d s to the first token', (...golden) => {
    const [model, engineClass, requests, tokenTime, rate, firstTokenTime] = golden
    const point = engineOf(model, engineClass).at(requests)
    for (const [figure, expected] of [
      [point.tokenTime, tokenTime],
      [point.rate, rate],
      [point.firstTokenTime, firstTokenTime],
    ] as const)
      expect(Math.abs(figure / expected - 1)).toBeLessThan(0.001)
  })

  test.each([
    ['8B', 'default', 4000, 1000, 98.1447],
    ['8B', 'default', 100, 2000, 347.281],
    ['8B', 'tuned', 4000, 1000, 224.832],
    ['8B', 'tuned', 100, 2000, 623.81],
    ['70B', 'default', 4000, 1000, 105.618],
    ['70B', 'default', 100, 2000, 373.726],
    ['70B', 'tuned', 4000, 1000, 307.813],
    ['70B', 'tuned', 100, 2000, 854.045],
    ['8x7B', 'default', 4000, 1000, 94.9865],
    ['8x7B', 'default', 100, 2000, 336.106],
    ['8x7B', 'tuned', 4000, 1000, 359.949],
    ['8x7B', 'tuned', 100, 2000, 998.701],
  ] as const)(
    '%s %s with %d tokens in and %d out has %d places',
    (model, engineClass, promptTokens, outputTokens, places) => {
      const { workload } = engineOf(model, engineClass)
      const engine = new InstanceEngine({ ...workload, promptTokens, outputTokens, maxBatchSize: 100_000 })
      expect(Math.abs(engine.places / places - 1)).toBeLessThan(0.001)
    },
  )

  test('a rate between two points of the table is within 1 percent of the exact one', () => {
    const engine = engineOf('70B', 'default')
    for (let i = 1; i < 400; i++) {
      const rate = (engine.requestsPerSecond * i) / 400
      const { concurrency, tokenTime } = engine.atRate(rate)
      if (concurrency <= 1) continue
      let [low, high] = [1, engine.places]
      for (let j = 0; j < 60; j++) {
        const middle = (low + high) / 2
        if (engine.at(middle).rate < rate) low = middle
        else high = middle
      }
      expect(Math.abs(tokenTime / engine.at(low).tokenTime - 1)).toBeLessThan(0.01)
    }
  })
})

describe('laws of the model', () => {
  const requests = fc.double({ min: 1, max: 2000, noNaN: true })
  const more = fc.double({ min: 1, max: 5, noNaN: true })
  const holds = (law: (work: InstanceWorkload, b: number, factor: number) => readonly [number, number]) =>
    forAll([anyWork(), requests, more], (work, b, factor) => {
      const [less, notLess] = law(work, b, factor)
      expect(less).toBeGreaterThan(0)
      expect(notLess).toBeLessThan(Number.POSITIVE_INFINITY)
      expect(less).toBeLessThanOrEqual(notLess * (1 + 1e-9))
    })
  const timeOf = (work: InstanceWorkload, b: number) => new InstanceEngine(work).at(b).tokenTime

  test('more requests in work never have a shorter token time', () =>
    holds((work, b, factor) => [timeOf(work, b), timeOf(work, b * factor)]))

  test('more requests in work never have a lower rate', () =>
    holds((work, b, factor) => {
      const engine = new InstanceEngine(work)
      return [engine.rateWith(b), engine.rateWith(b * factor)]
    }))

  test('a longer context never makes a step shorter', () =>
    holds((work, b, factor) => {
      const longer = { ...work, promptTokens: work.promptTokens * factor }
      return [new InstanceEngine(work).step(b, 100), new InstanceEngine(longer).step(b, 100)]
    }))

  test('a GPU with more bandwidth and FLOP/s never makes a step longer', () =>
    holds((work, b, factor) => {
      const { bandwidth, flops16, flops8, flops4 } = work.gpu
      const faster = { bandwidth: bandwidth * factor, flops16: flops16 * factor }
      const gpu = { ...work.gpu, ...faster, flops8: flops8 * factor, flops4: flops4 * factor }
      return [timeOf({ ...work, gpu }, b), timeOf(work, b)]
    }))

  test('experts are never slower than a dense model of all parameters, but for the time of their layers', () =>
    holds((work, b) => {
      const constants = { ...work.constants, expertLayerTime: 0 }
      const { parameters } = work.model
      const model = { ...work.model, active: parameters, experts: 0, expertsPerToken: 0 }
      return [timeOf({ ...work, constants }, b), timeOf({ ...work, constants, model }, b)]
    }))

  test('longer prompts and answers never leave more places', () =>
    holds((work, _, factor) => {
      const { promptTokens, outputTokens } = work
      const longer = { ...work, promptTokens: promptTokens * factor, outputTokens: outputTokens * factor }
      return [new InstanceEngine(longer).places, new InstanceEngine(work).places]
    }))

  test('a rate and its requests in work are inverse', () => {
    forAll([anyWork(), fc.double({ min: 0.001, max: 0.999, noNaN: true })], (work, share) => {
      const engine = new InstanceEngine(work)
      const rate = engine.requestsPerSecond * share
      expect(engine.rateWith(engine.atRate(rate).concurrency) / rate).toBeCloseTo(1, 6)
      const [low, high] = engine.linearAround(rate)
      expect(rate).toBeGreaterThan(low)
      expect(rate).toBeLessThan(high)
    })
  })
})

describe('the figures of a model', () => {
  test('follow from its size if its repository has none', () => {
    const { layers, hidden, kvBytesPerToken } = modelFigures({ bytes: 1, parametersB: 70, context: 1 })
    expect([layers, hidden, kvBytesPerToken]).toEqual([80, 8192, 327_680])
    const middle = modelFigures({ bytes: 1, parametersB: 16, context: 1 })
    expect([middle.layers, middle.hidden, middle.kvBytesPerToken]).toEqual([48, 4608, 196_608])
    expect(modelFigures({ bytes: 1, parametersB: 0.1, context: 1 }).layers).toBe(16)
    expect(modelFigures({ bytes: 1, parametersB: 2000, context: 1 }).layers).toBe(126)
  })

  test('are those of its repository where it has them', () => {
    const figures = { layers: 30, active: 3e9, experts: 128, expertsPerToken: 8 }
    expect(modelFigures({ bytes: 1, parametersB: 70, context: 1, figures })).toMatchObject({ ...figures, hidden: 8192 })
  })
})

test('a tuned engine has more tokens in a step of a small GPU than the default one', () => {
  const tokens = (settings: EngineSettings) =>
    instanceHardware(estimateWeights('acme/chat-8b'), 'L40S-48GB', 1, settings).stepTokens
  expect([tokens({}), tokens({ engineClass: 'tuned' }), tokens({ stepTokens: 4096 })]).toEqual([2048, 8192, 4096])
})

test.each([
  ['H100-80GB', 'default', 2, 0.2, 12],
  ['L40S-48GB', 'tuned', 1, 0.2, 297],
  // No row of the package is of this type: the band comes from held-out rows.
  ['B200-180GB', 'tuned', 0.58, 0.35, 0],
  ['B200-180GB', 'tuned', 2, undefined, undefined],
  ['L4-24GB', 'default', 2, undefined, undefined],
] as const)('the throughput on %s, %s, with %d bytes a parameter has the band %s', (...given) => {
  const [gpu, engineClass, bytes, band, rows] = given
  const weights = { bytes: bytes * 8e9, parametersB: 8, context: 8192 }
  const dense = throughputBand(instanceHardware(weights, gpu, 1, { engineClass }))
  expect([dense?.band, dense?.rows]).toEqual([band, rows])
  const figures = { active: 2e9, experts: 8, expertsPerToken: 1 }
  const experts = throughputBand(instanceHardware({ ...weights, figures }, gpu, 1, { engineClass }))
  expect(experts?.band).toBe(engineClass === 'default' ? undefined : band === 0.35 ? 0.65 : band)
})
