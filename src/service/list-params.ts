import * as z from 'zod'
import { DAY, HOUR, MINUTE, type Micros, SECOND } from '../kernel/duration.ts'
import type { World } from '../simulation/world.ts'
import { refuse, refuseInput, rejectInput } from './refusals.ts'

const TIME_PATTERN = /^(?:\d{1,12}(?:\.\d{1,9})?|now(?:-\d{1,9}[smhdwM])?)$/
const UNITS: Readonly<Record<string, Micros>> = {
  s: SECOND,
  m: MINUTE,
  h: HOUR,
  d: DAY,
  w: 7 * DAY,
  M: 30 * DAY,
}

/** What is assumed of each endpoint with such a window. */
export const WINDOW_ASSUMPTIONS = [
  'from and to: Unix seconds, also with a fraction, now, or now-5h; units are s, m, h, d, w (7 d), M (30 d)',
  'a later end than now means now; from later than to is 422',
] as const

/** A moment in a query string; a client may give a number. */
export function timeParam(): z.ZodType<string, string | number> {
  return z.preprocess(
    value => (typeof value === 'number' ? String(value) : value),
    z
      .string()
      .refine(value => TIME_PATTERN.test(value), 'a time should be Unix seconds, now, or as in now-5h')
      .describe('Unix seconds, or now-5h with s, m, h, d, w, M'),
  ) as unknown as z.ZodType<string, string | number>
}

/**
 * The window between two such moments: no end of it before the account was opened, or to come.
 *
 * @param longest the longest window in microseconds; a longer one is refused with 400. Default: any length.
 */
export function parseWindow(
  world: World,
  from: string | undefined,
  to: string,
  longest = Number.POSITIVE_INFINITY,
): { readonly from: Micros; readonly to: Micros } {
  const end = parseTime(world, to)
  const window = { from: from === undefined ? end - longest : parseTime(world, from), to: end }
  if (window.to - window.from > longest) {
    refuseInput(400, `from and to are more than ${longest / DAY} days apart`)
  }
  if (window.from > window.to)
    rejectInput(['query', 'from'], `Value error, from (${from}) should not be later than to (${to})`)
  const clip = (at: Micros) => Math.min(Math.max(world.ledger.past.openedAt, at), world.clock.now)
  return { from: clip(window.from), to: clip(window.to) }
}

function parseTime({ clock }: World, text: string): Micros {
  if (!text.startsWith('now')) return Math.round(clock.fromUnix(Number(text)))
  const [, count = '0', unit = 's'] = /^now-(\d+)(.)$/.exec(text) ?? []
  return clock.now - Number(count) * UNITS[unit]!
}

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
