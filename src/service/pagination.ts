/** Lists that are read a page at a time. */
import { refuse } from './refusals.ts'

/** A page of a list, as `listOf` describes it. */
export interface Page<Entry> {
  object: 'list'
  data: Entry[]
  has_more: boolean
  first_id: string | null
  last_id: string | null
}

/**
 * The entries that follow the one named `after`, at most `limit` of them.
 *
 * @throws RefusalError 404 if no entry has that id
 */
export function paginate<Entry extends { readonly id: string }, Item>(
  entries: readonly Entry[],
  { after, limit }: { after?: string | undefined; limit: number },
  toItem: (entry: Entry) => Item,
): Page<Item> {
  const afterIndex = after === undefined ? -1 : entries.findIndex(({ id }) => id === after)
  if (after !== undefined && afterIndex < 0) refuse(404, `nothing in this list has the id '${after}' of after`)
  const page = entries.slice(afterIndex + 1, afterIndex + 1 + limit)
  return {
    object: 'list',
    data: page.map(toItem),
    has_more: afterIndex + 1 + limit < entries.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}
