import type { CatalogModel, HubRepository } from '../../data/records/catalog.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import { hashCredential } from '../../lib/text/credential-hash.ts'
import { gpuSpec } from '../load/gpu-throughput.ts'
import type { RepositoryState } from './environment.ts'

/** Weights as the simulation sees them: how much to download, hold and compute. */
export interface ModelWeights {
  readonly bytes: number
  /** Billions of parameters. */
  readonly parametersB: number
  /** Longest context in tokens. */
  readonly context: number
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
  return { bytes: weightBytes(size, format), parametersB: size, context: 8192 }
}

/** Weights of a repository, listed or not. */
export function repositoryWeights(repository: HubRepository | undefined, repo: string): ModelWeights {
  if (!repository) return estimateWeights(repo)
  return { bytes: repository.bytes, parametersB: repository.parameters_b, context: repository.context }
}

/** Returns the weights of a model of the catalog. If the hub has a repository of that name, its size is the real one. */
export function catalogWeights(
  { parameters_b, quantization, max_tokens }: CatalogModel,
  repository?: HubRepository,
): ModelWeights {
  const bytes = repository?.bytes ?? weightBytes(parameters_b, quantization)
  return { bytes, parametersB: parameters_b, context: max_tokens ?? 8192 }
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

/** Key-value cache of one token in bytes at fp16, by billions of parameters (llm-d inference simulator). */
const CACHE_BYTES: readonly (readonly [parametersB: number, bytes: number])[] = [
  [0, 0],
  [8, 128 * 1024],
  [70, 320 * 1024],
  [405, 1024 * 1024],
]

/** Returns the key-value cache of one token in bytes: between and beyond the known sizes by parameters. */
export function kvCacheBytesPerToken(parametersB: number): number {
  let index = 1
  while (index < CACHE_BYTES.length - 1 && parametersB > CACHE_BYTES[index]![0]) index++
  const lower = CACHE_BYTES[index - 1]!
  const upper = CACHE_BYTES[index]!
  return Math.round(lower[1] + ((parametersB - lower[0]) * (upper[1] - lower[1])) / (upper[0] - lower[0]))
}

/** Memory of a GPU that the engine takes, as a share. */
export const USABLE_MEMORY = 0.9
/** Memory of a GPU that the engine needs beside weights and cache. */
const ENGINE_BYTES_PER_GPU = 1e9

/** Returns the bytes that remain for the cache of an instance; below 0 if its weights do not fit. */
function cacheBytes(weights: ModelWeights, gpu: GpuType, gpus: number): number {
  return (USABLE_MEMORY * gpuSpec(gpu).memoryBytes - ENGINE_BYTES_PER_GPU) * gpus - weights.bytes
}

/** Returns the tokens that the cache of an instance holds; at least 1. */
export function cacheTokens(weights: ModelWeights, gpu: GpuType, gpus: number): number {
  return Math.max(1, Math.floor(cacheBytes(weights, gpu, gpus) / kvCacheBytesPerToken(weights.parametersB)))
}

/** Returns the mean tokens in the cache of a sequence of these mean lengths: its prompt and half of its answer. */
export function meanSequenceTokens({ context }: ModelWeights, promptTokens: number, outputTokens: number): number {
  return Math.max(1, Math.min(context, promptTokens + outputTokens / 2))
}

/**
 * Returns the reason for which weights do not fit into the GPUs of one instance; undefined if they fit.
 *
 * They fit if `weights + 1 GB × GPUs ≤ 0.90 × memory × GPUs`. The rest is cache, so `max_batch_size` reserves nothing. A
 * client learns it while the engine starts, not when it creates the deployment.
 */
export function memoryShortage(weights: ModelWeights, gpu: GpuType, gpus: number): string | undefined {
  if (cacheBytes(weights, gpu, gpus) >= 0) return undefined
  const engineBytes = ENGINE_BYTES_PER_GPU * gpus
  const usable = USABLE_MEMORY * gpuSpec(gpu).memoryBytes * gpus
  return (
    `CUDA out of memory: the model needs ${formatGigabytes(weights.bytes + engineBytes)} (weights ` +
    `${formatGigabytes(weights.bytes)}, engine ${formatGigabytes(engineBytes)}), ${gpus}x${gpu} offers ${formatGigabytes(usable)}`
  )
}

/**
 * Returns how many sequences of these mean lengths an instance serves at once: as many as its cache holds, from 1 to
 * `maxBatchSize`. The cache is paged, so a sequence takes its prompt and, on average, half of its answer.
 */
export function concurrentSequences(
  weights: ModelWeights,
  { gpu, gpus, maxBatchSize }: { readonly gpu: GpuType; readonly gpus: number; readonly maxBatchSize: number },
  promptTokens: number,
  outputTokens: number,
): number {
  const tokens = meanSequenceTokens(weights, promptTokens, outputTokens)
  const sequences = Math.floor(cacheBytes(weights, gpu, gpus) / (kvCacheBytesPerToken(weights.parametersB) * tokens))
  return Math.max(1, Math.min(maxBatchSize, sequences))
}

function formatGigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`
}
