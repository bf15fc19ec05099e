import type { GpuType } from './records/gpu-config.ts'

/** The properties of a GPU type, independent of the provider. */
export interface GpuSpec {
  /** Memory in bytes, as the driver reports it. */
  readonly memoryBytes: number
  /** Output tokens/s of an 8-billion-parameter model at full batches, on one GPU. */
  readonly tokensPerSecond8b: number
}

const MIB = 1024 * 1024

/**
 * Memory is what nvidia-smi shows, B300 from its name (A); prices are in the provider profile. Throughput of an 8B fp8 model at
 * 1,000 tokens in and out: H100 15,200/s and H200 17,700/s from NVIDIA's TensorRT-LLM performance tables; the others
 * scaled by memory bandwidth and format, A100 0.55, L40S 0.30, L4 0.10 of an H100 (anchored on the inter-token
 * latencies of llm-d's inference simulator), Blackwell by the ratios of the same tables.
 */
export const GPUS: Readonly<Record<Exclude<GpuType, 'other'>, GpuSpec>> = {
  'L4-24GB': { memoryBytes: 23_034 * MIB, tokensPerSecond8b: 1520 },
  'L40S-48GB': { memoryBytes: 46_068 * MIB, tokensPerSecond8b: 4560 },
  'A100-80GB': { memoryBytes: 81_920 * MIB, tokensPerSecond8b: 8360 },
  'H100-80GB': { memoryBytes: 81_559 * MIB, tokensPerSecond8b: 15_200 },
  'H200-141GB': { memoryBytes: 143_771 * MIB, tokensPerSecond8b: 17_700 },
  'B200-180GB': { memoryBytes: 183_359 * MIB, tokensPerSecond8b: 35_000 },
  'B300-270GB': { memoryBytes: 276_480 * MIB, tokensPerSecond8b: 40_000 },
  'RTXPRO6000-96GB': { memoryBytes: 97_887 * MIB, tokensPerSecond8b: 9900 },
}
