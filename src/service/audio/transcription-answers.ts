/** Transcriptions and translations: from an upload to an answer in five formats. */
import * as z from 'zod'
import { concatBytes } from '../../lib/bytes.ts'
import { LIMITS } from '../../lib/limits.ts'
import { transcriptionWork } from '../../simulation/inference/media-work.ts'
import type { ApiScope } from '../api-scope.ts'
import type { SizeLimit, UploadedFile } from '../endpoint.ts'
import { formNumber, recordSchema, text } from '../fields.ts'
import { type Transcript, transcribe } from '../media/transcript.ts'
import { createCompatErrorBody } from '../openai/error-body.ts'
import {
  hashRequest,
  INFERENCE_REFUSALS,
  startMediaInference,
  waitForWholeAnswer,
} from '../openai/request-lifecycle.ts'
import { requireNoError } from '../openai/scripted-answers.ts'
import { RefusalError } from '../refusals.ts'
import { Bytes, DeferredResult, type HandlerResult } from '../results.ts'

/** The length of an audio file, or why it cannot be read. */
type AudioLength = { readonly seconds: number } | { readonly problem: string }

/** Bytes per second of MP4 and WebM: 64 kbit/s, as recorders of speech use (A). */
const ASSUMED_RATE = 8_000
/** Every header takes at least so many bytes. */
const MIN_BYTES = 44

/** Each format by its first bytes. `readSeconds` returns no positive number if the header states no length. */
const FORMATS: readonly {
  readonly name: string
  readonly start: RegExp
  readonly readSeconds: (bytes: Uint8Array, view: DataView) => number
}[] = [
  { name: 'WAV', start: /^RIFF.{4}WAVE/s, readSeconds: readWavSeconds },
  { name: 'MP3', start: /^(?:ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/, readSeconds: readMp3Seconds },
  { name: 'FLAC', start: /^fLaC/, readSeconds: readFlacSeconds },
  { name: 'Ogg', start: /^OggS/, readSeconds: readOggSeconds },
  { name: 'MP4', start: /^.{4}ftyp/s, readSeconds: ({ length }) => length / ASSUMED_RATE },
  { name: 'WebM', start: /^.E\xdf\xa3/s, readSeconds: ({ length }) => length / ASSUMED_RATE },
]

/** Returns the length of an audio file in seconds, by its content and not by its name. */
export function readAudioLength(chunks: readonly Uint8Array[]): AudioLength {
  const bytes = concatBytes(chunks)
  if (bytes.length === 0) return { problem: 'it is empty' }
  const start = toText(bytes.subarray(0, MIN_BYTES))
  const format = FORMATS.find(one => one.start.test(start))
  if (format === undefined) {
    return { problem: `its format is unknown: send ${FORMATS.map(({ name }) => name).join(', ')}` }
  }
  const seconds = bytes.length < MIN_BYTES ? 0 : format.readSeconds(bytes, new DataView(bytes.buffer))
  if (seconds > 0 && Number.isFinite(seconds)) return { seconds }
  return { problem: `it is ${format.name}, and its header states no length` }
}

/** Returns a character for each byte. */
function toText(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes)
}

function readWavSeconds({ length }: Uint8Array, view: DataView): number {
  let rate = 0
  for (let at = 12; at + 8 <= length; ) {
    const [type, size] = [view.getUint32(at), view.getUint32(at + 4, true)]
    if (type === 0x666d7420 && at + 20 <= length) rate = view.getUint32(at + 16, true)
    // A stream states no size of its data, or the largest.
    if (type === 0x64617461) return Math.min(size || length, length - at - 8) / rate
    at += 8 + size + (size & 1)
  }
  return 0
}

/** Kilobits per second of layer III, by the index in the header of a frame: of MPEG-1, and of MPEG-2 and 2.5. */
const MP3_KILOBITS = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const

/** Returns the seconds at the bit rate of the first frame, which follows the tag. */
function readMp3Seconds(bytes: Uint8Array): number {
  const isTagged = bytes[0] === 0x49
  const tag = isTagged ? [6, 7, 8, 9].reduce((size, at) => (size << 7) | (bytes[at]! & 0x7f), 0) + 10 : 0
  const [sync = 0, version = 0, rate = 0] = bytes.subarray(tag)
  if (sync !== 0xff || (version & 0xe6) !== 0xe2) return 0
  const kilobits = MP3_KILOBITS[(version & 0x18) === 0x18 ? 0 : 1][rate >> 4] ?? 0
  return (bytes.length - tag) / (kilobits * 125)
}

function readFlacSeconds(bytes: Uint8Array, view: DataView): number {
  const samples = (bytes[21]! & 0xf) * 4_294_967_296 + view.getUint32(22)
  return samples / (view.getUint32(18) >>> 12)
}

/** Returns the position of the last page by the rate of Opus or Vorbis. */
function readOggSeconds(bytes: Uint8Array, view: DataView): number {
  const isOpus = view.getUint32(28) === 0x4f707573
  const isVorbis = view.getUint32(28) === 0x01766f72
  // A page has at most 65,307 bytes, and its position is in bytes 6 to 13.
  const from = Math.max(0, bytes.length - 65_307)
  const page = from + toText(bytes.subarray(from, -10)).lastIndexOf('OggS')
  if (page < from || !(isOpus || isVorbis)) return 0
  const position = Number(view.getBigInt64(page + 6, true))
  return isOpus ? (position - view.getUint16(38, true)) / 48_000 : position / view.getUint32(40, true)
}

export const AUDIO_SIZE_LIMIT: SizeLimit = { bytes: LIMITS.audioBytes, refusal: 'file is larger than 25 MB' }

/** The text fields of both endpoints. */
export const TRANSCRIPTION_FIELDS = {
  model: text({ min: 1 }),
  prompt: text().nullish(),
  response_format: z.enum(['json', 'verbose_json', 'text', 'srt', 'vtt']).nullable().default('json'),
  temperature: formNumber({ min: 0, max: 1 }).nullish(),
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

const VerboseTranscription = recordSchema('VerboseTranscription', {
  task: z.enum(['transcribe', 'translate']),
  language: z.string(),
  duration: z.number(),
  text: z.string(),
  segments: z.array(Segment).optional(),
  words: z.array(Word).optional(),
  usage: z.object({ type: z.literal('duration'), seconds: z.number() }),
})

export const TranscriptionAnswer = z.union([
  VerboseTranscription,
  recordSchema('Transcription', { text: z.string(), usage: VerboseTranscription.shape.usage }),
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
  'a segment has 8 to 15 drawn words, the last one may have fewer; segments cover the whole duration',
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
    const scriptedAnswer = requireNoError(findScriptedAnswer(model, file.filename))
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

/** Returns a transcript as SubRip (`.srt`). */
export function toSrt({ segments }: Transcript): string {
  return segments
    .map(
      ({ id, start, end, text }) =>
        `${id + 1}\n${formatTime(start, ',')} --> ${formatTime(end, ',')}\n${text.trim()}\n\n`,
    )
    .join('')
}

/** Returns a transcript as WebVTT (`.vtt`). */
export function toVtt({ segments }: Transcript): string {
  const cues = segments.map(
    ({ start, end, text }) => `${formatTime(start, '.')} --> ${formatTime(end, '.')}\n${escapeCue(text.trim())}\n\n`,
  )
  return `WEBVTT\n\n${cues.join('')}`
}

function formatTime(seconds: number, separator: string): string {
  const milliseconds = Math.round(seconds * 1000)
  const pad = (value: number, length: number) => String(value).padStart(length, '0')
  const hours = Math.floor(milliseconds / 3_600_000)
  const minutes = Math.floor(milliseconds / 60_000) % 60
  const rest = Math.floor(milliseconds / 1000) % 60
  return `${pad(hours, 2)}:${pad(minutes, 2)}:${pad(rest, 2)}${separator}${pad(milliseconds % 1000, 3)}`
}

/** Replaces the characters that WebVTT reads as markup. An arrow would begin another cue. */
function escapeCue(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
