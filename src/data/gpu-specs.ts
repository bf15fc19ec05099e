import type { GpuType } from './records/gpu-config.ts'

/** The properties of a GPU type, independent of the provider. */
export interface GpuSpec {
  /** Usable memory in bytes, as in the name. */
  readonly memoryBytes: number
  /** Output tokens/s of an 8-billion-parameter model at full batches, on one GPU. */
  readonly tokensPerSecond8b: number
}

const GB = 1e9

/**
 * Memory is the interface document's own (2.4); prices are in the provider profile. Throughput of an 8B fp8 model at
 * 1,000 tokens in and out: H100 15,200/s and H200 17,700/s from NVIDIA's TensorRT-LLM performance tables; the others
 * scaled by memory bandwidth and format, A100 0.55, L40S 0.30, L4 0.10 of an H100 (anchored on the inter-token
 * latencies of llm-d's inference simulator), Blackwell by the ratios of the same tables.
 */
export const GPUS: Readonly<Record<Exclude<GpuType, 'other'>, GpuSpec>> = {
  'L4-24GB': { memoryBytes: 24 * GB, tokensPerSecond8b: 1520 },
  'L40S-48GB': { memoryBytes: 48 * GB, tokensPerSecond8b: 4560 },
  'A100-80GB': { memoryBytes: 80 * GB, tokensPerSecond8b: 8360 },
  'H100-80GB': { memoryBytes: 80 * GB, tokensPerSecond8b: 15_200 },
  'H200-141GB': { memoryBytes: 141 * GB, tokensPerSecond8b: 17_700 },
  'B200-180GB': { memoryBytes: 180 * GB, tokensPerSecond8b: 35_000 },
  'B300-270GB': { memoryBytes: 270 * GB, tokensPerSecond8b: 40_000 },
  'RTXPRO6000-96GB': { memoryBytes: 96 * GB, tokensPerSecond8b: 9900 },
}
