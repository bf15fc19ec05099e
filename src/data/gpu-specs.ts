import type { GpuType } from './records/gpu-config.ts'

/** The properties of a GPU type, independent of the provider. FLOP/s are dense, and by bits of a number. */
export interface GpuSpec {
  /** Memory in bytes, as the driver reports it. */
  readonly memoryBytes: number
  /** Bytes/s of its memory. */
  readonly bandwidth: number
  readonly flops16: number
  readonly flops8: number
  readonly flops4: number
  /** Share of the efficiency at 8 bit that is left at 4 bit. */
  readonly efficiency4: number
  /** Bytes/s of the link to the other GPUs of a node, one way. */
  readonly link: number
  readonly hasNvlink: boolean
  /** Whether its hosts start an engine more slowly than those of an H100, as published for an L40S. L4 (A). */
  readonly hasSlowHost: boolean
  /** Tokens that an engine of the class `default` reads and makes in a step unless an argument says so. */
  readonly stepTokens: number
  /** Whether published rows of this type were compared with the engine model. */
  readonly isValidated: boolean
  /** Speed with media and custom models against an H100 (A). */
  readonly mediaSpeed: number
}

const MIB = 1024 * 1024
const TERA = 1e12
const GIGA = 1e9
const NVLINK = { hasNvlink: true, hasSlowHost: false, isValidated: true, efficiency4: 1 } as const
const PCIE = { hasNvlink: false, hasSlowHost: true, isValidated: true, efficiency4: 1, link: 32 * GIGA } as const
const HOPPER = { ...NVLINK, flops16: 989 * TERA, flops8: 1979 * TERA, flops4: 1979 * TERA, link: 450 * GIGA } as const
const BLACKWELL = {
  ...{ ...NVLINK, bandwidth: 8 * TERA, flops16: 2250 * TERA, flops8: 4500 * TERA, link: 900 * GIGA },
  // Calibrated on ten published rows of a 70B on one B200.
  ...{ efficiency4: 0.6, stepTokens: 8192 },
} as const

/**
 * Memory is what nvidia-smi shows, B300 from its name (A). Bandwidth, FLOP/s and links are those of the datasheets.
 * Steps of 2,048 tokens are the default of vLLM on A100, L4 and L40S. Prices are in the provider profile.
 */
export const GPUS: Readonly<Record<Exclude<GpuType, 'other'>, GpuSpec>> = {
  'L4-24GB': {
    ...{ ...PCIE, memoryBytes: 23_034 * MIB, bandwidth: 0.3 * TERA, stepTokens: 2048, mediaSpeed: 0.1 },
    ...{ flops16: 121 * TERA, flops8: 242 * TERA, flops4: 242 * TERA, isValidated: false },
  },
  'L40S-48GB': {
    ...{ ...PCIE, memoryBytes: 46_068 * MIB, bandwidth: 0.864 * TERA, stepTokens: 2048, mediaSpeed: 0.3 },
    ...{ flops16: 362 * TERA, flops8: 733 * TERA, flops4: 733 * TERA },
  },
  'A100-80GB': {
    ...{ ...NVLINK, memoryBytes: 81_920 * MIB, bandwidth: 2.039 * TERA, stepTokens: 2048, mediaSpeed: 0.55 },
    ...{ flops16: 312 * TERA, flops8: 312 * TERA, flops4: 312 * TERA, link: 300 * GIGA },
  },
  'H100-80GB': { ...HOPPER, memoryBytes: 81_559 * MIB, bandwidth: 3.35 * TERA, stepTokens: 8192, mediaSpeed: 1 },
  'H200-141GB': {
    ...{ ...HOPPER, memoryBytes: 143_771 * MIB, bandwidth: 4.8 * TERA, stepTokens: 8192, mediaSpeed: 17_700 / 15_200 },
  },
  'B200-180GB': { ...BLACKWELL, memoryBytes: 183_359 * MIB, flops4: 9000 * TERA, mediaSpeed: 35_000 / 15_200 },
  'B300-270GB': {
    ...{ ...BLACKWELL, memoryBytes: 276_480 * MIB, flops4: 14_000 * TERA, mediaSpeed: 40_000 / 15_200 },
    isValidated: false,
  },
  'RTXPRO6000-96GB': {
    ...{ ...PCIE, memoryBytes: 97_887 * MIB, bandwidth: 1.597 * TERA, stepTokens: 8192, mediaSpeed: 9900 / 15_200 },
    ...{ flops16: 500 * TERA, flops8: 1000 * TERA, flops4: 2000 * TERA, link: 64 * GIGA },
    hasSlowHost: false,
  },
}

/** Returns the figures of a type that has a pool and a price; `other` has neither, so asking for it is a fault of ours. */
export function gpuSpec(gpu: GpuType): GpuSpec {
  if (gpu === 'other') throw new Error("Failed to look up the GPU type 'other': it has no memory and no price.")
  return GPUS[gpu]
}
