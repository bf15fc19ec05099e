import { ENGINE_CLASSES, type EngineClass, type EngineConstants } from '../../data/engine-classes.ts'
import { type GpuSpec, gpuSpec } from '../../data/gpu-specs.ts'
import type { CatalogModel, HubRepository } from '../../data/records/catalog.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import { ln } from '../../kernel/exact-math.ts'
import { oncePer } from '../../lib/once.ts'
import { hashCredential } from '../../lib/text/secrets.ts'
import { cacheBytes, type InstanceHardware, type ModelFigures } from '../load/engine.ts'
import type { RepositoryState } from './environment.ts'

/** Weights as the simulation sees them: how much to download, hold and compute. */
export interface ModelWeights {
  readonly bytes: number
  /** Billions of parameters. */
  readonly parametersB: number
  /** Longest context in tokens. */
  readonly context: number
  /** Figures of the repository, as far as the fixture has them. The others follow from the size. */
  readonly figures?: Partial<ModelFigures> | undefined
}

/** Why the hub refuses a repository; `undefined` when it does not. */
export type HubRefusal = { readonly status: 401 | 404; readonly reason: string }

const BYTES_PER_PARAMETER: Readonly<Record<string, number>> = {
  fp32: 4,
  bf16: 2,
  fp16: 2,
  fp8: 1,
  int8: 1,
  mxfp8: 1.031,
  fp4: 0.5,
  int4: 0.5,
  awq: 0.5,
  gptq: 0.5,
  nvfp4: 0.5,
  mxfp4: 0.531,
}
/** A repository whose name tells no size counts as one of 8 billion parameters. */
const UNKNOWN_PARAMETERS_B = 8

/** Bytes of weights: parameters × bytes of the format (Machine Learning Engineering Open Book, S. Bekman). */
export function weightBytes(parametersB: number, quantization: string | null): number {
  return Math.round(parametersB * 1e9 * (BYTES_PER_PARAMETER[quantization?.toLowerCase() ?? 'bf16'] ?? 2))
}

/**
 * Weights of a repository that no fixture knows, from its name.
 *
 * @example estimateWeights('someone/mixer-8x7b-fp8').parametersB === 56
 */
export function estimateWeights(repo: string): ModelWeights {
  const name = repo.toLowerCase()
  const experts = /(?<![a-z0-9.])(\d{1,9})x(\d{1,9}(?:\.\d{1,9})?)b(?![a-z0-9])/.exec(name)
  const billions = /(?<![a-z0-9.])(\d{1,9}(?:\.\d{1,9})?)b(?![a-z0-9])/.exec(name)
  const millions = /(?<![a-z0-9.])(\d{1,9}(?:\.\d{1,9})?)m(?![a-z0-9])/.exec(name)
  const parametersB = experts
    ? Number(experts[1]) * Number(experts[2])
    : billions
      ? Number(billions[1])
      : millions
        ? Number(millions[1]) / 1000
        : UNKNOWN_PARAMETERS_B
  const format = Object.keys(BYTES_PER_PARAMETER).find(word => name.includes(word)) ?? 'bf16'
  const size = parametersB > 0 && parametersB <= 10_000 ? parametersB : UNKNOWN_PARAMETERS_B
  return { bytes: weightBytes(size, format), parametersB: size, context: 8192, figures: undefined }
}

/** Weights of a repository, listed or not. */
export function repositoryWeights(repository: HubRepository | undefined, repo: string): ModelWeights {
  if (!repository) return estimateWeights(repo)
  const { bytes, parameters_b: parametersB, context } = repository
  return { bytes, parametersB, context, figures: givenFigures(repository) }
}

// Once for each repository: every deployment of it needs them, and then shares them.
const givenFigures = oncePer((repository: HubRepository): Partial<ModelFigures> | undefined => {
  const { layers, hidden, active_parameters_b: activeB, experts, attention_width: attentionWidth = hidden } = repository
  const { kv_bytes_per_token: kvBytesPerToken, experts_per_token: expertsPerToken } = repository
  const active = activeB === undefined ? undefined : activeB * 1e9
  const figures = { layers, hidden, attentionWidth, kvBytesPerToken, active, experts, expertsPerToken }
  const given = Object.entries(figures).filter(([, figure]) => figure !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given)
})

/** Returns the weights of a model of the catalog. If the hub has a repository of that name, its size is the real one. */
export function catalogWeights(
  { parameters_b, quantization, max_tokens }: CatalogModel,
  repository?: HubRepository,
): ModelWeights {
  const bytes = repository?.bytes ?? weightBytes(parameters_b, quantization)
  const figures = repository && givenFigures(repository)
  return { bytes, parametersB: parameters_b, context: max_tokens ?? 8192, figures }
}

/** `registry/name:tag`, `name@sha256:…` and what else names an image (the grammar of the distribution project). */
const IMAGE_REFERENCE =
  /^(?:[a-zA-Z0-9.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/

/** Why a container image cannot be pulled; undefined for one that can, and for none. */
export function invalidImageReason(image: string): string | undefined {
  return image === '' || IMAGE_REFERENCE.test(image)
    ? undefined
    : `image pull failed: ${JSON.stringify(image)} names no image`
}

/**
 * Returns the reason for which the hub refuses a repository to this token; undefined if it does not.
 *
 * @param existsUnlisted whether a repository exists that the fixture does not list
 */
export function hubRefusal(
  repository: HubRepository | undefined,
  existsUnlisted: boolean,
  reference: { repo: string; revision: string; token: string },
  override?: RepositoryState,
): HubRefusal | undefined {
  const { repo, revision, token } = reference
  if (override === 'missing') return { status: 404, reason: `hub repository ${repo} not found (404)` }
  if (override === 'gated' && token === '') {
    return { status: 401, reason: `hub repository ${repo} is gated and no token was given (401)` }
  }
  if (!repository) {
    const exists = existsUnlisted || override !== undefined
    return exists ? undefined : { status: 404, reason: `hub repository ${repo} not found (404)` }
  }
  if (revision !== repository.revision && revision !== 'main' && revision !== '') {
    return { status: 404, reason: `hub repository ${repo} has no revision ${revision} (404)` }
  }
  if (!repository.gated || override === 'open') return undefined
  if (token === '') return { status: 401, reason: `hub repository ${repo} is gated and no token was given (401)` }
  const hash = hashCredential(token)
  if (repository.tokens.length > 0 && !repository.tokens.some(one => hashCredential(one) === hash)) {
    return { status: 401, reason: `hub repository ${repo} is gated and refused the token (401)` }
  }
  return undefined
}

/** Real models by their parameters: 1B, 8B, 32B, 70B and 405B. Cache bytes are at 16 bit. */
const KNOWN_SIZES = [
  { parameters: 1.24e9, layers: 16, hidden: 2048, kvBytesPerToken: 32_768 },
  { parameters: 8e9, layers: 32, hidden: 4096, kvBytesPerToken: 131_072 },
  { parameters: 32e9, layers: 64, hidden: 5120, kvBytesPerToken: 262_144 },
  { parameters: 70e9, layers: 80, hidden: 8192, kvBytesPerToken: 327_680 },
  { parameters: 405e9, layers: 126, hidden: 16_384, kvBytesPerToken: 516_096 },
] as const
/** Smaller models count as one of this many parameters, so that times stay above 0. */
const LEAST_PARAMETERS = 1e7

/**
 * Returns the figures of a model: those of its repository, and for the missing ones those of dense models of its size,
 * between two known ones by the logarithm of the parameters (A). Weights do not change.
 */
export const modelFigures = oncePer(({ parametersB, figures }: ModelWeights): ModelFigures => {
  const parameters = Math.max(figures?.parameters ?? parametersB * 1e9, LEAST_PARAMETERS)
  const above = KNOWN_SIZES.findIndex(known => parameters < known.parameters)
  const upper = KNOWN_SIZES[above === -1 ? KNOWN_SIZES.length - 1 : above]!
  const lower = KNOWN_SIZES[Math.max(0, KNOWN_SIZES.indexOf(upper) - (above === -1 ? 0 : 1))]!
  const share = lower === upper ? 0 : ln(parameters / lower.parameters) / ln(upper.parameters / lower.parameters)
  const between = (key: 'layers' | 'hidden' | 'kvBytesPerToken') =>
    Math.round(lower[key] + share * (upper[key] - lower[key]))
  const [layers, hidden, kvBytesPerToken] = [between('layers'), between('hidden'), between('kvBytesPerToken')]
  const dense = { active: parameters, experts: 0, expertsPerToken: 0 }
  return {
    ...{ layers, hidden, attentionWidth: figures?.hidden ?? hidden, kvBytesPerToken },
    ...dense,
    ...figures,
    parameters,
  }
})

/** Tells whether the speed of a model follows from its size only. */
export function areFiguresAssumed({ figures }: ModelWeights): boolean {
  return figures?.layers === undefined || figures.hidden === undefined || figures.kvBytesPerToken === undefined
}

/** The settings of an engine that its speed follows from. */
export interface EngineSettings {
  /** Default: `default`. */
  readonly engineClass?: EngineClass
  /** Default: those of the class. */
  readonly constants?: EngineConstants
  /** Default: that of the class on this GPU. */
  readonly stepTokens?: number | undefined
  /** Default: no limit. */
  readonly maxBatchSize?: number
}

/** Tokens in a step of a tuned engine. */
const TUNED_STEP_TOKENS = 8192

/** Returns the tokens in a step of an engine unless an argument says so. */
export function stepTokensOf(gpu: GpuSpec, engineClass: EngineClass): number {
  return engineClass === 'tuned' ? TUNED_STEP_TOKENS : gpu.stepTokens
}

/** Returns what the speed of an instance follows from, beside its work. */
export function instanceHardware(
  weights: ModelWeights,
  gpu: GpuType,
  gpus: number,
  {
    engineClass = 'default',
    constants = ENGINE_CLASSES[engineClass],
    stepTokens,
    maxBatchSize = Number.POSITIVE_INFINITY,
  }: EngineSettings = {},
): InstanceHardware {
  const spec = gpuSpec(gpu)
  return {
    ...{ gpu: spec, gpus, model: modelFigures(weights), weightBytes: weights.bytes, maxBatchSize },
    constants,
    stepTokens: stepTokens ?? stepTokensOf(spec, engineClass),
  }
}

/** Returns the tokens that the cache of an instance holds; at least 1. */
export function cacheTokens(hardware: InstanceHardware): number {
  return Math.max(1, Math.floor(cacheBytes(hardware) / hardware.model.kvBytesPerToken))
}

/** Returns the mean tokens in the cache of a sequence of these mean lengths: its prompt and half of its answer. */
export function meanSequenceTokens({ context }: ModelWeights, promptTokens: number, outputTokens: number): number {
  return Math.max(1, Math.min(context, promptTokens + outputTokens / 2))
}

/**
 * Returns the reason for which weights do not fit into the GPUs of one instance; undefined if they fit.
 *
 * They fit if weights and activations take at most 0.90 of the memory. The rest is cache, so `max_batch_size` reserves
 * nothing. A client learns it while the engine starts, not when it creates the deployment.
 */
export function memoryShortage(weights: ModelWeights, gpu: GpuType, gpus: number): string | undefined {
  const hardware = instanceHardware(weights, gpu, gpus)
  const missing = -cacheBytes(hardware)
  if (missing <= 0) return undefined
  const usable = hardware.constants.memoryShare * hardware.gpu.memoryBytes * gpus
  const engineBytes = usable + missing - weights.bytes
  return (
    `CUDA out of memory: the model needs ${formatGigabytes(usable + missing)} (weights ` +
    `${formatGigabytes(weights.bytes)}, engine ${formatGigabytes(engineBytes)}), ${gpus}x${gpu} offers ${formatGigabytes(usable)}`
  )
}

function formatGigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`
}
