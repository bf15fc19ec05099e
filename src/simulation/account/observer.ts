import type { GpuType } from '../../data/records/gpu-config.ts'

/** Acts on what happens to the account. The world implements it, so the order of its actions is written in one place. */
export interface AccountObserver {
  /** The account is no longer suspended; `wasCutOff` if the grace period was over before. */
  onSuspensionEnded(wasCutOff: boolean): void
  /** The grace period is over: what runs stops. Called before the account counts as cut off. */
  onGraceEnded(reason: string): void
  /** The account is cut off. */
  onCutOff(): void
  /** The quota of a GPU type rose, or GPUs of it were given back while a deployment waited for them. */
  onQuotaAvailable(gpu: GpuType): void
}
