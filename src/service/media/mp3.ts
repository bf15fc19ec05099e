/**
 * MP3 (MPEG-2 layer III, 24 kHz, one channel, 32 kbit/s) of planned speech.
 *
 * An MP3 frame holds frequencies, not samples. The plan knows the frequencies of each frame, so they are written down
 * as they are, and no analysis of samples is needed.
 */
import { FRAME_SAMPLES, MAX_LOUDNESS, SAMPLE_RATE, type SpeechEncoder, type SpeechPlan } from './speech-plan.ts'

/** 72 × 32,000 ÷ 24,000, without padding. */
const FRAME_BYTES = 96
/** Sync, MPEG-2, layer III, no checksum; 32 kbit/s at 24 kHz; one channel. */
const HEADER = [0xff, 0xf3, 0x44, 0xc0] as const
const HEADER_BITS = HEADER.length * 8
const SIDE_INFO_BITS = 72
/** Hertz between two lines of the spectrum. */
const LINE_HERTZ = SAMPLE_RATE / 2 / FRAME_SAMPLES
/** The gain of a line at full loudness. Four steps less are half as loud. */
const FULL_GAIN = 198
/** Table 1 of the standard: a code and its length for two neighbouring lines, each 0 or 1. */
const CODES: readonly (readonly [code: number, bits: number])[] = [
  [1, 1],
  [1, 3],
  [1, 2],
  [0, 3],
]

/** Creates the encoder of MP3. */
export function createMp3Encoder(): SpeechEncoder {
  return { header: () => new Uint8Array(0), maxFrameBytes: FRAME_BYTES, createWriter }
}

function createWriter({ pitches, loudness, timbre }: SpeechPlan): ReturnType<SpeechEncoder['createWriter']> {
  let frame = 0
  return (out, offset) => {
    out.fill(0, offset, offset + FRAME_BYTES)
    const lines = loudness[frame] === 0 ? [] : linesOf(pitches[frame]!, timbre)
    const pairs = lines.length === 0 ? 0 : (lines.at(-1)! >> 1) + 1
    const data = new BitWriter(out, offset * 8 + HEADER_BITS + SIDE_INFO_BITS)
    for (let pair = 0; pair < pairs; pair++) {
      const first = lines.includes(pair * 2) ? 1 : 0
      const second = lines.includes(pair * 2 + 1) ? 1 : 0
      const [code, bits] = CODES[first * 2 + second]!
      data.write(code, bits)
      // The signs follow, for lines with a value. Odd frames turn every other line, so that tones go on.
      for (let sign = first + second; sign > 0; sign--) data.write((frame + pair) & 1, 1)
    }
    const dataBits = data.position - (offset * 8 + HEADER_BITS + SIDE_INFO_BITS)
    out.set(HEADER, offset)
    const side = new BitWriter(out, offset * 8 + HEADER_BITS)
    // The data begins in this frame; no private bits.
    side.write(0, 9)
    side.write(dataBits, 12)
    side.write(pairs, 9)
    side.write(gainOf(loudness[frame]!), 8)
    // No scale factors; long blocks.
    side.write(0, 10)
    // Table 1 in all three regions, which end at bands 8 and 16.
    for (const table of [1, 1, 1]) side.write(table, 5)
    side.write(7, 4)
    side.write(7, 3)
    side.write(0, 2)
    frame++
    return offset + FRAME_BYTES
  }
}

/** Returns the lines of a pitch and its audible harmonics, in order. */
function linesOf(pitch: number, timbre: readonly number[]): number[] {
  const lines = timbre.flatMap((weight, index) => (weight < 4 ? [] : [Math.round((pitch * (index + 1)) / LINE_HERTZ)]))
  return [...new Set(lines)].sort((a, b) => a - b)
}

function gainOf(loudness: number): number {
  if (loudness === 0) return 0
  return loudness === MAX_LOUDNESS ? FULL_GAIN : FULL_GAIN - 4
}

/** Writes bits from the highest down, over zeros. */
class BitWriter {
  readonly #bytes: Uint8Array
  position: number

  constructor(bytes: Uint8Array, position: number) {
    this.#bytes = bytes
    this.position = position
  }

  write(value: number, bits: number): void {
    for (let bit = bits - 1; bit >= 0; bit--) {
      if ((value >> bit) & 1) this.#bytes[this.position >> 3]! |= 0x80 >> (this.position & 7)
      this.position++
    }
  }
}
