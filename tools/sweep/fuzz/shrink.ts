/** Finds the fewest requests that still violate a law. */
import { EPISODE_LENGTH, type Episode, playEpisode, type Violation } from './episode.ts'

/** The most replays of a search. */
const MAX_REPLAYS = 120

/**
 * Returns the indices of few requests after which the violation still occurs, the violating one last; undefined if a
 * replay of the whole episode does not repeat it.
 */
export async function shrink(
  violation: Violation,
  { transport, seed }: Omit<Episode, 'indices'>,
): Promise<number[] | undefined> {
  const first = violation.index - (violation.index % EPISODE_LENGTH)
  let replays = 0
  const repeats = async (indices: readonly number[]) => {
    replays++
    const { violations } = await playEpisode({ transport, seed, indices })
    return violations.some(({ law, operation }) => law === violation.law && operation === violation.operation)
  }
  let kept = Array.from({ length: violation.index - first }, (_, i) => first + i)
  const withLast = (indices: readonly number[]) => [...indices, violation.index]
  if (!(await repeats(withLast(kept)))) return undefined
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < kept.length && replays < MAX_REPLAYS; ) {
      const fewer = [...kept.slice(0, start), ...kept.slice(start + size)]
      if (await repeats(withLast(fewer))) kept = fewer
      else start += size
    }
  }
  return withLast(kept)
}
