/** Transcripts of audio: drawn words with times that cover its length. */
import { type Chance, type EntityKey, hash32, purpose } from '../../kernel/random.ts'
import { ANSWER_WORDS } from '../../simulation/inference/text-generator.ts'

const WORDS = purpose('transcript.words')
const SCORES = purpose('transcript.scores')
const WORDS_PER_SECOND = 2.5
/** Text tokens of speech models that know many languages (A). */
const TOKEN_COUNT = 50_257
/** Words of a segment: from the minimum to one less than minimum + range. */
const MIN_SEGMENT_WORDS = 8
const SEGMENT_WORDS_RANGE = 8

/** A spoken word. Times are seconds with at most 3 decimals. */
export interface TranscriptWord {
  readonly word: string
  readonly start: number
  readonly end: number
}

/** A part of a transcript. Its text begins with a space, as in the answers of speech models. */
export interface TranscriptSegment {
  readonly id: number
  readonly start: number
  readonly end: number
  readonly text: string
  /** A number for each word. */
  readonly tokens: readonly number[]
  /** Mean log probability of its words, from -0.35 to -0.05. */
  readonly avgLogprob: number
  /** The probability that it has no speech, below 0.1. */
  readonly noSpeechProbability: number
}

/** What was said in a file. Words and segments are in order and do not overlap; segments cover the duration. */
export interface Transcript {
  readonly text: string
  readonly seconds: number
  readonly words: readonly TranscriptWord[]
  readonly segments: readonly TranscriptSegment[]
}

/** What determines a transcript. Equal values give equal transcripts with the same seed. */
export interface TranscriptSource {
  /** The full name of the model. */
  readonly model: string
  /** The hash of the content of the file. */
  readonly contentHash: string
  /** A translation has other words than a transcription. */
  readonly task: 'transcribe' | 'translate'
  /** The length of the audio. */
  readonly seconds: number
  /** The words that a test scripted. Default: drawn words, 2.5 a second. */
  readonly text?: string | undefined
}

/** Returns how many words are drawn for audio of this length, at least 1. */
export function transcriptWords(seconds: number): number {
  return Math.max(1, Math.round(seconds * WORDS_PER_SECOND))
}

/**
 * Transcribes a file by its hash and length.
 *
 * @example
 * transcribe(world.chance, { model: 'acme/scribe', contentHash: file.hash, task: 'transcribe', seconds: 4 }).words.length // 10
 */
export function transcribe(chance: Chance, { model, contentHash, task, seconds, text }: TranscriptSource): Transcript {
  const key = chance.key('transcript', `${model}\u0000${task}\u0000${contentHash}`)
  const milliseconds = Math.max(1, Math.round(seconds * 1000))
  const sentences = text === undefined ? drawSentences(chance, key, transcriptWords(seconds)) : splitText(text)
  const wordCount = sentences.reduce((sum, sentence) => sum + sentence.length, 0)
  const timeOf = (word: number) => Math.floor((milliseconds * word) / wordCount) / 1000
  const words: TranscriptWord[] = []
  const segments = sentences.map((sentence, id): TranscriptSegment => {
    const first = words.length
    for (const word of sentence) words.push({ word, start: timeOf(words.length), end: timeOf(words.length + 1) })
    return {
      id,
      start: timeOf(first),
      end: timeOf(words.length),
      text: ` ${sentence.join(' ')}`,
      tokens: sentence.map(word => hash32(word) % TOKEN_COUNT),
      avgLogprob: -(50 + chance.integer(300, key, SCORES, id * 2)) / 1000,
      noSpeechProbability: chance.integer(100, key, SCORES, id * 2 + 1) / 1000,
    }
  })
  return {
    text: text ?? sentences.map(sentence => sentence.join(' ')).join(' '),
    seconds: milliseconds / 1000,
    words: words.map(each => ({ ...each, word: each.word.replace(/[.,;:!?]+$/u, '') || each.word })),
    segments,
  }
}

/** Draws sentences of so many words together. Each begins with a capital and ends with a full stop. */
function drawSentences(chance: Chance, key: EntityKey, wordCount: number): string[][] {
  let state = hash32(chance.hex(8, key, WORDS)) | 1
  const next = (below: number) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 8) % below
  }
  const sentences: string[][] = []
  for (let remaining = wordCount; remaining > 0; ) {
    const length = Math.min(remaining, MIN_SEGMENT_WORDS + next(SEGMENT_WORDS_RANGE))
    const words = Array.from({ length }, () => ANSWER_WORDS[next(ANSWER_WORDS.length)]!)
    words[0] = words[0]!.charAt(0).toUpperCase() + words[0]!.slice(1)
    words[length - 1] += '.'
    sentences.push(words)
    remaining -= length
  }
  return sentences
}

/** Returns the words of a text by sentence; a long sentence is split. A text without words gives one empty word. */
function splitText(text: string): string[][] {
  const words = text.split(/\s+/u).filter(word => word !== '')
  if (words.length === 0) return [['']]
  const sentences: string[][] = [[]]
  for (const [index, word] of words.entries()) {
    const sentence = sentences.at(-1)!
    sentence.push(word)
    const isEnd = /[.!?]$/u.test(word) || sentence.length === MIN_SEGMENT_WORDS + SEGMENT_WORDS_RANGE - 1
    if (isEnd && index < words.length - 1) sentences.push([])
  }
  return sentences
}
