import type { Micros } from '../../kernel/duration.ts'
import type { NodeRow } from './node-row.ts'

/**
 * Returns the entries that remain in a cache of `capacityBytes`. The last entry was just added and always remains. The
 * least recently used entries are evicted first; entries in use are kept even if the cache is too full.
 */
export function evictToFit<Entry extends { readonly bytes: number; readonly usedAt: number }>(
  entries: readonly Entry[],
  capacityBytes: number,
  nameOf: (entry: Entry) => string,
  namesInUse: () => ReadonlySet<string | undefined>,
  onEvict: (name: string) => void,
): readonly Entry[] {
  let total = entries.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= capacityBytes) return entries
  const inUse = namesInUse()
  const evicted = new Set<Entry>()
  const candidates = entries
    .slice(0, -1)
    .filter(entry => !inUse.has(nameOf(entry)))
    .sort((a, b) => a.usedAt - b.usedAt || (nameOf(a) < nameOf(b) ? -1 : 1))
  for (const candidate of candidates) {
    if (total <= capacityBytes) break
    evicted.add(candidate)
    total -= candidate.bytes
    onEvict(nameOf(candidate))
  }
  return entries.filter(entry => !evicted.has(entry))
}

/** Returns the name of an image in the journal. */
export function formatImageName(image: string): string {
  return image === '' ? 'serving' : image
}

/**
 * Returns the time until an image is on a node. The first that needs it starts the pull, which takes `drawDuration()`.
 * All others wait for the same pull, even if the first has ended by then.
 */
export function joinPull(row: NodeRow, image: string, now: Micros, drawDuration: () => Micros): Micros {
  const current = row.pulls.find(pull => pull.image === image)
  if (current !== undefined) return Math.max(0, current.endsAt - now)
  const duration = Math.round(drawDuration())
  row.pulls = [...row.pulls, { image, endsAt: now + duration }]
  return duration
}
