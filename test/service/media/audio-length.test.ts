import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAudioLength } from '../../../src/service/audio/transcription-answers.ts'
import { createSpeech, SPEECH_FORMATS, speechSeconds } from '../../../src/service/media/speech.ts'
import { forAll } from '../../setup/for-all.ts'
import * as files from './audio-files.ts'

const LENGTH = { characters: 198, speed: 1 }
const latin1 = (text: string) => Uint8Array.from(text, character => character.charCodeAt(0))

describe('the length of an audio file', () => {
  test.each(SPEECH_FORMATS.filter(format => format !== 'pcm'))('is that of its speech as %s', format => {
    expect(readAudioLength(createSpeech(LENGTH, format).pieces)).toEqual({
      seconds: expect.closeTo(speechSeconds(LENGTH), 9),
    })
  })

  test('is that of an independent parser when the header states it', async () => {
    for (const file of [files.wavFile({ seconds: 2.5 }), files.opusFile(120_000), files.vorbisFile(88_200)]) {
      const { seconds } = await files.parseAudio(file)
      expect(seconds).toBeGreaterThan(1)
      expect(readAudioLength([file])).toEqual({ seconds: expect.closeTo(seconds!, 6) })
    }
  })

  test('is that of all bytes when the header of a WAV stream states no size', () => {
    expect(readAudioLength([files.wavFile({ seconds: 3, dataSize: 0 })])).toEqual({ seconds: 3 })
    expect(readAudioLength([files.wavFile({ seconds: 3, dataSize: 0xffff_ffff })])).toEqual({ seconds: 3 })
  })

  test('is the size by 64 kbit/s when the file is MP4 or WebM', () => {
    expect(readAudioLength([files.mp4File(20_000)])).toEqual({ seconds: 2.5 })
    expect(readAudioLength([files.webmFile(20_000)])).toEqual({ seconds: 2.5 })
  })

  test('is the size by the bit rate of the first frame when the file is MP3', () => {
    const frames = (header: string) => latin1(`\u00ff${header}`.padEnd(16_000, '\0'))
    // MPEG-1 at 128 kbit/s, MPEG-2 at 64, MPEG-2.5 at 8.
    expect(readAudioLength([frames('\u00fb\u0090')])).toEqual({ seconds: 1 })
    expect(readAudioLength([frames('\u00f3\u0080')])).toEqual({ seconds: 2 })
    expect(readAudioLength([frames('\u00e3\u0010')])).toEqual({ seconds: 16 })
    const tag = latin1('ID3\u0004\0\0\0\0\u0001\0'.padEnd(138, '\0'))
    expect(readAudioLength([tag, frames('\u00fb\u0090')])).toEqual({ seconds: 1 })
  })

  test('is a problem that names the format when the header states no length', () => {
    const cut = (file: Uint8Array, length: number) => readAudioLength([file.subarray(0, length)])
    const without = (name: string) => ({ problem: `it is ${name}, and its header states no length` })
    expect(readAudioLength([])).toEqual({ problem: 'it is empty' })
    expect(readAudioLength([latin1('hello, this is text')])).toEqual({
      problem: 'its format is unknown: send WAV, MP3, FLAC, Ogg, MP4, WebM',
    })
    for (const length of [36, 44]) expect(cut(files.wavFile(), length)).toEqual(without('WAV'))
    expect(cut(files.wavFile({ rate: 0 }), 99)).toEqual(without('WAV'))
    expect(cut(files.opusFile(100), 30)).toEqual(without('Ogg'))
    expect(readAudioLength([files.opusFile(100).fill(0, 28, 36)])).toEqual(without('Ogg'))
    expect(readAudioLength([files.opusFile(100).fill(0xff, -24, -6)])).toEqual(without('Ogg'))
    expect(cut(files.mp4File(100), 30)).toEqual(without('MP4'))
    expect(readAudioLength([latin1('ID3\u0004\0\0\0\0\0\u0001x'.padEnd(99, 'x'))])).toEqual(without('MP3'))
    expect(readAudioLength([latin1('\u00ff\u00fb\u00f0'.padEnd(99, '\0'))])).toEqual(without('MP3'))
    expect(readAudioLength([latin1('fLaC\0\0\0\u0022'.padEnd(99, '\0'))])).toEqual(without('FLAC'))
  })

  test('is a number or a problem for any bytes', () => {
    const starts = ['', 'RIFF    WAVEfmt ', 'fLaC', 'OggS', '    ftyp', '\u001aEß£', 'ID3', 'ÿû'].map(latin1)
    const whole = [files.wavFile(), files.opusFile(9), files.vorbisFile(9), files.mp4File(90), files.webmFile(90)]
    const check = (file: Uint8Array) => {
      const length = readAudioLength([file])
      if ('seconds' in length) expect(length.seconds).toBeGreaterThan(0)
      else expect(length.problem).not.toBe('')
    }
    forAll([fc.constantFrom(...starts), fc.uint8Array({ maxLength: 200 })], (start, rest) =>
      check(Buffer.concat([start, rest])),
    )
    forAll([fc.constantFrom(...whole), fc.nat(200), fc.nat(255), fc.nat(300)], (file, at, byte, length) => {
      const changed = file.slice(0, length)
      if (at < changed.length) changed[at] = byte
      check(changed)
    })
  })
})
