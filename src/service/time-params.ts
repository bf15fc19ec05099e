/** Moments of queries: Unix seconds, or so long before now. */
import * as z from 'zod'
import { DAY, HOUR, MINUTE, type Micros, SECOND } from '../kernel/duration.ts'
import type { World } from '../simulation/world.ts'
import { rejectInput } from './refusals.ts'

const TIME_PATTERN = /^(?:\d{1,12}|now(?:-\d{1,9}[smhdwM])?)$/
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
  'from and to: Unix seconds, now, or now-5h; units are s, m, h, d, w (7 d), M (30 d)',
  'a later end than now means now; from later than to is 422',
] as const

/** A moment in a query string; a client may give a number. */
export function timeParam(): z.ZodType<string, string | number> {
  return z.preprocess(
    value => (typeof value === 'number' ? String(value) : value),
    z.string().regex(TIME_PATTERN).describe('Unix seconds, or now-5h with s, m, h, d, w, M'),
  ) as unknown as z.ZodType<string, string | number>
}

/** The window between two such moments: no end of it before the account was opened, or to come. */
export function parseWindow(world: World, from: string, to: string): { readonly from: Micros; readonly to: Micros } {
  const window = { from: parseTime(world, from), to: parseTime(world, to) }
  if (window.from > window.to)
    rejectInput(['query', 'from'], `Value error, from (${from}) should not be later than to (${to})`)
  const clip = (at: Micros) => Math.min(Math.max(world.ledger.past.openedAt, at), world.clock.now)
  return { from: clip(window.from), to: clip(window.to) }
}

function parseTime({ clock }: World, text: string): Micros {
  if (!text.startsWith('now')) return clock.fromUnix(Number(text))
  const [, count = '0', unit = 's'] = /^now-(\d+)(.)$/.exec(text) ?? []
  return clock.now - Number(count) * UNITS[unit]!
}
