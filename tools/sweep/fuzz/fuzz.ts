/** Sends random requests to every operation, episode after episode. */
import { EPISODE_LENGTH, type EpisodeResult, playEpisode, type Violation } from './episode.ts'
import type { Transport } from './ground.ts'

/** The counts and the violations of a fuzz. */
export interface FuzzResult {
  /** Answers by operation and status. */
  readonly counts: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** The first violation of each law by each operation. */
  readonly violations: readonly Violation[]
}

/**
 * Sends random requests in episodes.
 *
 * @param onEpisode called after each episode with what is known so far
 */
export async function fuzz(
  options: { readonly requests: number; readonly seed: number; readonly transport: Transport; readonly from?: number },
  onEpisode: (requests: number, violations: readonly Violation[]) => void | Promise<void> = () => {},
): Promise<FuzzResult> {
  const { requests, seed, transport, from = 0 } = options
  const counts: Record<string, Record<string, number>> = {}
  const violations = new Map<string, Violation>()
  const first = from - (from % EPISODE_LENGTH)
  for (let sent = 0; sent < requests; sent += EPISODE_LENGTH) {
    const length = Math.min(EPISODE_LENGTH, requests - sent)
    const result = await playEpisode({ transport, seed, indices: Array.from({ length }, (_, i) => first + sent + i) })
    addCounts(counts, result)
    const fresh: Violation[] = []
    for (const violation of result.violations) {
      const kind = `${violation.law} ${violation.operation}`
      if (violations.has(kind)) continue
      violations.set(kind, violation)
      fresh.push(violation)
    }
    await onEpisode(sent + length, fresh)
  }
  return { counts, violations: [...violations.values()] }
}

function addCounts(counts: Record<string, Record<string, number>>, result: EpisodeResult): void {
  for (const [operation, statuses] of result.counts) {
    counts[operation] ??= {}
    for (const [status, count] of statuses) counts[operation][status] = (counts[operation][status] ?? 0) + count
  }
}
