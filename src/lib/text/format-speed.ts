import { formatCount } from './format-count.ts'

/** What the speed of an engine is, and how sure that is. */
interface EngineSpeed {
  readonly class: string
  readonly tokens_per_second: number
  readonly band: number | null
  readonly rows: number
}

/** Returns a speed in words: `2,900 tokens/s ± 20 %, tuned, validated on 297 rows`. */
export function formatSpeed({ class: engineClass, tokens_per_second, band, rows }: EngineSpeed): string {
  const speed = `${formatCount(Math.round(tokens_per_second))} tokens/s`
  if (band === null) return `${speed}, not validated, ${engineClass}`
  return `${speed} ± ${Math.round(100 * band)} %, ${engineClass}, validated on ${rows === 0 ? 'held-out' : rows} rows`
}
