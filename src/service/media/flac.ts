/** FLAC: frames whose samples are as they are, or constant in silence (RFC 9639). */
import { isSilent, Oscillator } from './oscillator.ts'
import { FRAME_SAMPLES, SAMPLE_RATE, type SpeechEncoder, type SpeechPlan } from './speech-plan.ts'

/** Sync code with blocks of one size; then the codes of 576 samples and 24 kHz; then one channel of 16 bits. */
const FRAME_START = [0xff, 0xf8, 0x27, 0x08] as const
const CONSTANT_SUBFRAME = 0x00
const VERBATIM_SUBFRAME = 0x02
/** A frame number takes up to 4 bytes for 2 million frames, which are 14 hours. */
const MAX_OVERHEAD = FRAME_START.length + 4 + 1 + 1 + 2

const CRC8 = createCrcTable(8, 0x07)
const CRC16 = createCrcTable(16, 0x8005)

/** Creates the encoder of FLAC. */
export function createFlacEncoder(): SpeechEncoder {
  return { header: createHeader, maxFrameBytes: FRAME_SAMPLES * 2 + MAX_OVERHEAD, createWriter }
}

function createHeader(frames: number): Uint8Array {
  const header = new Uint8Array(42)
  const view = new DataView(header.buffer)
  header.set([0x66, 0x4c, 0x61, 0x43])
  // The last metadata block, STREAMINFO, of 34 bytes.
  view.setUint32(4, 0x80_00_00_22)
  view.setUint16(8, FRAME_SAMPLES)
  view.setUint16(10, FRAME_SAMPLES)
  // The sizes of frames stay 0, which means unknown, and so does the MD5 sum.
  const samples = frames * FRAME_SAMPLES
  // 20 bits of rate, 3 of channels - 1, 5 of bits - 1, 36 of samples.
  view.setUint32(18, (SAMPLE_RATE << 12) | (15 << 4) | (Math.floor(samples / 4_294_967_296) & 0xf))
  view.setUint32(22, samples >>> 0)
  return header
}

function createWriter(plan: SpeechPlan): ReturnType<SpeechEncoder['createWriter']> {
  const oscillator = new Oscillator(plan)
  let number = 0
  return (out, offset) => {
    const samples = oscillator.next()
    let at = offset
    for (const byte of FRAME_START) out[at++] = byte
    at = writeFrameNumber(out, at, number)
    out[at] = crc8(out, offset, at)
    at++
    if (isSilent(plan, number)) {
      out[at++] = CONSTANT_SUBFRAME
      out[at++] = 0
      out[at++] = 0
    } else {
      out[at++] = VERBATIM_SUBFRAME
      for (let i = 0; i < FRAME_SAMPLES; i++) {
        const sample = samples[i]!
        out[at++] = (sample >> 8) & 0xff
        out[at++] = sample & 0xff
      }
    }
    const check = crc16(out, offset, at)
    out[at++] = check >> 8
    out[at++] = check & 0xff
    number++
    return at
  }
}

/** Writes a frame number in the form of UTF-8. */
function writeFrameNumber(out: Uint8Array, offset: number, number: number): number {
  let at = offset
  if (number < 0x80) {
    out[at++] = number
    return at
  }
  const followers = number < 0x800 ? 1 : number < 0x1_0000 ? 2 : 3
  out[at++] = ((0xff00 >> (followers + 1)) & 0xff) | (number >> (6 * followers))
  for (let i = followers - 1; i >= 0; i--) out[at++] = 0x80 | ((number >> (6 * i)) & 0x3f)
  return at
}

function crc8(bytes: Uint8Array, from: number, to: number): number {
  let crc = 0
  for (let i = from; i < to; i++) crc = CRC8[crc ^ bytes[i]!]!
  return crc
}

function crc16(bytes: Uint8Array, from: number, to: number): number {
  let crc = 0
  for (let i = from; i < to; i++) crc = ((crc << 8) & 0xffff) ^ CRC16[(crc >> 8) ^ bytes[i]!]!
  return crc
}

function createCrcTable(bits: 8 | 16, polynomial: number): Uint16Array {
  const mask = (1 << bits) - 1
  const top = 1 << (bits - 1)
  return Uint16Array.from({ length: 256 }, (_, index) => {
    let crc = index << (bits - 8)
    for (let i = 0; i < 8; i++) crc = ((crc & top) === 0 ? crc << 1 : (crc << 1) ^ polynomial) & mask
    return crc
  })
}
