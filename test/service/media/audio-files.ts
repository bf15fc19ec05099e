/** Small audio files, written byte by byte, and strict readers of FLAC and Ogg. */
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

/** Returns an Ogg file with a Vorbis stream of so many samples at 44.1 kHz. */
export function vorbisFile(samples: number): Uint8Array {
  const head = [1, ...ascii('vorbis'), ...little(0, 4), 1, ...little(44_100, 4), ...new Array(12).fill(0), 0xb8, 1]
  return bytes(oggPage(0, head, 0), oggPage(samples, [0], 1))
}

/** Returns an MP4 file of so many bytes. Only its first box is real. */
export function mp4File(size: number): Uint8Array {
  return bytes(big(20, 4), 'ftypM4A ', big(0, 4), 'M4A ', new Array<number>(size - 20).fill(0))
}

/** Returns a WebM file of so many bytes. Only its first bytes are real. */
export function webmFile(size: number): Uint8Array {
  return bytes([0x1a, 0x45, 0xdf, 0xa3, 0x87, 0x42, 0x82, 0x84], 'webm', new Array<number>(size - 12).fill(0))
}

/** Returns what music-metadata reads of an audio file. */
export async function parseAudio(
  file: Uint8Array,
): Promise<{ seconds: number | undefined; codec: string | undefined }> {
  const { format } = await parseBuffer(file, undefined, { duration: true })
  return { seconds: format.duration, codec: format.codec }
}

/** Counts the frames of a FLAC file. Throws Error for a wrong number or checksum, and for a frame that is not silent. */
export function countSilentFrames(file: Uint8Array): number {
  let number = 0
  for (let at = 42; at < file.length; number++) {
    const start = at
    if (file[at] !== 0xff || file[at + 1] !== 0xf8) throw new Error(`frame ${number} has no sync code`)
    at += 4
    const first = file[at++]!
    const followers = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3
    let coded = followers === 0 ? first : first & (0x3f >> followers)
    for (let i = 0; i < followers; i++) coded = coded * 64 + (file[at++]! & 0x3f)
    if (coded !== number) throw new Error(`frame ${number} says that it is ${coded}`)
    if (crcOf(file.subarray(start, at), 8, 0x07) !== file[at++]) throw new Error(`frame ${number} has a wrong header`)
    if (file[at++] || file[at++] || file[at++]) throw new Error(`frame ${number} is not silent`)
    const crc = crcOf(file.subarray(start, at), 16, 0x8005)
    if (crc !== ((file[at++]! << 8) | file[at++]!)) throw new Error(`frame ${number} has a wrong checksum`)
  }
  return number
}

interface OggPage {
  readonly flags: number
  readonly position: number
  readonly packets: readonly Buffer[]
}

/** Returns the pages of an Ogg file of one stream. Throws Error for a wrong checksum or number, or a packet in two pages. */
export function readOggPages(file: Uint8Array): OggPage[] {
  const pages: OggPage[] = []
  for (let at = 0; at < file.length; ) {
    const page = Buffer.from(file.subarray(at))
    const count = page[26]!
    const lengths = [...page.subarray(27, 27 + count)]
    const end = lengths.reduce((sum, length) => sum + length, 27 + count)
    if (page.toString('latin1', 0, 5) !== 'OggS\0') throw new Error(`no page at ${at}`)
    if (page.readUInt32LE(14) !== 1 || page.readUInt32LE(18) !== pages.length) throw new Error('a page is missing')
    if (lengths.includes(255)) throw new Error('a packet has several segments')
    const stated = page.readUInt32LE(22)
    page.writeUInt32LE(0, 22)
    if (crcOf(page.subarray(0, end), 32, 0x04c11db7) >>> 0 !== stated) throw new Error('a page has a wrong checksum')
    let start = 27 + count
    const packets = lengths.map(length => {
      start += length
      return page.subarray(start - length, start)
    })
    pages.push({ flags: page[5]!, position: Number(page.readBigInt64LE(6)), packets })
    at += end
  }
  return pages
}

function crcOf(content: Uint8Array, bits: number, polynomial: number): number {
  let crc = 0
  for (const byte of content) {
    crc ^= byte << (bits - 8)
    for (let i = 0; i < 8; i++) crc = crc & (1 << (bits - 1)) ? (crc << 1) ^ polynomial : crc << 1
    if (bits < 32) crc &= 2 ** bits - 1
  }
  return crc
}
