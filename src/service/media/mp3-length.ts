import { type ByteReader, MalformedAudioError } from './byte-reader.ts'

/** Kilobits per second by the index of a frame header: layers I, II and III of MPEG-1, then I and the others of MPEG-2. */
const BITRATES = {
  layer1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  layer2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  layer3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  lowLayer1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  low: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const
/** Samples per second by the index of a frame header, for MPEG-1. MPEG-2 has half of it, MPEG-2.5 a quarter. */
const RATES = [44_100, 48_000, 32_000] as const
/** Bytes without a frame that may be between the tag and the first frame. */
const MAX_GAP = 65_536

const SUMMARY_OFFSETS = [13, 21, 36] as const

interface Mp3Frame {
  readonly bytes: number
  readonly seconds: number
}

/** Returns the seconds of all frames of an MP3 file. */
export function readMp3Seconds(reader: ByteReader): number {
  let offset = findFirstFrame(reader, skipTag(reader))
  let seconds = 0
  while (offset + 4 <= reader.length) {
    const frame = parseFrame(reader, offset)
    // What follows the last frame is a tag.
    if (frame === undefined) break
    if (!isSummary(reader, offset)) seconds += frame.seconds
    offset += frame.bytes
  }
  return seconds
}

/** Returns the offset behind an ID3 tag at the start. */
function skipTag(reader: ByteReader): number {
  if (!reader.hasText(0, 'ID3')) return 0
  const size = [6, 7, 8, 9].reduce((sum, offset) => (sum << 7) | (reader.uint8(offset) & 0x7f), 0)
  return 10 + size
}

/** Tells whether a frame has no audio, but a summary of the file. Its offset depends on version and channels. */
function isSummary(reader: ByteReader, offset: number): boolean {
  return SUMMARY_OFFSETS.some(at => reader.hasText(offset + at, 'Xing') || reader.hasText(offset + at, 'Info'))
}

function findFirstFrame(reader: ByteReader, start: number): number {
  const end = Math.min(reader.length - 4, start + MAX_GAP)
  for (let offset = start; offset <= end; offset++) {
    const frame = parseFrame(reader, offset)
    if (frame === undefined) continue
    const next = offset + frame.bytes
    // Two bytes can look like a frame by chance, so the next one must be there too.
    if (next + 4 > reader.length || parseFrame(reader, next) !== undefined) return offset
  }
  throw new MalformedAudioError('it has no frame')
}

/** Returns the frame whose header is at an offset; undefined if none begins there. */
function parseFrame(reader: ByteReader, offset: number): Mp3Frame | undefined {
  const header = reader.uint32(offset)
  if (header >>> 21 !== 0x7ff) return undefined
  const version = (header >>> 19) & 3
  const layer = 4 - ((header >>> 17) & 3)
  const bitrateIndex = (header >>> 12) & 15
  const rateIndex = (header >>> 10) & 3
  if (version === 1 || layer === 4 || bitrateIndex === 0 || bitrateIndex === 15 || rateIndex === 3) return undefined
  const isFirst = version === 3
  const rate = RATES[rateIndex as 0 | 1 | 2] / (isFirst ? 1 : version === 2 ? 2 : 4)
  const low = layer === 1 ? BITRATES.lowLayer1 : BITRATES.low
  const table = isFirst ? [BITRATES.layer1, BITRATES.layer2, BITRATES.layer3][layer - 1]! : low
  const bitrate = table[bitrateIndex]! * 1000
  const samples = layer === 1 ? 384 : layer === 3 && !isFirst ? 576 : 1152
  const slot = layer === 1 ? 4 : 1
  const padding = (header >>> 9) & 1
  const bytes = (Math.floor((samples / 8 / slot) * (bitrate / rate)) + padding) * slot
  return { bytes, seconds: samples / rate }
}
