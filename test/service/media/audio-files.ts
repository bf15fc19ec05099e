/** Small audio files, written byte by byte, and a strict reader of FLAC. */
import { parseBuffer } from 'music-metadata'

const ascii = (text: string) => [...text].map(character => character.charCodeAt(0))
const big = (value: number, bytes: number) =>
  Array.from({ length: bytes }, (_, index) => Math.floor(value / 256 ** (bytes - 1 - index)) % 256)
const little = (value: number, bytes: number) => big(value, bytes).reverse()
const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Uint8Array.from(parts.flatMap(part => (typeof part === 'string' ? ascii(part) : part)))

/** Returns a WAV file of silence. `dataSize` is what its header says. */
export function wavFile({ seconds = 1, rate = 8_000, dataSize = Math.round(seconds * rate) } = {}): Uint8Array {
  const fmt = [
    ...little(1, 2),
    ...little(1, 2),
    ...little(rate, 4),
    ...little(rate, 4),
    ...little(1, 2),
    ...little(8, 2),
  ]
  const data = new Array<number>(Math.round(seconds * rate)).fill(128)
  return bytes('RIFF', little(36 + dataSize, 4), 'WAVEfmt ', little(16, 4), fmt, 'data', little(dataSize, 4), data)
}

function oggPage(position: number, packet: readonly number[], index: number): number[] {
  const header = [
    ...ascii('OggS'),
    0,
    index === 0 ? 2 : 4,
    ...little(position, 8),
    ...little(1, 4),
    ...little(index, 4),
  ]
  return [...header, 0, 0, 0, 0, 1, packet.length, ...packet]
}

/** Returns an Ogg file with an Opus stream of so many samples at 48 kHz. */
export function opusFile(samples: number, skipped = 312): Uint8Array {
  const head = [...ascii('OpusHead'), 1, 1, ...little(skipped, 2), ...little(48_000, 4), 0, 0, 0]
  return bytes(oggPage(0, head, 0), oggPage(samples + skipped, [0xf8, 0xff, 0xfe], 1))
}

/** Returns an Ogg file with a Vorbis stream of so many samples at 44.1 kHz, whose last page has no position. */
export function vorbisFile(samples: number): Uint8Array {
  const head = [1, ...ascii('vorbis'), ...little(0, 4), 1, ...little(44_100, 4), ...new Array(12).fill(0), 0xb8, 1]
  const withoutPosition = oggPage(0, [1, 2, 3], 2)
  withoutPosition.fill(0xff, 6, 14)
  return bytes(oggPage(0, head, 0), oggPage(samples, [0], 1), withoutPosition)
}

const box = (type: string, ...content: readonly (readonly number[])[]) => {
  const body = content.flat()
  return [...big(8 + body.length, 4), ...ascii(type), ...body]
}

/** Returns an MP4 file whose header states a length in thousandths. */
export function mp4File(duration: number, { isLong = false, isFragmented = false } = {}): Uint8Array {
  const stated = isFragmented ? 0 : duration
  const times = isLong
    ? [1, 0, 0, 0, ...new Array(16).fill(0), ...big(1000, 4), ...big(stated, 8)]
    : [0, 0, 0, 0, ...new Array(8).fill(0), ...big(1000, 4), ...big(stated, 4)]
  const movie = [box('mvhd', times, new Array(80).fill(0))]
  if (isFragmented) movie.push(box('mvex', box('mehd', [0, 0, 0, 0], big(duration, 4))))
  return bytes(box('ftyp', ascii('M4A '), big(0, 4), ascii('M4A ')), box('free', [0, 0]), box('moov', ...movie))
}

const element = (id: readonly number[], content: readonly number[]) => [
  ...id,
  0x10 | (content.length >> 24),
  (content.length >> 16) & 0xff,
  (content.length >> 8) & 0xff,
  content.length & 0xff,
  ...content,
]
const UNKNOWN_SIZE = [0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]

/** Returns a WebM file that states its length in milliseconds. */
export function webmFile(milliseconds: number): Uint8Array {
  const duration = new Uint8Array(8)
  new DataView(duration.buffer).setFloat64(0, milliseconds)
  const info = [...element([0x2a, 0xd7, 0xb1], [0x0f, 0x42, 0x40]), ...element([0x44, 0x89], [...duration])]
  return bytes(WEBM_HEAD, element([0x18, 0x53, 0x80, 0x67], element([0x15, 0x49, 0xa9, 0x66], info)))
}

/** Returns a WebM file as a browser records it: sizes and length unknown, one block in each cluster of a second. */
export function recordedWebmFile(clusters: number): Uint8Array {
  const parts = Array.from({ length: clusters }, (_, index) => [
    ...[0x1f, 0x43, 0xb6, 0x75, ...UNKNOWN_SIZE],
    ...element([0xe7], big(index * 1000, 4)),
    ...element([0xa3], [0x81, ...big(960, 2), 0x80, 1, 2, 3]),
  ])
  return bytes(WEBM_HEAD, [0x18, 0x53, 0x80, 0x67], UNKNOWN_SIZE, parts.flat())
}

const WEBM_HEAD = element([0x1a, 0x45, 0xdf, 0xa3], element([0x42, 0x82], ascii('webm')))

/** Returns what music-metadata reads of an audio file. */
export async function parseAudio(
  file: Uint8Array,
): Promise<{ seconds: number | undefined; codec: string | undefined }> {
  const { format } = await parseBuffer(file, undefined, { duration: true })
  return { seconds: format.duration, codec: format.codec }
}

/**
 * Returns the samples of a FLAC file of one channel with 16 bits. Throws Error if a checksum is wrong, or if a frame is
 * not constant or verbatim.
 */
export function decodeFlac(file: Uint8Array): number[] {
  const samples: number[] = []
  let at = 42
  for (let number = 0; at < file.length; number++) {
    const start = at
    if (file[at] !== 0xff || file[at + 1] !== 0xf8) throw new Error(`frame ${number} has no sync code`)
    at += 4
    const first = file[at++]!
    const followers = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3
    let coded = followers === 0 ? first : first & (0x3f >> followers)
    for (let i = 0; i < followers; i++) coded = coded * 64 + (file[at++]! & 0x3f)
    if (coded !== number) throw new Error(`frame ${number} says that it is ${coded}`)
    if (crcOf(file.subarray(start, at), 8, 0x07) !== file[at++]) throw new Error(`frame ${number} has a wrong header`)
    const subframe = file[at++]
    const read = () => (((file[at++]! << 8) | file[at++]!) << 16) >> 16
    if (subframe === 0) samples.push(...new Array<number>(576).fill(read()))
    else if (subframe === 2) for (let i = 0; i < 576; i++) samples.push(read())
    else throw new Error(`frame ${number} has the subframe ${subframe}`)
    const crc = crcOf(file.subarray(start, at), 16, 0x8005)
    if (crc !== ((file[at++]! << 8) | file[at++]!)) throw new Error(`frame ${number} has a wrong checksum`)
  }
  return samples
}

function crcOf(content: Uint8Array, bits: number, polynomial: number): number {
  let crc = 0
  for (const byte of content) {
    crc ^= byte << (bits - 8)
    for (let i = 0; i < 8; i++) crc = crc & (1 << (bits - 1)) ? (crc << 1) ^ polynomial : crc << 1
    crc &= 2 ** bits - 1
  }
  return crc
}
