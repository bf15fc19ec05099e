import { DAY, HOUR, MINUTE, type Micros, SECOND } from '../kernel/duration.ts'

/** A time that differs from case to case: lognormal by median and sigma of its logarithm, cut at `cap`. */
export interface Spread {
  readonly median: Micros
  readonly sigma: number
  readonly cap: Micros
}

/**
 * Every time and rate of the simulation, in one table. Sources are named where a figure has one; (A) marks an
 * assumption of this project.
 */
export interface Timings {
  /** From create or start to the first placement (A). */
  readonly placementDelay: Micros
  /** From a placement to the start of the first pull: container creation (A). */
  readonly containerStart: Micros
  /** Pull of the serving image on a node that lacks it: 236 s for 28 GB on GKE/L4 (doit.com), 7–10 min for 10 GB with plain overlayfs (tensorfuse). */
  readonly imagePull: Spread
  /** How long the hub takes to refuse a repository (A). */
  readonly hubRefusal: Micros
  /** Download rate from the hub in bytes/s: 0.27 GB/s plain (doit.com), 0.4–0.7 (Hugging Face bucket tests), 1.5 accelerated. */
  readonly downloadRate: { readonly median: number; readonly sigma: number; readonly cap: number }
  /** Disk to GPU in bytes/s and a fixed part: 15 GB in 4.9–47 s by loader (Run:ai model streamer); 3 GB/s + 2 s (A). */
  readonly loadRate: number
  readonly loadFixed: Micros
  /** Engine initialisation: 20 s after load for 15 GB (Run:ai), 39 s compile for 35 B; median 45 s + 0.25 s per GB (A). */
  readonly warmUp: { readonly median: Micros; readonly perGigabyte: Micros; readonly sigma: number }
  /** An instance must be ready within this of loading, or it counts as lost (RunPod: 7 min; here 10). */
  readonly readyWithin: Micros
  /** Waits before a lost start is tried again; after the last one the deployment fails. */
  readonly retryAfter: readonly Micros[]
  /** How long a ready instance goes on serving after it was told to leave (A). */
  readonly drain: Micros
  /** A deployment with `min_instances` 0 gives up its last instance after this long without a request (A). */
  readonly idleToZero: Micros
  /** LoRA adapter: download, then load into its base (A). */
  readonly adapterDownload: Spread
  readonly adapterLoad: Micros
  /** Batch validation: fixed part and part per line (A). */
  readonly batchValidation: Micros
  readonly batchValidationPerLine: Micros
  /** Tokens/s that a catalog model's shared capacity gives one batch (A). */
  readonly batchSharedTokensPerSecond: number
  /** Finalizing a batch: fixed part and bytes/s of the output (A). */
  readonly batchFinalizing: Micros
  readonly batchFinalizingRate: number
  /** `expires_at` of a batch after its creation: the completion window of 24 h. */
  readonly batchWindow: Micros
  /** `expires_at` of a file after its creation. */
  readonly fileLife: Micros
  /** Storage of a hosted instance grows this long after the request. */
  readonly storageExpansion: Micros
  /** A GPU-limit request is decided after this long, and approved up to this limit (A). */
  readonly limitReview: Micros
  readonly limitApprovedUpTo: number
  /** What runs goes on this long after the funds are gone (A). */
  readonly suspensionGrace: Micros
  /** A declined top-up is tried again after this long (A). */
  readonly topupRetry: Micros
}

/** GPU limit of an account for a type that its fixture does not name. */
export const DEFAULT_GPU_LIMIT = 4

/** Batch tokens cost this share of live ones. */
export const BATCH_PRICE_SHARE = 0.8

/** What a realistic cold start costs: an 8B model on a warm node about 1 min, a fresh 70B about 4 min, 405B about 15. */
export const REALISTIC: Timings = {
  placementDelay: 10 * SECOND,
  containerStart: SECOND,
  imagePull: { median: 200 * SECOND, sigma: 0.5, cap: 15 * MINUTE },
  hubRefusal: 2 * SECOND,
  downloadRate: { median: 0.8e9, sigma: 0.5, cap: 5e9 },
  loadRate: 3e9,
  loadFixed: 2 * SECOND,
  warmUp: { median: 45 * SECOND, perGigabyte: SECOND / 4, sigma: 0.35 },
  readyWithin: 10 * MINUTE,
  retryAfter: [10 * SECOND, 20 * SECOND, 40 * SECOND],
  drain: 10 * SECOND,
  idleToZero: 5 * MINUTE,
  adapterDownload: { median: 6 * SECOND, sigma: 0.4, cap: 2 * MINUTE },
  adapterLoad: 3 * SECOND,
  batchValidation: 2 * SECOND,
  batchValidationPerLine: 20,
  batchSharedTokensPerSecond: 250,
  batchFinalizing: 5 * SECOND,
  batchFinalizingRate: 200e6,
  batchWindow: DAY,
  fileLife: 30 * DAY,
  storageExpansion: MINUTE,
  limitReview: 4 * HOUR,
  limitApprovedUpTo: 64,
  suspensionGrace: 10 * MINUTE,
  topupRetry: HOUR,
}
