/**
 * Returns a time in the format of the wire: ISO 8601 with microseconds and offset.
 *
 * @param epochMs integer milliseconds since 1970-01-01T00:00:00Z
 * @param micros microseconds since then
 * @example formatIsoTime(1_767_225_600_000, 30_000_000) === '2026-01-01T00:00:30.000000+00:00'
 */
export function formatIsoTime(epochMs: number, micros: number): string {
  const total = epochMs * 1000 + micros
  const seconds = Math.floor(total / 1_000_000)
  const fraction = String(total - seconds * 1_000_000).padStart(6, '0')
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${fraction}+00:00`
}
