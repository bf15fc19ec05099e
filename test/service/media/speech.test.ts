import { describe, expect, test } from 'vitest'
import {
  createSpeech,
  SPEECH_FORMATS,
  type SpeechFormat,
  speechPieces,
  speechSeconds,
} from '../../../src/service/media/speech.ts'
import { countSilentFrames, parseAudio, readOggPages } from './audio-files.ts'

const LENGTHS = [
  { characters: 6, speed: 4 },
  { characters: 78, speed: 1 },
  { characters: 3_120, speed: 1 },
]

function bytesOf(format: SpeechFormat, characters = 78, speed = 1): Uint8Array {
  return new Uint8Array(Buffer.concat(createSpeech({ characters, speed }, format).pieces))
}

describe('speech', () => {
  test.each(SPEECH_FORMATS.filter(format => format !== 'pcm'))(
    'has its stated length when an independent parser reads it as %s',
    { tags: 'slow' },
    async format => {
      for (const length of LENGTHS) {
        const { seconds } = await parseAudio(bytesOf(format, length.characters, length.speed))
        expect(seconds, `${length.characters} characters`).toBeCloseTo(speechSeconds(length), 6)
      }
    },
  )

  test('has the codec of its format when an independent parser reads it', { tags: 'slow' }, async () => {
    const codecs: Record<string, string | undefined> = {}
    for (const format of SPEECH_FORMATS) {
      if (format !== 'pcm') codecs[format] = (await parseAudio(bytesOf(format))).codec
    }
    expect(codecs).toEqual({ mp3: 'MPEG 2 Layer 3', opus: 'Opus', flac: 'FLAC', wav: 'PCM' })
  })

  test('lasts as long as its text at the speed of its request', () => {
    expect(speechSeconds({ characters: 1500, speed: 1 })).toBe(100.008)
    expect(speechSeconds({ characters: 1500, speed: 2 })).toBe(50.016)
    expect(speechSeconds({ characters: 1500, speed: 0.25 })).toBe(400.008)
    expect(speechSeconds({ characters: 0, speed: 1 })).toBe(0.024)
    expect(bytesOf('pcm', 1500, 2).length).toBe(50.016 * 48_000)
  })

  test('is silent frames of FLAC with the right numbers and checksums, up to the longest text', {
    tags: 'slow',
  }, () => {
    const frames = countSilentFrames(bytesOf('flac', 4_096, 0.25))
    expect(frames * 576).toBe(speechSeconds({ characters: 4_096, speed: 0.25 }) * 24_000)
  })

  test('is packets of silence in pages of Ogg that follow each other', () => {
    const pages = readOggPages(bytesOf('opus', 3_120))
    expect(pages.slice(0, 2).map(({ packets }) => packets.map(packet => packet.toString('latin1', 0, 8)))).toEqual([
      ['OpusHead'],
      ['OpusTags'],
    ])
    const audio = pages.slice(2)
    expect(audio).toHaveLength(speechPieces({ characters: 3_120, speed: 1 }))
    expect(new Set(audio.flatMap(({ packets }) => packets.map(packet => packet.toString('hex'))))).toEqual(
      new Set(['f8fffe']),
    )
    let samples = 0
    for (const { packets, position, flags } of audio.slice(0, -1)) {
      samples += packets.length * 960
      expect([position, flags]).toEqual([samples, 0])
    }
    // 208.008 seconds at 48 kHz.
    expect(pages.map(({ flags }) => flags).filter(flags => flags !== 0)).toEqual([2, 4])
    expect(audio.at(-1)!.position).toBe(208.008 * 48_000)
    expect(samples + audio.at(-1)!.packets.length * 960 - audio.at(-1)!.position).toBeLessThan(960)
  })

  test('comes in pieces of a second that make up the whole file', () => {
    for (const format of SPEECH_FORMATS) {
      const length = { characters: 78, speed: 1 }
      const { pieces } = createSpeech(length, format)
      expect(pieces, format).toHaveLength(Math.ceil(speechSeconds(length) / 1.008))
      expect(pieces).toHaveLength(speechPieces(length))
    }
    expect(createSpeech({ characters: 78, speed: 1 }, 'wav').pieces[0]!.length).toBe(44 + 1.008 * 48_000)
  })
})
