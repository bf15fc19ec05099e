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

/**
 * Lists of a few items that are replaced and never changed, such as the instances of a deployment. A spread and `filter`
 * leave room for 17 more items, which is most of what such a list takes.
 */

/** Returns a list with an item at its end. */
export function withItem<Item>(list: readonly Item[], item: Item): readonly Item[] {
  switch (list.length) {
    case 0:
      return [item]
    case 1:
      return [list[0]!, item]
    case 2:
      return [list[0]!, list[1]!, item]
    case 3:
      return [list[0]!, list[1]!, list[2]!, item]
    default:
      return list.toSpliced(list.length, 0, item)
  }
}

/** Returns a list without an item, which it has at most once. */
export function withoutItem<Item>(list: readonly Item[], item: Item): readonly Item[] {
  const place = list.indexOf(item)
  if (place < 0) return list
  const at = (index: number) => list[index < place ? index : index + 1]!
  switch (list.length) {
    case 1:
      return []
    case 2:
      return [at(0)]
    case 3:
      return [at(0), at(1)]
    case 4:
      return [at(0), at(1), at(2)]
    default:
      return list.toSpliced(place, 1)
  }
}
