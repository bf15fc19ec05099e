import type { Micros } from '../../kernel/duration.ts'
import { withItem, withoutItem } from '../../lib/lists.ts'
import type { CachedImage, CachedWeights, NodeRow } from './node-row.ts'

/** An entry of a cache of a node. */
interface CacheEntry {
  readonly bytes: number
  readonly usedAt: number
}

export const imageOf = ({ image }: CachedImage): string => image
export const repoOf = ({ repo }: CachedWeights): string => repo

/** Returns the entries with one that is used now, at the end, in place of an entry of the same name. */
export function withUse<Entry extends CacheEntry>(
  entries: readonly Entry[],
  nameOf: (entry: Entry) => string,
  used: Entry,
): readonly Entry[] {
  const name = nameOf(used)
  // Most nodes have one image and the weights of a few models.
  if (entries.length === 0 || (entries.length === 1 && nameOf(entries[0]!) === name)) return [used]
  const previous = entries.find(entry => nameOf(entry) === name)
  return withItem(previous === undefined ? entries : withoutItem(entries, previous), used)
}

/** Returns the bytes of all entries. */
export function bytesOf(entries: readonly CacheEntry[]): number {
  let total = 0
  for (let i = 0; i < entries.length; i++) total += entries[i]!.bytes
  return total
}

/**
 * Returns the entries that remain in a cache of `capacityBytes`. The last entry was just added and always remains. The
 * least recently used entries are evicted first; entries in use are kept even if the cache is too full.
 */
export function evictToFit<Entry extends CacheEntry>(
  entries: readonly Entry[],
  capacityBytes: number,
  nameOf: (entry: Entry) => string,
  namesInUse: ReadonlySet<string | undefined>,
  onEvict: (name: string) => void,
): readonly Entry[] {
  let total = bytesOf(entries)
  const evicted = new Set<Entry>()
  const candidates = entries
    .slice(0, -1)
    .filter(entry => !namesInUse.has(nameOf(entry)))
    .sort((a, b) => a.usedAt - b.usedAt || (nameOf(a) < nameOf(b) ? -1 : 1))
  for (const candidate of candidates) {
    if (total <= capacityBytes) break
    evicted.add(candidate)
    total -= candidate.bytes
    onEvict(nameOf(candidate))
  }
  return entries.filter(entry => !evicted.has(entry))
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
