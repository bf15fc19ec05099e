/** The length of uploaded audio: what its header states, or its size by a bit rate. Samples are never decoded. */
import { concatBytes } from '../../lib/bytes.ts'

/** The length of an audio file, or why it cannot be read. */
export type AudioLength = { readonly seconds: number } | { readonly problem: string }

/** Bytes per second of MP4 and WebM: 64 kbit/s, as recorders of speech use (A). */
const ASSUMED_RATE = 8_000
/** Every header takes at least so many bytes. */
const MIN_BYTES = 44

/** Each format by its first bytes. `readSeconds` returns no positive number if the header states no length. */
const FORMATS: readonly {
  readonly name: string
  readonly start: RegExp
  readonly readSeconds: (bytes: Uint8Array, view: DataView) => number
}[] = [
  { name: 'WAV', start: /^RIFF.{4}WAVE/s, readSeconds: readWavSeconds },
  { name: 'MP3', start: /^(?:ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/, readSeconds: readMp3Seconds },
  { name: 'FLAC', start: /^fLaC/, readSeconds: readFlacSeconds },
  { name: 'Ogg', start: /^OggS/, readSeconds: readOggSeconds },
  { name: 'MP4', start: /^.{4}ftyp/s, readSeconds: ({ length }) => length / ASSUMED_RATE },
  { name: 'WebM', start: /^.E\xdf\xa3/s, readSeconds: ({ length }) => length / ASSUMED_RATE },
]

/** Returns the length of an audio file in seconds, by its content and not by its name. */
export function readAudioLength(chunks: readonly Uint8Array[]): AudioLength {
  const bytes = concatBytes(chunks)
  if (bytes.length === 0) return { problem: 'it is empty' }
  const start = toText(bytes.subarray(0, MIN_BYTES))
  const format = FORMATS.find(one => one.start.test(start))
  if (format === undefined) {
    return { problem: `its format is unknown: send ${FORMATS.map(({ name }) => name).join(', ')}` }
  }
  const seconds = bytes.length < MIN_BYTES ? 0 : format.readSeconds(bytes, new DataView(bytes.buffer))
  if (seconds > 0 && Number.isFinite(seconds)) return { seconds }
  return { problem: `it is ${format.name}, and its header states no length` }
}

/** Returns a character for each byte. */
function toText(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes)
}

function readWavSeconds({ length }: Uint8Array, view: DataView): number {
  let rate = 0
  for (let at = 12; at + 8 <= length; ) {
    const [type, size] = [view.getUint32(at), view.getUint32(at + 4, true)]
    if (type === 0x666d7420 && at + 20 <= length) rate = view.getUint32(at + 16, true)
    // A stream states no size of its data, or the largest.
    if (type === 0x64617461) return Math.min(size || length, length - at - 8) / rate
    at += 8 + size + (size & 1)
  }
  return 0
}

/** Kilobits per second of layer III, by the index in the header of a frame: of MPEG-1, and of MPEG-2 and 2.5. */
const MP3_KILOBITS = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const

/** Returns the seconds at the bit rate of the first frame, which follows the tag. */
function readMp3Seconds(bytes: Uint8Array): number {
  const isTagged = bytes[0] === 0x49
  const tag = isTagged ? [6, 7, 8, 9].reduce((size, at) => (size << 7) | (bytes[at]! & 0x7f), 0) + 10 : 0
  const [sync = 0, version = 0, rate = 0] = bytes.subarray(tag)
  if (sync !== 0xff || (version & 0xe6) !== 0xe2) return 0
  const kilobits = MP3_KILOBITS[(version & 0x18) === 0x18 ? 0 : 1][rate >> 4] ?? 0
  return (bytes.length - tag) / (kilobits * 125)
}

function readFlacSeconds(bytes: Uint8Array, view: DataView): number {
  const samples = (bytes[21]! & 0xf) * 4_294_967_296 + view.getUint32(22)
  return samples / (view.getUint32(18) >>> 12)
}

/** Returns the position of the last page by the rate of Opus or Vorbis. */
function readOggSeconds(bytes: Uint8Array, view: DataView): number {
  const isOpus = view.getUint32(28) === 0x4f707573
  const isVorbis = view.getUint32(28) === 0x01766f72
  // A page has at most 65,307 bytes, and its position is in bytes 6 to 13.
  const from = Math.max(0, bytes.length - 65_307)
  const page = from + toText(bytes.subarray(from, -10)).lastIndexOf('OggS')
  if (page < from || !(isOpus || isVorbis)) return 0
  const position = Number(view.getBigInt64(page + 6, true))
  return isOpus ? (position - view.getUint16(38, true)) / 48_000 : position / view.getUint32(40, true)
}
