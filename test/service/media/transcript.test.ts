import { describe, expect, test } from 'vitest'
import { Chance } from '../../../src/kernel/random.ts'
import { toSrt, toVtt } from '../../../src/service/audio/transcription-answers.ts'
import { type TranscriptSource, transcribe } from '../../../src/service/media/transcript.ts'
import { parseSrt, parseVtt } from './subtitle-parsers.ts'

const SOURCE: TranscriptSource = { model: 'acme/scribe', contentHash: 'abc', task: 'transcribe', seconds: 62.5 }
const make = (change: Partial<TranscriptSource> = {}, seed = 1) =>
  transcribe(new Chance(seed), { ...SOURCE, ...change })

describe('a transcript', () => {
  test('has 2.5 words a second, and at least one', () => {
    expect(make().words).toHaveLength(156)
    expect(make({ seconds: 0.01 }).words).toHaveLength(1)
    expect(make().text.split(' ')).toHaveLength(156)
  })

  test('covers its duration with segments in order, without gap or overlap', { tags: 'slow' }, () => {
    for (const seconds of [0.004, 1, 62.5, 3599.999]) {
      const { segments, words, seconds: duration } = make({ seconds })
      expect(duration).toBe(seconds)
      expect(segments[0]!.start).toBe(0)
      expect(segments.at(-1)!.end).toBe(seconds)
      expect(segments.map(({ id }) => id)).toEqual(segments.map((_, index) => index))
      expect(segments.filter(({ start, end }) => end <= start)).toEqual([])
      expect(segments.slice(1).map(({ start }) => start)).toEqual(segments.slice(0, -1).map(({ end }) => end))
      expect(words.filter(({ start, end }) => end < start)).toEqual([])
      expect(words.filter(({ start }, index) => index > 0 && start < words[index - 1]!.end)).toEqual([])
    }
  })

  test('says the same in its text, its segments and its words', () => {
    const { text, segments, words } = make()
    expect(segments.map(segment => segment.text).join('')).toBe(` ${text}`)
    expect(words.map(({ word }) => word).join(' ')).toBe(text.replaceAll('.', ''))
    expect(text).toMatch(/^[A-Z].*\.$/)
  })

  test('depends on seed, model, task and content', () => {
    const texts = [make(), make({}, 2), make({ model: 'b' }), make({ task: 'translate' }), make({ contentHash: 'b' })]
    expect(new Set(texts.map(({ text }) => text)).size).toBe(5)
    expect(make()).toEqual(make())
  })

  test('has the text that a test scripted', () => {
    const text =
      'Turn left. Then go straight on for two miles, past the church and the mill and the old bridge, and stop.'
    const { segments, words, ...rest } = make({ text, seconds: 8 })
    expect(rest).toEqual({ text, seconds: 8 })
    expect(segments.map(segment => segment.text.trim()).join(' ')).toBe(text)
    expect(segments[0]).toMatchObject({ text: ' Turn left.', start: 0 })
    expect(words.map(({ word }) => word).slice(0, 3)).toEqual(['Turn', 'left', 'Then'])
    expect(words.at(-1)).toMatchObject({ word: 'stop', end: 8 })
    expect(make({ text: '', seconds: 2 })).toMatchObject({ text: '', segments: [{ start: 0, end: 2, text: ' ' }] })
  })
})

describe('subtitles', () => {
  test('parse as SubRip and as WebVTT, with a cue for each segment', () => {
    const transcript = make({ seconds: 3725.125 })
    const cues = transcript.segments.map(({ start, end, text }) => ({ start, end, text: text.trim() }))
    expect(parseSrt(toSrt(transcript))).toEqual(cues)
    expect(parseVtt(toVtt(transcript))).toEqual(cues)
    expect(cues.at(-1)!.end).toBe(3725.125)
  })

  test('keep a scripted text that looks like markup', () => {
    const transcript = make({ text: 'If a < b & b --> c, stop.\n\nWEBVTT again.', seconds: 4 })
    expect(parseVtt(toVtt(transcript)).map(({ text }) => text)).toEqual(['If a < b & b --> c, stop.', 'WEBVTT again.'])
    expect(parseSrt(toSrt(transcript)).map(({ text }) => text)).toEqual(['If a < b & b --> c, stop.', 'WEBVTT again.'])
  })
})
