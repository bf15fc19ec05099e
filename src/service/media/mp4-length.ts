import { type ByteReader, MalformedAudioError } from './byte-reader.ts'

interface Box {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** Returns the seconds that the header of an MP4 file states. */
export function readMp4Seconds(reader: ByteReader): number {
  const movie = findBox(reader, 'moov', 0, reader.length)
  const header = findBox(reader, 'mvhd', movie.start, movie.end)
  const isLong = reader.uint8(header.start) === 1
  const timescale = reader.uint32(header.start + (isLong ? 20 : 12))
  const duration = isLong ? reader.uint64(header.start + 24) : reader.uint32(header.start + 16)
  if (timescale === 0) throw new MalformedAudioError('its timescale is 0')
  if (duration > 0) return duration / timescale
  // A file in fragments states its length in a box of its own.
  const fragments = findBox(reader, 'mehd', findBox(reader, 'mvex', movie.start, movie.end).start, movie.end)
  const isLongFragment = reader.uint8(fragments.start) === 1
  return (isLongFragment ? reader.uint64(fragments.start + 4) : reader.uint32(fragments.start + 4)) / timescale
}

function findBox(reader: ByteReader, type: string, from: number, to: number): Box {
  for (let offset = from; offset + 8 <= to; ) {
    const size = reader.uint32(offset)
    // 1 announces a longer number, 0 the rest of the file.
    const length = size === 1 ? reader.uint64(offset + 8) : size === 0 ? to - offset : size
    const headerBytes = size === 1 ? 16 : 8
    if (length < headerBytes) break
    if (reader.hasText(offset + 4, type))
      return { type, start: offset + headerBytes, end: Math.min(to, offset + length) }
    offset += length
  }
  throw new MalformedAudioError(`its box ${type} is missing`)
}
