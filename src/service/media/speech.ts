/** Speech as audio: silence as long as its text, in constant frames of each format. It draws nothing. */
import { concatBytes } from '../../lib/bytes.ts'

/** Samples per second of all speech. */
const SAMPLE_RATE = 24_000
/** Samples of one frame: 24 ms, as in MP3 at this rate. All speech is a whole number of frames. */
const FRAME_SAMPLES = 576
const FRAME_BYTES = FRAME_SAMPLES * 2
/** Characters that are spoken in one second at speed 1. */
const CHARACTERS_PER_SECOND = 15
/** Frames of one piece of a streamed speech: about a second. */
const PIECE_FRAMES = 42

/** What determines the length of speech. Equal values give equal audio. */
export interface SpeechLength {
  readonly characters: number
  /** 0.25 to 4; 2 takes half as long as 1. */
  readonly speed: number
}

/** Returns how many frames a text takes. An empty text takes one. */
function speechFrames({ characters, speed }: SpeechLength): number {
  // Rounded first, because the product of a speed and 0.024 has binary noise.
  const frames = characters / (CHARACTERS_PER_SECOND * speed * (FRAME_SAMPLES / SAMPLE_RATE))
  return Math.max(1, Math.ceil(Number(frames.toFixed(6))))
}

/** Returns the seconds that a text takes: about 15 characters a second, in whole frames of 24 ms. */
export function speechSeconds(length: SpeechLength): number {
  // In this order, the result has no binary noise.
  return (speechFrames(length) * FRAME_SAMPLES) / SAMPLE_RATE
}

/** Returns how many pieces the audio of a text comes in. */
export function speechPieces(length: SpeechLength): number {
  return Math.ceil(speechFrames(length) / PIECE_FRAMES)
}

interface Encoding {
  readonly contentType: string
  /** Returns the bytes before the first frame. */
  readonly createHeader?: (frames: number) => Uint8Array
  /** Returns the frames from `start` to before `end`, of so many in all. */
  readonly createFrames: (start: number, end: number, frames: number) => Uint8Array
}

/** The formats of the interface. */
export const SPEECH_FORMATS = ['mp3', 'opus', 'flac', 'wav', 'pcm'] as const
export type SpeechFormat = (typeof SPEECH_FORMATS)[number]

const ENCODINGS: Readonly<Record<SpeechFormat, Encoding>> = {
  mp3: {
    contentType: 'audio/mpeg',
    createFrames: (start, end) => concatBytes(new Array<Uint8Array>(end - start).fill(MP3_FRAME)),
  },
  opus: { contentType: 'audio/ogg', createHeader: createOpusHeader, createFrames: createOpusPage },
  flac: {
    contentType: 'audio/flac',
    createHeader: createFlacHeader,
    createFrames: (start, end) =>
      concatBytes(Array.from({ length: end - start }, (_, index) => createFlacFrame(start + index))),
  },
  wav: { contentType: 'audio/wav', createHeader: createWavHeader, createFrames: createSamples },
  pcm: { contentType: 'audio/pcm', createFrames: createSamples },
}

/**
 * Returns the audio of a text in pieces of about a second. The first piece begins with the header.
 *
 * @example createSpeech({ characters: 1_500, speed: 2 }, 'mp3').pieces.length // 50, for 50.016 seconds
 */
export function createSpeech(length: SpeechLength, format: SpeechFormat) {
  const { contentType, createHeader, createFrames } = ENCODINGS[format]
  const frames = speechFrames(length)
  const pieces: Uint8Array<ArrayBuffer>[] = []
  for (let start = 0; start < frames; start += PIECE_FRAMES) {
    const header = start === 0 ? createHeader?.(frames) : undefined
    const content = createFrames(start, Math.min(frames, start + PIECE_FRAMES), frames)
    pieces.push(concatBytes(header === undefined ? [content] : [header, content]))
  }
  return { pieces, contentType }
}

/** A frame of MPEG-2 layer III at 32 kbit/s and 24 kHz, with one channel: a header, and no sound. */
const MP3_FRAME = Uint8Array.from({ length: 96 }, (_, index) => [0xff, 0xf3, 0x44, 0xc0][index] ?? 0)

function createSamples(start: number, end: number): Uint8Array {
  return new Uint8Array((end - start) * FRAME_BYTES)
}

/** Returns the header of WAV: PCM, one channel, 16 bits. */
function createWavHeader(frames: number): Uint8Array {
  const bytes = frames * FRAME_BYTES
  const rates = [little(SAMPLE_RATE, 4), little(SAMPLE_RATE * 2, 4)]
  const format = [little(16, 4), little(1, 2), little(1, 2), ...rates, little(2, 2), little(16, 2)]
  return concatBytes([utf8('RIFF'), little(36 + bytes, 4), utf8('WAVEfmt '), ...format, utf8('data'), little(bytes, 4)])
}

/** Returns the header of FLAC (RFC 9639) with one block, STREAMINFO: the sizes of frames and the MD5 sum are unknown. */
function createFlacHeader(frames: number): Uint8Array {
  const sizes = [FRAME_SAMPLES >> 8, FRAME_SAMPLES & 0xff, FRAME_SAMPLES >> 8, FRAME_SAMPLES & 0xff]
  // 24 kHz, one channel, 16 bits.
  const format = [0x05, 0xdc, 0x00, 0xf0]
  const start = Uint8Array.of(0x80, 0, 0, 34, ...sizes, 0, 0, 0, 0, 0, 0, ...format)
  return concatBytes([utf8('fLaC'), start, little(frames * FRAME_SAMPLES, 4).reverse(), new Uint8Array(16)])
}

/** Returns a frame of FLAC: 576 samples of 24 kHz and 16 bits in one channel, all 0. */
function createFlacFrame(number: number): Uint8Array {
  // A number has the form of UTF-8. 45,512 frames are the most, so none is a surrogate.
  const start = concatBytes([Uint8Array.of(0xff, 0xf8, 0x27, 0x08), utf8(String.fromCodePoint(number))])
  const frame = Uint8Array.of(...start, checksumOf(start, 8, 0x07), 0, 0, 0)
  const checksum = checksumOf(frame, 16, 0x8005)
  return Uint8Array.of(...frame, checksum >> 8, checksum)
}

/** Opus counts its samples at this rate, and has 20 ms of them in a packet. */
const OPUS_RATE = 48_000
const OPUS_PACKET_SAMPLES = 960
const FIRST_PAGE = 2
const LAST_PAGE = 4
/** A packet of silence: 20 ms, one channel. */
const OPUS_PACKET = Uint8Array.of(0xf8, 0xff, 0xfe)
/** Samples of Opus in one of our frames. */
const OPUS_FRAME_SAMPLES = (FRAME_SAMPLES * OPUS_RATE) / SAMPLE_RATE

/** Returns the two pages before the first packet (RFC 7845). */
function createOpusHeader(): Uint8Array {
  const head = concatBytes([utf8('OpusHead'), Uint8Array.of(1, 1, 0, 0), little(SAMPLE_RATE, 4), new Uint8Array(3)])
  const tags = concatBytes([utf8('OpusTags'), new Uint8Array(8)])
  return concatBytes([createOggPage([head], 0, FIRST_PAGE, 0), createOggPage([tags], 1, 0, 0)])
}

/** Returns the packets of a piece in one page. The last page states the exact length, because a packet lasts 20 ms. */
function createOpusPage(start: number, end: number, frames: number): Uint8Array {
  const [first, after] = [start, end].map(frame => Math.ceil((frame * OPUS_FRAME_SAMPLES) / OPUS_PACKET_SAMPLES))
  const packets = new Array<Uint8Array>(after! - first!).fill(OPUS_PACKET)
  const isLast = end === frames
  const position = isLast ? end * OPUS_FRAME_SAMPLES : after! * OPUS_PACKET_SAMPLES
  return createOggPage(packets, 2 + start / PIECE_FRAMES, isLast ? LAST_PAGE : 0, position)
}

/** Returns a page of Ogg (RFC 3533) with packets of less than 255 bytes. */
function createOggPage(packets: readonly Uint8Array[], number: number, flags: number, position: number): Uint8Array {
  const [stream, noChecksum] = [little(1, 4), little(0, 4)]
  const start = [utf8('OggS'), Uint8Array.of(0, flags), little(position, 8), stream, little(number, 4), noChecksum]
  const lengths = Uint8Array.of(packets.length, ...packets.map(({ length }) => length))
  const page = concatBytes([...start, lengths, ...packets])
  page.set(little(checksumOf(page, 32, 0x04c11db7), 4), 22)
  return page
}

/** Returns the checksum of FLAC and Ogg: it starts with 0, and the highest bit comes first. Only its low bits count. */
function checksumOf(bytes: Uint8Array, bits: 8 | 16 | 32, polynomial: number): number {
  const top = 1 << (bits - 1)
  let sum = 0
  for (const byte of bytes) {
    sum ^= byte << (bits - 8)
    for (let bit = 0; bit < 8; bit++) sum = (sum & top) === 0 ? sum << 1 : (sum << 1) ^ polynomial
  }
  return sum
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Returns an integer as so many bytes, the lowest first. */
function little(value: number, bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, index) => Math.floor(value / 256 ** index))
}
