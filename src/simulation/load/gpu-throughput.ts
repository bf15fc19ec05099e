import { GPUS, type GpuSpec } from '../../data/gpu-specs.ts'
import { GPU_TYPES, type GpuType } from '../../data/records/gpu-config.ts'

/** Position of a type in tables by type. */
export function gpuIndex(gpu: GpuType): number {
  return GPU_TYPES.indexOf(gpu)
}

/** Figures of a type that has a pool and a price; `other` has neither, so asking for it is a fault of ours. */
export function gpuSpec(gpu: GpuType): GpuSpec {
  if (gpu === 'other') throw new Error("Failed to look up the GPU type 'other': it has no memory and no price.")
  return GPUS[gpu]
}

/**
 * Throughput of a model of this size against one that merely scales with 8B: NVIDIA's TensorRT-LLM tables give 15,200,
 * 2,209 and 365 output tokens/s per H100 for 8B, 70B and 405B at 1,000 tokens in and out, times 8, 70 and 405.
 */
const SIZE_FACTORS: readonly (readonly [parametersB: number, factor: number])[] = [
  [8, 1],
  [70, (2209 * 70) / (15_200 * 8)],
  [405, (365 * 405) / (15_200 * 8)],
]

/**
 * Output tokens/s of one instance at full batches, at 1,000 tokens in and out: linear in its GPUs, inverse to the model's
 * size, and corrected by the factors of the tables. Live load and batches both follow from it.
 *
 * @param parametersB billions of parameters
 * @example tokensPerSecond('H100-80GB', 2, 70) // 4,418: the tables give 2 × 2,209 for 70B fp8
 */
export function tokensPerSecond(gpu: GpuType, gpus: number, parametersB: number): number {
  return (gpuSpec(gpu).tokensPerSecond8b * gpus * 8 * sizeFactor(parametersB)) / Math.max(parametersB, 0.5)
}

function sizeFactor(parametersB: number): number {
  let index = 0
  while (index < SIZE_FACTORS.length && parametersB >= SIZE_FACTORS[index]![0]) index++
  const lower = SIZE_FACTORS[Math.max(0, index - 1)]!
  const upper = SIZE_FACTORS[index]
  if (index === 0 || upper === undefined) return lower[1]
  return lower[1] + ((parametersB - lower[0]) * (upper[1] - lower[1])) / (upper[0] - lower[0])
}
