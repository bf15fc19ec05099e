/** Removes parts of records that a user gave: fields, elements of lists, and numbers of nodes. */

/** A fixture, records that are added to one, or a profile. */
export type Records = Readonly<Record<string, unknown>>

/** A place in records: the names of fields and the positions of elements. */
type Place = readonly (string | number)[]

/** Fields that say how many there are of something. A lower number is simpler. */
const COUNTS: readonly string[] = ['count']

/**
 * Tries records without one part after the other, the largest parts first, and goes on from what is accepted.
 *
 * @param accept returns whether these records are enough
 * @returns the number of parts that were removed
 */
export async function withoutParts(records: Records, accept: (smaller: Records) => Promise<boolean>): Promise<number> {
  let best: unknown = records
  let removed = 0
  const remove = async (place: Place, value?: unknown): Promise<boolean> => {
    const smaller = replaceAt(best, place, value)
    if (!(await accept(smaller as Records))) return false
    best = smaller
    removed++
    return true
  }
  const visit = async (place: Place): Promise<void> => {
    const value = valueAt(best, place)
    if (COUNTS.includes(String(place.at(-1))) && typeof value === 'number' && value > 1) {
      await remove(place, 1)
      return
    }
    if (typeof value !== 'object' || value === null) return
    // From the end, because the places of earlier elements stay.
    const keys = Array.isArray(value) ? [...value.keys()].reverse() : Object.keys(value)
    const rest: Place[] = []
    for (const key of keys) if (!(await remove([...place, key]))) rest.push([...place, key])
    // After the removal of an element, those behind it have moved.
    const kept = Array.isArray(value) ? (valueAt(best, place) as unknown[]).map((_, i) => [...place, i]) : rest
    for (const one of kept) await visit(one)
  }
  await visit([])
  return removed
}

function valueAt(root: unknown, place: Place): unknown {
  return place.reduce<unknown>((value, key) => (value as Record<string | number, unknown>)[key], root)
}

/** Returns a copy with another value at a place, or without it. */
function replaceAt(root: unknown, [key, ...rest]: Place, value: unknown): unknown {
  if (key === undefined) return value
  const inner = (root as Record<string | number, unknown>)[key]
  const replaced = rest.length === 0 ? value : replaceAt(inner, rest, value)
  if (!Array.isArray(root)) {
    const { [key]: _, ...others } = root as Record<string | number, unknown>
    return replaced === undefined ? others : { ...(root as object), [key]: replaced }
  }
  return root.flatMap((element, i) => (i !== key ? [element] : replaced === undefined ? [] : [replaced]))
}
