/** Native inference of speech recognition: what an audio file says. */
import * as z from 'zod'
import { hashBytes } from '../../kernel/random.ts'
import { decodeBase64 } from '../../lib/bytes.ts'
import { transcriptionWork } from '../../simulation/inference/media-work.ts'
import { AUDIO_SIZE_LIMIT, requireAudioSeconds } from '../audio/transcription-answers.ts'
import type { UploadedFile } from '../endpoint.ts'
import { integer, recordSchema, rowsOf, text } from '../fields.ts'
import { transcribe } from '../media/transcript.ts'
import { requireNoError } from '../openai/scripted-answers.ts'
import { refuseInput, refuseOverLimit } from '../refusals.ts'
import { AnswerFields, nativeProtocol, Webhook } from './protocol.ts'

const DATA_URL = /^data:[^,]*;base64,[A-Za-z0-9+/]+={0,2}$/

/** The file part of a form, or a data URL. */
const Audio = z
  .custom<string | UploadedFile>(
    value => (typeof value === 'string' ? isDataUrl(value) : isUploadedFile(value)),
    'audio should be a file of a multipart form, or a data URL in base64',
  )
  .meta({ type: 'string', pattern: DATA_URL.source })

const TranscriptionBody = z.object({
  audio: Audio,
  task: z.enum(['transcribe', 'translate']).nullish(),
  initial_prompt: text().nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  language: text({ max: 16 }).nullish(),
  chunk_level: z.enum(['segment', 'word']).nullish(),
  chunk_length_s: integer({ min: 1, max: 30 }).nullish(),
  webhook: Webhook,
})

const TimedText = { text: z.string(), start: z.number(), end: z.number() }

const TranscriptionAnswer = recordSchema('TranscriptionInferenceAnswer', {
  ...AnswerFields,
  text: z.string(),
  segments: rowsOf({ id: z.int(), ...TimedText }),
  /** Without `chunk_level` `word`, null. */
  words: z.array(z.object(TimedText)).nullable(),
  language: z.string(),
  input_length_ms: z.int(),
  /** Seconds. */
  duration: z.number(),
})

export const TRANSCRIPTION_INFERENCE = nativeProtocol({
  body: TranscriptionBody,
  returns: TranscriptionAnswer,
  needsTokenizer: false,
  parse: ({ audio, task }) => {
    const file = toFile(audio)
    return { prompt: `${task ?? 'transcribe'} ${file.hash}`, promptTokens: 0, file }
  },
  createWork: ({ world, target, model, findScriptedAnswer }, { task, language, chunk_level }, { file }) => {
    const seconds = requireAudioSeconds(file!)
    const scriptedAnswer = requireNoError(findScriptedAnswer(model, file!.filename))
    const scriptedText = scriptedAnswer !== undefined && 'text' in scriptedAnswer ? scriptedAnswer.text : undefined
    return {
      spec: {
        model: target.name,
        contentHash: file!.hash,
        task: task ?? 'transcribe',
        seconds,
        ...(scriptedText !== undefined && { text: scriptedText }),
        language: task === 'translate' ? 'en' : language || 'en',
        hasWords: chunk_level === 'word',
      },
      longestAnswer: 1,
      work: transcriptionWork(world.profile, seconds),
    }
  },
  createResult: (chance, { language, hasWords, ...source }) => {
    const transcript = transcribe(chance, source)
    return {
      text: transcript.text,
      segments: transcript.segments.map(({ id, text, start, end }) => ({ id, text, start, end })),
      words: hasWords ? transcript.words.map(({ word, start, end }) => ({ text: word, start, end })) : null,
      language,
      input_length_ms: Math.round(transcript.seconds * 1000),
      duration: transcript.seconds,
    }
  },
})

/** Tells what `DATA_URL` tells. That pattern overflows the stack for tens of megabytes if V8 does not optimize it. */
function isDataUrl(text: string): boolean {
  const comma = text.indexOf(',')
  if (comma === -1 || !text.startsWith('data:') || !text.slice('data:'.length, comma).endsWith(';base64')) return false
  const content = text.slice(comma + 1)
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0
  return content.length > padding && !/[^A-Za-z0-9+/]/.test(content.slice(0, content.length - padding))
}

/** Whether a value is the file of a form. No JSON has bytes. */
function isUploadedFile(value: unknown): value is UploadedFile {
  const { chunks } = (value ?? {}) as Partial<UploadedFile>
  return Array.isArray(chunks) && chunks.length > 0 && chunks.every(chunk => chunk instanceof Uint8Array)
}

/** Returns the file that a data URL has. Equal contents have equal hashes, however they came. */
function toFile(audio: string | UploadedFile): UploadedFile {
  if (typeof audio !== 'string') return audio
  const content = audio.slice(audio.indexOf(',') + 1).replace(/=+$/, '')
  // Four characters are three bytes.
  if (Math.floor((content.length * 3) / 4) > AUDIO_SIZE_LIMIT.bytes) refuseOverLimit(413, AUDIO_SIZE_LIMIT.refusal)
  if (content.length % 4 === 1) refuseInput(400, 'audio cannot be read: the base64 of its data URL is cut')
  const bytes = decodeBase64(content)
  return { filename: '', chunks: [bytes], bytes: bytes.length, hash: hashBytes(bytes) }
}
