/** The length of uploaded audio, read from its headers. Samples are never decoded. */
import { ByteReader, MalformedAudioError } from './byte-reader.ts'
import { readMp3Seconds } from './mp3-length.ts'
import { readMp4Seconds } from './mp4-length.ts'
import { readOggSeconds } from './ogg-length.ts'
import { readWebmSeconds } from './webm-length.ts'

/** The formats whose length can be read. */
export const READABLE_FORMATS = ['WAV', 'MP3', 'FLAC', 'Ogg (Opus, Vorbis, Speex, FLAC)', 'MP4 (M4A)', 'WebM'] as const

/** The length of an audio file, or why it cannot be read. */
export type AudioLength = { readonly seconds: number } | { readonly problem: string }

/** Each format by its first bytes, in the order of trial. */
const READERS: readonly {
  readonly name: string
  readonly matches: (reader: ByteReader) => boolean
  readonly readSeconds: (reader: ByteReader) => number
}[] = [
  {
    name: 'WAV',
    matches: reader => reader.hasText(0, 'RIFF') && reader.hasText(8, 'WAVE'),
    readSeconds: readWavSeconds,
  },
  { name: 'FLAC', matches: reader => reader.hasText(0, 'fLaC'), readSeconds: reader => readFlacSeconds(reader, 4) },
  { name: 'Ogg', matches: reader => reader.hasText(0, 'OggS'), readSeconds: readOggSeconds },
  { name: 'MP4', matches: reader => reader.hasText(4, 'ftyp'), readSeconds: readMp4Seconds },
  {
    name: 'WebM',
    matches: reader => reader.length >= 4 && reader.uint32(0) === 0x1a45dfa3,
    readSeconds: readWebmSeconds,
  },
  {
    name: 'MP3',
    matches: reader => reader.hasText(0, 'ID3') || (reader.length >= 2 && (reader.uint16(0) & 0xffe0) === 0xffe0),
    readSeconds: readMp3Seconds,
  },
]

/** Returns the length of an audio file in seconds, by its content and not by its name. */
export function readAudioLength(chunks: readonly Uint8Array[]): AudioLength {
  const reader = new ByteReader(joinChunks(chunks))
  if (reader.length === 0) return { problem: 'it is empty' }
  const format = READERS.find(({ matches }) => matches(reader))
  if (format === undefined) {
    return { problem: `its format is unknown: send ${READABLE_FORMATS.join(', ')}` }
  }
  try {
    const seconds = format.readSeconds(reader)
    if (!(seconds > 0) || !Number.isFinite(seconds)) return { problem: `it is ${format.name} without audio` }
    return { seconds }
  } catch (error) {
    if (!(error instanceof MalformedAudioError)) throw error
    return { problem: `it is invalid ${format.name}: ${error.message}` }
  }
}

function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  if (chunks.length === 1) return chunks[0]!
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

function readWavSeconds(reader: ByteReader): number {
  let bytesPerSecond = 0
  for (let offset = 12; offset + 8 <= reader.length; ) {
    const size = reader.uint32LittleEndian(offset + 4)
    if (reader.hasText(offset, 'fmt ')) bytesPerSecond = reader.uint32LittleEndian(offset + 16)
    if (reader.hasText(offset, 'data')) {
      if (bytesPerSecond === 0) throw new MalformedAudioError('its chunk fmt is missing, or names 0 bytes per second')
      // A stream states no size, or the largest.
      const rest = reader.length - offset - 8
      return (size === 0 ? rest : Math.min(size, rest)) / bytesPerSecond
    }
    offset += 8 + size + (size & 1)
  }
  throw new MalformedAudioError('its chunk data is missing')
}

/** Returns the seconds of a FLAC stream whose first metadata block, STREAMINFO, begins at `offset`. */
function readFlacSeconds(reader: ByteReader, offset: number): number {
  if ((reader.uint8(offset) & 0x7f) !== 0) throw new MalformedAudioError('its block STREAMINFO is missing')
  const rate = reader.uint32(offset + 14) >>> 12
  const samples = (reader.uint8(offset + 17) & 0xf) * 4_294_967_296 + reader.uint32(offset + 18)
  if (rate === 0) throw new MalformedAudioError('its sample rate is 0')
  if (samples === 0) throw new MalformedAudioError('its header states no number of samples')
  return samples / rate
}
