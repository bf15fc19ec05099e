import type { TextFormat } from '../metrics/metrics-text.ts'

/** The media type of each format. */
const MEDIA_TYPES: readonly (readonly [TextFormat, string])[] = [
  ['openmetrics', 'application/openmetrics-text'],
  ['prometheus', 'text/plain'],
]

/** Returns the format that an Accept header prefers. Default: the Prometheus text format. */
export function acceptedFormat(accept: string): TextFormat {
  let best: TextFormat = 'prometheus'
  let highest = 0
  for (const [format, mediaType] of MEDIA_TYPES) {
    const quality = qualityOf(accept, mediaType)
    if (quality > highest) {
      best = format
      highest = quality
    }
  }
  return best
}

/** Returns the highest quality of a media type in an Accept header, from 0 to 1. A header with wildcards alone gives 0. */
function qualityOf(accept: string, mediaType: string): number {
  const qualities = accept.split(',').map(range => {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    if (type !== mediaType) return 0
    const quality = parameters.find(parameter => parameter.startsWith('q='))?.slice(2)
    const value = quality === undefined ? 1 : Number(quality)
    return value >= 0 && value <= 1 ? value : 0
  })
  return Math.max(...qualities)
}
