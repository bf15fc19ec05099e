import fc from 'fast-check'
import { ENGINE_CLASSES } from '../../src/data/engine-classes.ts'
import { GPUS } from '../../src/data/gpu-specs.ts'
import type { InstanceWorkload, ModelFigures } from '../../src/simulation/load/engine.ts'

const amount = (min: number, max: number) => fc.double({ min, max, noNaN: true })

/** Figures of a dense model or of one with experts, whose parts are in the usual proportions. */
function anyModel(): fc.Arbitrary<ModelFigures> {
  const dense = fc.record({
    parameters: amount(1e8, 7e11),
    layers: fc.integer({ min: 8, max: 130 }),
    hidden: fc.integer({ min: 512, max: 16_384 }),
    kvBytesPerToken: fc.integer({ min: 1024, max: 1_000_000 }),
  })
  const experts = fc.record({ experts: fc.integer({ min: 2, max: 256 }), used: amount(0, 1), dense: amount(0.01, 0.5) })
  return fc.tuple(dense, fc.option(experts)).map(([model, mixture]) => {
    const plain = { ...model, attentionWidth: model.hidden, active: model.parameters, experts: 0, expertsPerToken: 0 }
    if (mixture === null) return plain
    const expertsPerToken = 1 + Math.floor(mixture.used * (mixture.experts - 2))
    const share = mixture.dense + ((1 - mixture.dense) * expertsPerToken) / mixture.experts
    return { ...plain, active: model.parameters * share, experts: mixture.experts, expertsPerToken }
  })
}

/** The work of an instance of any class, GPU and model. The weights may be larger than the memory. */
export function anyWork(): fc.Arbitrary<InstanceWorkload> {
  return fc
    .record({
      gpu: fc.constantFrom(...Object.values(GPUS)),
      gpus: fc.integer({ min: 1, max: 8 }),
      model: anyModel(),
      bytesPerParameter: fc.constantFrom(2, 1, 0.58),
      constants: fc.constantFrom(...Object.values(ENGINE_CLASSES)),
      maxBatchSize: fc.integer({ min: 1, max: 512 }),
      stepTokens: fc.constantFrom(2048, 8192),
      attentionDataParallel: fc.boolean(),
      promptTokens: amount(1, 100_000),
      outputTokens: amount(1, 10_000),
      cachedShare: amount(0, 1),
    })
    .map(({ bytesPerParameter, ...work }) => ({ ...work, weightBytes: work.model.parameters * bytesPerParameter }))
}
