/** The types of GPUs, and the words for several GPUs of one type. */
import * as z from 'zod'

/** The GPU types of the interface document (2.4). `other` has no pool and no price. */
export const GPU_TYPES = [
  'L4-24GB',
  'L40S-48GB',
  'A100-80GB',
  'H100-80GB',
  'H200-141GB',
  'B200-180GB',
  'B300-270GB',
  'RTXPRO6000-96GB',
  'other',
] as const
export type GpuType = (typeof GPU_TYPES)[number]

/** Position of a type in tables by type. */
export function gpuIndex(gpu: GpuType): number {
  return GPU_TYPES.indexOf(gpu)
}

/**
 * Returns the GPUs that a word like `2xA100-80GB` names, 1 to 8 of a type. Any other text returns undefined.
 *
 * @example parseGpuConfig('2xA100-80GB') // { gpu: 'A100-80GB', num_gpus: 2 }
 */
export function parseGpuConfig(text: string): { readonly gpu: GpuType; readonly num_gpus: number } | undefined {
  const [, count, name] = /^([1-8])x(.+)$/.exec(text) ?? []
  const gpu = GPU_TYPES.find(type => type === name)
  return gpu === undefined ? undefined : { gpu, num_gpus: Number(count) }
}

/** Returns the word for a number of GPUs of a type, for example `2xA100-80GB`. */
export function formatGpuConfig(gpu: GpuType, count: number): string {
  return `${count}x${gpu}`
}

/** Every type of GPU that nodes have: all except `other`. */
export const realGpu = z.enum(GPU_TYPES).exclude(['other'])
