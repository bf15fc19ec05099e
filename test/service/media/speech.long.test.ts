import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Chance } from '../../../src/kernel/random.ts'
import { SPEECH_FORMATS, type SpeechFormat, synthesizeSpeech } from '../../../src/service/media/speech.ts'
import { speechSeconds } from '../../../src/service/media/speech-plan.ts'
import { decodeFlac, parseAudio } from './audio-files.ts'

const TEXT = 'Good evening. The rain ends before midnight, and the wind turns to the north.'

function speak(format: SpeechFormat, { text = TEXT, model = 'acme/voice', voice = 'ada', speed = 1, seed = 1 } = {}) {
  const { pieces, ...speech } = synthesizeSpeech(new Chance(seed), { text, model, voice, speed }, format)
  return { ...speech, pieces, bytes: new Uint8Array(Buffer.concat(pieces)) }
}

function samplesOf(pcm: Uint8Array): number[] {
  const view = new DataView(pcm.buffer, pcm.byteOffset, pcm.length)
  return Array.from({ length: pcm.length / 2 }, (_, index) => view.getInt16(index * 2, true))
}

describe('synthesized speech', () => {
  test('decodes to its stated length when an independent parser reads it', async () => {
    for (const text of ['Hello.', TEXT, TEXT.repeat(40)]) {
      for (const format of ['wav', 'flac', 'mp3'] as const) {
        const { bytes, seconds } = speak(format, { text })
        const parsed = await parseAudio(bytes)
        expect(parsed.seconds, `${format} of ${text.length} characters`).toBeCloseTo(seconds, 6)
      }
      const { bytes, seconds } = speak('pcm', { text })
      expect(bytes.length / 2 / 24_000).toBeCloseTo(seconds, 9)
    }
  })

  test('has the codec that its content type names', async () => {
    const found: Record<string, string | undefined> = {}
    for (const format of ['wav', 'flac', 'mp3'] as const) {
      const { bytes, contentType } = speak(format)
      found[contentType] = (await parseAudio(bytes)).codec
    }
    expect(found).toEqual({ 'audio/wav': 'PCM', 'audio/flac': 'FLAC', 'audio/mpeg': 'MPEG 2 Layer 3' })
  })

  test('lasts as long as its text at the speed of its request', () => {
    expect(speechSeconds(1500, 1)).toBe(100.008)
    expect(speechSeconds(1500, 2)).toBe(50.016)
    expect(speechSeconds(1500, 0.25)).toBe(400.008)
    expect(speechSeconds(0, 1)).toBe(0.024)
    expect(speak('wav', { text: '👋'.repeat(15) }).seconds).toBe(1.008)
  })

  test('has the same samples as WAV, PCM and FLAC', () => {
    const pcm = samplesOf(speak('pcm').bytes)
    expect(samplesOf(speak('wav').bytes.subarray(44))).toEqual(pcm)
    expect(decodeFlac(speak('flac').bytes)).toEqual(pcm)
    expect(pcm.length).toBe(speak('pcm').seconds * 24_000)
  })

  test('sounds in letters and is silent in spaces', () => {
    const peak = (text: string) =>
      samplesOf(speak('pcm', { text }).bytes).reduce((max, s) => Math.max(max, Math.abs(s)), 0)
    expect(peak('   ...   ')).toBe(0)
    expect(peak('aaa')).toBeGreaterThan(8_000)
    expect(peak('aaa')).toBeLessThan(20_000)
  })

  test('depends on seed, model, voice and text, and on nothing else', () => {
    const digest = (...input: Parameters<typeof speak>) =>
      createHash('sha256')
        .update(speak(...input).bytes)
        .digest('hex')
    for (const format of SPEECH_FORMATS) {
      const digests = [
        digest(format),
        digest(format, { seed: 2 }),
        digest(format, { model: 'acme/other' }),
        digest(format, { voice: 'bo' }),
        digest(format, { text: `${TEXT}!` }),
        digest(format, { speed: 2 }),
      ]
      expect(new Set(digests).size, format).toBe(6)
      expect(digest(format)).toBe(digests[0])
    }
  })

  // mpg123 decoded the MP3 with this digest without an error, to 5.136 s.
  test('has the same bytes on every machine', () => {
    const digest = (format: SpeechFormat) => createHash('sha256').update(speak(format).bytes).digest('hex').slice(0, 16)
    expect({ wav: digest('wav'), flac: digest('flac'), mp3: digest('mp3') }).toMatchInlineSnapshot(`
      {
        "flac": "63fd3c522905f67c",
        "mp3": "e3c2847fb7ac1275",
        "wav": "1f87de0a2218f2f4",
      }
    `)
  })

  test('comes in pieces of a second that make up the whole file', () => {
    const { pieces, seconds, bytes } = speak('wav')
    expect(pieces.length).toBe(Math.ceil(seconds / 1.008))
    expect(pieces[0]!.length).toBe(44 + 1.008 * 48_000)
    expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe(bytes.length)
  })

  test('of 4,096 characters takes well below a second of CPU time', () => {
    const text = TEXT.repeat(60).slice(0, 4_096)
    for (const format of SPEECH_FORMATS) {
      const before = process.cpuUsage()
      speak(format, { text })
      const { user } = process.cpuUsage(before)
      expect(user / 1e6, format).toBeLessThan(0.9)
    }
  })
})
