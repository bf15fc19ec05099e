import { GPUS, type GpuFigures } from '../store/gpus.ts'
import { GPU_TYPES, type GpuType } from '../store/records.ts'

/** Position of a type in tables by type. */
export function gpuIndex(gpu: GpuType): number {
  return GPU_TYPES.indexOf(gpu)
}

/** Figures of a type that has a pool and a price; `other` has neither, so asking for it is a fault of ours. */
export function gpuFigures(gpu: GpuType): GpuFigures {
  if (gpu === 'other') throw new Error("Failed to look up the GPU type 'other': it has no memory and no price.")
  return GPUS[gpu]
}

/**
 * Output tokens/s of one instance at full batches: linear in its GPUs, inverse to the model's size.
 *
 * @param parametersB billions of parameters
 * @example tokensPerSecond('H100-80GB', 2, 70) // about 3,470; the tables give 2 × 2,209 for 70B fp8
 */
export function tokensPerSecond(gpu: GpuType, gpus: number, parametersB: number): number {
  return (gpuFigures(gpu).tokensPerSecond8b * gpus * 8) / Math.max(parametersB, 0.5)
}
