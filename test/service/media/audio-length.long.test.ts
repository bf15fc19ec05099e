import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Chance } from '../../../src/kernel/random.ts'
import { readAudioLength } from '../../../src/service/media/audio-length.ts'
import { synthesizeSpeech } from '../../../src/service/media/speech.ts'
import * as files from './audio-files.ts'

const speech = (format: 'wav' | 'flac' | 'mp3') =>
  synthesizeSpeech(
    new Chance(1),
    { text: 'Rivers run to the sea.'.repeat(9), model: 'm', voice: 'v', speed: 1 },
    format,
  )

const latin1 = (text: string) => Uint8Array.from(text, character => character.charCodeAt(0))

describe('the length of an audio file', () => {
  test('is that of its speech', () => {
    for (const format of ['wav', 'flac', 'mp3'] as const) {
      const { pieces, seconds } = speech(format)
      const length = readAudioLength(pieces)
      expect(length).toEqual({ seconds: expect.closeTo(seconds, 9) })
    }
  })

  test('is that of an independent parser', async () => {
    for (const file of [
      files.wavFile({ seconds: 2.5 }),
      files.opusFile(120_000),
      files.vorbisFile(88_200),
      files.webmFile(4_125),
    ]) {
      const { seconds } = await files.parseAudio(file)
      expect(seconds).toBeGreaterThan(1)
      expect(readAudioLength([file])).toEqual({ seconds: expect.closeTo(seconds!, 6) })
    }
  })

  test('is known for headers in every form that recorders and streams write', () => {
    expect(readAudioLength([files.wavFile({ seconds: 3, dataSize: 0 })])).toEqual({ seconds: 3 })
    expect(readAudioLength([files.wavFile({ seconds: 3, dataSize: 0xffff_ffff })])).toEqual({ seconds: 3 })
    expect(readAudioLength([files.recordedWebmFile(5)])).toEqual({ seconds: 4.96 })
    expect(readAudioLength([files.mp4File(7_500)])).toEqual({ seconds: 7.5 })
    expect(readAudioLength([files.mp4File(7_500, { isLong: true })])).toEqual({ seconds: 7.5 })
    expect(readAudioLength([files.mp4File(7_500, { isFragmented: true })])).toEqual({ seconds: 7.5 })
  })

  test('leaves out the tag and the summary of an MP3 file', () => {
    const { pieces, seconds } = speech('mp3')
    const frames = Buffer.concat(pieces)
    const tag = Buffer.concat([latin1('ID3\u0004\u0000\u0000\u0000\u0000\u0001\u0000'), new Uint8Array(128)])
    const summary = Buffer.from(frames.subarray(0, 96))
    summary.set(latin1('Info'), 13)
    expect(readAudioLength([tag, summary, frames, latin1('TAG'.padEnd(128))])).toEqual({
      seconds: expect.closeTo(seconds, 9),
    })
  })

  test('is a problem that names the format and the missing part', () => {
    const cut = (file: Uint8Array, length: number) => readAudioLength([file.subarray(0, length)])
    expect(readAudioLength([])).toEqual({ problem: 'it is empty' })
    expect(readAudioLength([latin1('hello, this is text')])).toEqual({
      problem: 'its format is unknown: send WAV, MP3, FLAC, Ogg (Opus, Vorbis, Speex, FLAC), MP4 (M4A), WebM',
    })
    expect(cut(files.wavFile(), 36)).toEqual({ problem: 'it is invalid WAV: its chunk data is missing' })
    expect(cut(files.wavFile(), 44)).toEqual({ problem: 'it is WAV without audio' })
    expect(cut(files.wavFile({ rate: 0 }), 99)).toEqual({
      problem: 'it is invalid WAV: its chunk fmt is missing, or names 0 bytes per second',
    })
    expect(cut(files.opusFile(100), 30)).toEqual({
      problem: 'it is invalid Ogg: its codec is not Opus, Vorbis, Speex or FLAC',
    })
    expect(cut(files.mp4File(100), 30)).toEqual({ problem: 'it is invalid MP4: its box moov is missing' })
    expect(cut(files.webmFile(100), 8)).toEqual({ problem: 'it is WebM without audio' })
    expect(readAudioLength([latin1('ID3\u0004\u0000\u0000\u0000\u0000\u0000\u0001x'.padEnd(99, 'x'))])).toEqual({
      problem: 'it is invalid MP3: it has no frame',
    })
    expect(readAudioLength([latin1('fLaC\u0000\u0000\u0000\u0022'.padEnd(99, '\u0000'))])).toEqual({
      problem: 'it is invalid FLAC: its sample rate is 0',
    })
  })

  test('is a number or a problem for any bytes', () => {
    const starts = ['', 'RIFF    WAVEfmt ', 'fLaC', 'OggS', '    ftyp', '\u001aEß£', 'ID3', 'ÿû'].map(latin1)
    const whole = [files.wavFile(), files.opusFile(9), files.mp4File(9), files.webmFile(9), files.recordedWebmFile(3)]
    const check = (file: Uint8Array) => {
      const length = readAudioLength([file])
      if ('seconds' in length) expect(length.seconds).toBeGreaterThan(0)
      else expect(length.problem).not.toBe('')
    }
    fc.assert(
      fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 200 }), (start, rest) =>
        check(Buffer.concat([start, rest])),
      ),
      { numRuns: 500 },
    )
    fc.assert(
      fc.property(fc.constantFrom(...whole), fc.nat(200), fc.nat(255), fc.nat(300), (file, at, byte, length) => {
        const changed = file.slice(0, length)
        if (at < changed.length) changed[at] = byte
        check(changed)
      }),
      { numRuns: 500 },
    )
  })

  test('is found at once in files that pretend to be deep or long', () => {
    const nested = new Uint8Array(2_000_000)
    nested.set([0x1a, 0x45, 0xdf, 0xa3, 0x80])
    for (let at = 5; at + 5 <= nested.length; at += 5) nested.set([0x1f, 0x43, 0xb6, 0x75, 0xff], at)
    expect(readAudioLength([nested])).toEqual({ problem: 'it is WebM without audio' })
    const pages = new Uint8Array(2_000_000).fill(0x4f)
    pages.set(files.opusFile(4_800))
    expect(readAudioLength([pages])).toEqual({ seconds: 0.1 })
    const withoutPosition = files.opusFile(4_800).slice(0, 47)
    withoutPosition.fill(0xff, 6, 14)
    expect(readAudioLength([withoutPosition])).toEqual({ problem: 'it is invalid Ogg: no page has a position' })
  })
})
