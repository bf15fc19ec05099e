/**
 * Compares the engine with published measurements. What such a measurement does beside its engine belongs here: a finite
 * number of requests, closed loops whose requests stay in step, and runs without a server.
 */
import * as z from 'zod'
import {
  calibrated,
  ENGINE_CLASSES,
  type EngineClass,
  type EngineConstants,
  type EngineFactors,
} from '../../data/engine-classes.ts'
import { GPUS, type GpuSpec } from '../../data/gpu-specs.ts'
import { modelFigures, stepTokensOf } from '../../simulation/fleet/weights.ts'
import { cacheBytes, type EnginePoint, InstanceEngine } from '../../simulation/load/engine.ts'

const METRICS = ['outputTokensPerSecond', 'endToEnd', 'timePerOutputToken', 'timeToFirstToken'] as const
export type Metric = (typeof METRICS)[number]

const above0 = z.number().positive().max(1e15).nullish()
const tokens = z.number().positive().max(1e8)
const whole = z.int().positive().max(1e9).nullish()

/** What was measured. A field that is missing or null has its default. */
export const SetUp = z
  .strictObject({
    model: z.string().nullish(),
    parameters: z.number().positive().max(1e15),
    ...{ active: above0, layers: whole, hidden: whole, attentionWidth: whole, kvBytesPerToken: above0 },
    experts: z.int().min(0).max(1e6).nullish(),
    expertsPerToken: z.int().min(0).max(1e6).nullish(),
    /** Format of the weights. Default: 16 bit. */
    precision: z
      .string()
      .refine(text => /16|8|4|awq|gptq/i.test(text), "a format with its bits, such as 'fp8', 'awq' or 'bf16'")
      .nullish(),
    gpu: z.string(),
    /** Default: 1. */
    gpus: z.int().min(1).max(16).nullish(),
    /** Default: vLLM. */
    engine: z.string().nullish(),
    attentionDataParallel: z.boolean().nullish(),
    promptTokens: tokens,
    outputTokens: tokens,
    /** Requests/s, or `max` for all at once. */
    rate: z.union([z.number().positive().max(1e9), z.literal('max')]).nullish(),
    /** Requests that a closed loop keeps in work, and how many requests there were. */
    ...{ concurrency: above0, requests: above0, maxBatch: whole, maxTokens: whole },
    /** Whether no server was between. */
    direct: z.boolean().nullish(),
    /** Tokens that prompts of a group share: a load of few prompts that come again and again. */
    prefixTokens: z.number().min(0).nullish(),
  })
  .refine(({ prefixTokens, promptTokens }) => (prefixTokens ?? 0) <= promptTokens, {
    path: ['prefixTokens'],
    error: 'at most promptTokens',
  })
  .refine(({ experts, expertsPerToken }) => (expertsPerToken ?? 0) <= (experts ?? Number.POSITIVE_INFINITY), {
    path: ['expertsPerToken'],
    error: 'at most experts',
    abort: true,
  })
  .refine(
    ({ parameters, active, experts, expertsPerToken }) =>
      typeof active !== 'number' ||
      (active <= parameters && active >= (parameters * (expertsPerToken ?? 0)) / (experts || Number.POSITIVE_INFINITY)),
    { path: ['active'], error: 'parameters × expertsPerToken / experts to parameters' },
  )
  .refine(
    ({ active, experts, expertsPerToken }) => typeof active === 'number' || (experts ?? 0) === (expertsPerToken ?? 0),
    { path: ['active'], error: 'the parameters of a token beside experts' },
  )
export type SetUp = z.output<typeof SetUp>

/** A measurement. Times are in seconds. */
export const PublishedRow = z.strictObject({
  id: z.string(),
  source: z.string().nullish(),
  setup: SetUp,
  metric: z.enum(METRICS),
  value: z.number().positive().max(1e12),
})
export type PublishedRow = z.output<typeof PublishedRow>

/** A measurement and what the engine says. */
export interface ComparedRow extends Pick<PublishedRow, 'id' | 'source' | 'setup' | 'metric'> {
  readonly published: number
  readonly model: number
  /** exp(|ln(model / published)|) − 1: a factor of two is 1 in both directions. */
  readonly error: number
}

/** A sequence of fewer waves than this is compared wave by wave. */
const FEW_WAVES = 8
/**
 * Share of the prompts that was in the prefix cache of runs whose few prompts came again and again: a nuisance parameter of
 * that set of rows, fitted with the constants.
 */
const REPEATED_PROMPTS = 0.734_931_573_767_686_1
/** Share of a group's prompts that one step of a closed loop reads. */
const IN_STEP = 0.6
const A100_40: GpuSpec = { ...GPUS['A100-80GB'], memoryBytes: 40_960 * 1024 * 1024, bandwidth: 1.555e12 }
const BYTES_PER_PARAMETER = { 16: 2, 8: 1, 4: 0.58 } as const

/** Returns the class of an engine by its name. */
export function classOf(setup: SetUp): EngineClass {
  return /tensorrt|trt|tuned|nim/i.test(setup.engine ?? '') ? 'tuned' : 'default'
}

/** Returns the constants of the engine of a set-up, with the factors of a profile. */
export function constantsOf(setup: SetUp, factors: EngineFactors): EngineConstants {
  return calibrated(ENGINE_CLASSES[classOf(setup)], factors)
}

/** Returns the GPU of a set-up, whose name may have spaces and a form factor; undefined if it is not known. */
export function findGpu(name: string): GpuSpec | undefined {
  const letters = (text: string) => text.toUpperCase().replace(/NVIDIA|GEFORCE|[^A-Z0-9]/g, '')
  if (/^A10040/.test(letters(name))) return A100_40
  const types = Object.entries(GPUS).map(([type, spec]) => [letters(type.split('-')[0]!), spec] as const)
  // The longest name first: an L40S is no L4.
  return types.sort(([a], [b]) => b.length - a.length).find(([type]) => letters(name).startsWith(type))?.[1]
}

function bitsOfPrecision(precision: string): 16 | 8 | 4 {
  return /4/.test(precision.replace(/^w\d+a/i, '')) || /awq|gptq/i.test(precision) ? 4 : /8/.test(precision) ? 8 : 16
}

/**
 * Returns the engine of a set-up.
 *
 * @throws Error that says which field cannot be used
 */
export function engineOfSetUp(
  setup: SetUp,
  constants: EngineConstants = ENGINE_CLASSES[classOf(setup)],
): InstanceEngine {
  const gpu = findGpu(setup.gpu)
  if (gpu === undefined) throw new Error(`gpu '${setup.gpu}' is not known`)
  const { parameters, hidden, experts, expertsPerToken } = setup
  const hasExperts = typeof experts === 'number' && typeof expertsPerToken === 'number' && expertsPerToken < experts
  const given = {
    ...{ parameters, layers: setup.layers, hidden, attentionWidth: setup.attentionWidth ?? hidden },
    ...{ kvBytesPerToken: setup.kvBytesPerToken, active: setup.active },
    ...(hasExperts && { experts, expertsPerToken }),
  }
  const figures = Object.fromEntries(Object.entries(given).filter(([, figure]) => typeof figure === 'number'))
  const model = modelFigures({ bytes: 0, parametersB: parameters / 1e9, context: 0, figures })
  const engine = new InstanceEngine({
    ...{ gpu, gpus: setup.gpus ?? 1, model, constants },
    weightBytes: parameters * BYTES_PER_PARAMETER[bitsOfPrecision(setup.precision ?? '')],
    maxBatchSize: setup.maxBatch ?? Number.POSITIVE_INFINITY,
    stepTokens: setup.maxTokens ?? stepTokensOf(gpu, classOf(setup)),
    attentionDataParallel: setup.attentionDataParallel ?? false,
    promptTokens: setup.promptTokens,
    outputTokens: setup.outputTokens,
    cachedShare: typeof setup.prefixTokens === 'number' ? REPEATED_PROMPTS : 0,
  })
  if (cacheBytes(engine.workload) >= 0) return engine
  throw new Error(`the weights do not fit into ${setup.gpus ?? 1} × ${setup.gpu}`)
}

/** Returns how the engine does under the load of a set-up. */
function pointOf(setup: SetUp, engine: InstanceEngine): EnginePoint {
  if (typeof setup.rate === 'number') return engine.atRate(setup.rate)
  if (typeof setup.concurrency !== 'number') return engine.at(engine.places)
  const { stepTokens, constants } = engine.workload
  const point = engine.at(Math.min(engine.places, setup.concurrency))
  const { concurrency, tokenTime } = point
  // Equal requests of a closed loop stay in step, in groups whose prompts are read together.
  const group = Math.min(setup.concurrency, stepTokens / engine.readTokens)
  const read = Math.min(stepTokens, engine.readTokens * Math.max(1, IN_STEP * group))
  const steps = Math.ceil(engine.readTokens / stepTokens)
  const readTime = steps * engine.step(Math.max(concurrency - 1, 0), read)
  const firstTokenTime = constants.serverTime + readTime + (concurrency > 1.5 ? tokenTime / 2 : 0)
  return { ...point, firstTokenTime, requestTime: firstTokenTime + (engine.outputTokens - 1) * tokenTime }
}

/** Returns output tokens/s of a finite number of requests: full waves and the rest. */
function ratesOfWaves(engine: InstanceEngine, requests: number, places: number): number {
  const { outputTokens } = engine
  const waves = Math.floor(requests / places)
  const rest = requests - waves * places
  const seconds = (count: number) => (count > 0 ? outputTokens * engine.at(Math.max(1, count)).tokenTime : 0)
  return (requests * outputTokens) / (waves * seconds(places) + seconds(rest))
}

/** Returns what the engine says to a measurement. */
export function modelValue({ setup, metric }: PublishedRow, constants?: EngineConstants): number {
  const engine = engineOfSetUp(setup, constants)
  const point = pointOf(setup, engine)
  const server = setup.direct === true ? engine.workload.constants.serverTime : 0
  switch (metric) {
    case 'timePerOutputToken':
      return point.tokenTime
    case 'timeToFirstToken':
      return point.firstTokenTime - server
    case 'endToEnd':
      return point.requestTime - server
    default: {
      const { concurrency, requests, rate } = setup
      if (typeof rate === 'number') return Math.min(rate, engine.requestsPerSecond) * setup.outputTokens
      const places = point.concurrency
      if (typeof requests === 'number' && typeof concurrency !== 'number' && requests / places < FEW_WAVES)
        return ratesOfWaves(engine, requests, places)
      return point.rate * setup.outputTokens
    }
  }
}

/**
 * Compares a measurement with the engine.
 *
 * @throws Error that says which field cannot be used
 */
export function compareRow(row: PublishedRow, constants?: EngineConstants): ComparedRow {
  const { value: published, ...rest } = row
  const model = modelValue(row, constants)
  return { ...rest, published, model, error: Math.max(model / published, published / model) - 1 }
}
