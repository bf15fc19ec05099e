import { formatCount } from '../../lib/format-count.ts'

/** Returns a count with its thing: `1 run`, `20,000 runs`. */
export function plural(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? '' : 's'}`
}
