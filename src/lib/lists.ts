/** Returns the items by key, in the order of their first items. `Map.groupBy` is missing in Node 20. */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** Returns how many of the first `length` items hold, by bisection: each item before one that holds has to hold, too. */
export function countWhile(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Lists of a few items that are replaced and never changed, such as the instances of a deployment. A spread and `filter`
 * leave room for 17 more items, which is most of what such a list takes. `toSpliced` does not.
 */

/** Returns a list with an item at its end. */
export function withItem<Item>(list: readonly Item[], item: Item): readonly Item[] {
  return list.toSpliced(list.length, 0, item)
}

/** Returns a list without an item, which it has at most once. */
export function withoutItem<Item>(list: readonly Item[], item: Item): readonly Item[] {
  const place = list.indexOf(item)
  return place < 0 ? list : list.toSpliced(place, 1)
}

/** Returns a copy of numbers with more room at its end. */
export function widened<Numbers extends Float64Array | Int32Array | Uint16Array>(
  old: Numbers,
  length: number,
): Numbers {
  const wider = new (old.constructor as new (length: number) => Numbers)(length)
  wider.set(old)
  return wider
}
