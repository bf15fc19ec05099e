/** Transcriptions and translations: from an upload to an answer in five formats. */
import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { transcriptionWork } from '../../simulation/inference/media-work.ts'
import type { ApiScope } from '../api-scope.ts'
import type { SizeLimit, UploadedFile } from '../endpoint.ts'
import { formNumber, text } from '../fields.ts'
import { readAudioLength } from '../media/audio-length.ts'
import { toSrt, toVtt } from '../media/subtitles.ts'
import { type Transcript, transcribe } from '../media/transcript.ts'
import { createCompatErrorBody } from '../openai/error-body.ts'
import {
  hashRequest,
  INFERENCE_REFUSALS,
  startMediaInference,
  waitForWholeAnswer,
} from '../openai/request-lifecycle.ts'
import { throwScriptedError } from '../openai/scripted-answers.ts'
import { RefusalError } from '../refusals.ts'
import { Bytes, DeferredResult, type HandlerResult } from '../results.ts'

export const AUDIO_SIZE_LIMIT: SizeLimit = { bytes: LIMITS.audioBytes, refusal: 'file is larger than 25 MB' }

/** The text fields of both endpoints. */
export const TRANSCRIPTION_FIELDS = {
  model: text({ min: 1 }),
  prompt: text().nullable().optional(),
  response_format: z.enum(['json', 'verbose_json', 'text', 'srt', 'vtt']).nullable().default('json'),
  temperature: formNumber({ min: 0, max: 1 }).nullable().optional(),
}

const Segment = z.object({
  id: z.int(),
  seek: z.int(),
  start: z.number(),
  end: z.number(),
  text: z.string(),
  tokens: z.array(z.int()),
  temperature: z.number(),
  avg_logprob: z.number(),
  compression_ratio: z.number(),
  no_speech_prob: z.number(),
})

const Word = z.object({ word: z.string(), start: z.number(), end: z.number() })

const VerboseTranscription = z
  .object({
    task: z.enum(['transcribe', 'translate']),
    language: z.string(),
    duration: z.number(),
    text: z.string(),
    segments: z.array(Segment).optional(),
    words: z.array(Word).optional(),
    usage: z.object({ type: z.literal('duration'), seconds: z.number() }),
  })
  .meta({ id: 'VerboseTranscription' })

export const TranscriptionAnswer = z.union([
  VerboseTranscription,
  z.object({ text: z.string(), usage: VerboseTranscription.shape.usage }).meta({ id: 'Transcription' }),
  // The formats text, srt and vtt are plain text.
  z.string(),
])
type TranscriptionAnswer = z.output<typeof TranscriptionAnswer>

export const TRANSCRIPTION_REFUSALS = {
  ...INFERENCE_REFUSALS,
  400: 'the model has another task, or the length of the file cannot be read, is 0 or is above 8 hours',
  413: 'the file is over 25 MB',
} as const

export const TRANSCRIPTION_ASSUMPTIONS = [
  'file: WAV, MP3, FLAC, Ogg, MP4 or WebM, known by its content; only its length is read',
  'the length of WAV, FLAC and Ogg (Opus, Vorbis) is that of their headers; MP3: its size by the bit rate of its first frame; MP4, WebM: its size by 64 kbit/s',
  'the words are drawn from the seed, the model and the content of the file: 2.5 a second',
  'a segment has 8 to 15 words; segments cover the whole duration',
  'text, srt and vtt are plain text; usage.seconds is the duration',
  'prompt and temperature are validated and ignored',
] as const

type ResponseFormat = 'json' | 'verbose_json' | 'text' | 'srt' | 'vtt'

/** A validated upload. */
export interface TranscriptionRequest {
  readonly model: string
  readonly file: UploadedFile
  readonly task: 'transcribe' | 'translate'
  /** The language of the answer. */
  readonly language: string
  readonly format: ResponseFormat
  /** The parts of `verbose_json`. */
  readonly granularities: readonly ('segment' | 'word')[]
}

type TranscriptionScope = Pick<ApiScope, 'world' | 'token' | 'findScriptedAnswer'> & { readonly request: Request }

/** Answers with the transcript when its work is done. */
export function answerTranscription(
  { world, token, request, findScriptedAnswer }: TranscriptionScope,
  asked: TranscriptionRequest,
): DeferredResult<TranscriptionAnswer> {
  const { model, file, task } = asked
  const seconds = requireAudioSeconds(file)
  let scriptedText: string | undefined
  const handle = startMediaInference(world, token, model, 'automatic-speech-recognition', target => {
    const scriptedAnswer = findScriptedAnswer(model, file.filename)
    if (scriptedAnswer !== undefined && 'error' in scriptedAnswer) throwScriptedError(scriptedAnswer.error)
    if (scriptedAnswer !== undefined && 'text' in scriptedAnswer) scriptedText = scriptedAnswer.text
    return {
      prefix: 'transcription-',
      hash: hashRequest(target.name, `${task} ${file.hash}`),
      work: transcriptionWork(world.profile, seconds),
    }
  })
  return new DeferredResult(waiter =>
    waitForWholeAnswer(world, handle, 1, waiter, request, () => {
      const source = { model: handle.plan.name, contentHash: file.hash, task, seconds, text: scriptedText }
      return formatTranscript(transcribe(world.chance, source), asked)
    }),
  )
}

/** Returns the length of an upload in whole milliseconds. Refuses a file that is not audio, or is too long. */
export function requireAudioSeconds({ chunks, filename }: UploadedFile): number {
  const length = readAudioLength(chunks)
  const name = filename === '' ? 'file' : `file '${filename.slice(0, LIMITS.quotedCharacters)}'`
  if ('problem' in length) refuseFile(`${name} cannot be read as audio: ${length.problem}`)
  const milliseconds = Math.max(1, Math.round(length.seconds * 1000))
  if (milliseconds > LIMITS.audioTime) {
    const hours = LIMITS.audioTime / 3_600_000
    refuseFile(`${name} is too long: it has ${Math.round(length.seconds)} seconds, and the limit is ${hours} hours`)
  }
  return milliseconds / 1000
}

function refuseFile(message: string): never {
  const body = createCompatErrorBody(400, message, { param: 'file' })
  throw new RefusalError(400, message, undefined, body, false, 'none')
}

function formatTranscript(
  transcript: Transcript,
  { task, language, format, granularities }: TranscriptionRequest,
): HandlerResult<TranscriptionAnswer> {
  const { text, seconds, segments, words } = transcript
  const usage = { type: 'duration' as const, seconds }
  switch (format) {
    case 'json':
      return { text, usage }
    case 'text':
      return toPlainText(`${text}\n`)
    case 'srt':
      return toPlainText(toSrt(transcript))
    case 'vtt':
      return toPlainText(toVtt(transcript))
    case 'verbose_json':
      return {
        task,
        language,
        duration: seconds,
        text,
        ...(granularities.includes('segment') && { segments: segments.map(toSegment) }),
        ...(granularities.includes('word') && { words: [...words] }),
        usage,
      }
  }
}

/** Returns a second of WAV: 8 kHz, 8 bits, one channel. All its bytes are ASCII, so it can be written as text. */
export function createExampleAudio(): string {
  const size = (bytes: number) => String.fromCharCode(bytes & 0xff, (bytes >> 8) & 0xff, 0, 0)
  const rate = size(8_000)
  const format = `\u0001\0\u0001\0${rate}${rate}\u0001\0\b\0`
  return `RIFF${size(8_036)}WAVEfmt ${size(16)}${format}data${rate}${'@@@@HHHH'.repeat(1_000)}`
}

/** Audio is decoded in windows of 30 seconds, which `seek` counts in hundredths of a second. */
const WINDOW_SECONDS = 30

function toSegment(segment: Transcript['segments'][number]): z.input<typeof Segment> {
  const { id, start, end, text, avgLogprob, noSpeechProbability, tokens } = segment
  return {
    id,
    seek: Math.floor(start / WINDOW_SECONDS) * WINDOW_SECONDS * 100,
    start,
    end,
    text,
    tokens: [...tokens],
    temperature: 0,
    avg_logprob: avgLogprob,
    compression_ratio: 1.5,
    no_speech_prob: noSpeechProbability,
  }
}

function toPlainText(text: string): Bytes {
  return new Bytes([new TextEncoder().encode(text)], { contentType: 'text/plain; charset=utf-8' })
}
