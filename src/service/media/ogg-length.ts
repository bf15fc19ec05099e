import { type ByteReader, MalformedAudioError } from './byte-reader.ts'

/** Opus counts its positions at this rate, at whatever rate it was recorded. */
const OPUS_RATE = 48_000

/** Returns the seconds of an Ogg file: the position of its last page by the rate of its first packet. */
export function readOggSeconds(reader: ByteReader): number {
  // The first page: a header of 27 bytes, the sizes of its segments, then its packet.
  const packet = 27 + reader.uint8(26)
  const { rate, skipped } = readFirstPacket(reader, packet)
  if (rate === 0) throw new MalformedAudioError('its sample rate is 0')
  return Math.max(0, findLastPosition(reader) - skipped) / rate
}

function readFirstPacket(reader: ByteReader, packet: number): { rate: number; skipped: number } {
  if (reader.hasText(packet, 'OpusHead')) {
    return { rate: OPUS_RATE, skipped: reader.uint8(packet + 10) + reader.uint8(packet + 11) * 256 }
  }
  if (reader.hasText(packet, '\u0001vorbis')) return { rate: reader.uint32LittleEndian(packet + 12), skipped: 0 }
  if (reader.hasText(packet, 'Speex   ')) return { rate: reader.uint32LittleEndian(packet + 36), skipped: 0 }
  if (reader.hasText(packet, '\u007fFLAC')) return { rate: reader.uint32(packet + 27) >>> 12, skipped: 0 }
  throw new MalformedAudioError('its codec is not Opus, Vorbis, Speex or FLAC')
}

/** Returns the position of the last page that has one. A page without the end of a packet has all bits set. */
function findLastPosition(reader: ByteReader): number {
  for (let page = reader.lastIndexOf('OggS'); page >= 0; page = reader.lastIndexOf('OggS', page)) {
    if (page + 14 > reader.length) continue
    const low = reader.uint32LittleEndian(page + 6)
    const high = reader.uint32LittleEndian(page + 10)
    if (low !== 0xffff_ffff || high !== 0xffff_ffff) return high * 4_294_967_296 + low
  }
  throw new MalformedAudioError('no page has a position')
}
