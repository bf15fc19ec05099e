/** Requests for speech: to a model by its name, in a voice, whole or as a stream. */
import * as z from 'zod'
import { speechWork } from '../../simulation/inference/media-work.ts'
import type { World } from '../../simulation/world.ts'
import type { ApiScope } from '../api-scope.ts'
import { countCodePoints, text } from '../fields.ts'
import {
  createSpeech,
  SPEECH_FORMATS,
  type SpeechFormat,
  type SpeechLength,
  speechPieces,
  speechSeconds,
} from '../media/speech.ts'
import {
  answerWhenStarted,
  hashRequest,
  INFERENCE_REFUSALS,
  startMediaInference,
  waitForWholeAnswer,
} from '../openai/request-lifecycle.ts'
import { requireNoError } from '../openai/scripted-answers.ts'
import { type BytePiece, createByteStream } from '../openai/sse.ts'
import { refuse } from '../refusals.ts'
import { Bytes, DeferredResult } from '../results.ts'

export const SpeechFormatName = z.enum(SPEECH_FORMATS)
export const SPEECH_FORMAT = 'wav'

/** The content of an audio file. Clients get bytes. */
export const AudioBytes = z
  .custom<Uint8Array>(value => value instanceof Uint8Array)
  .meta({ type: 'string', format: 'binary' })

export const SPEECH_REFUSALS = { ...INFERENCE_REFUSALS, 400: 'the model has another task' } as const

export const SPEECH_ASSUMPTIONS = [
  'the audio is silence: 24 kHz, 16 bits, one channel',
  'it lasts a second for each 15 characters, in whole frames of 24 ms',
  'formats: wav (default), pcm (without a header), flac, mp3 (32 kbit/s), opus (in Ogg)',
] as const

/** What is to be said, and how. */
export interface SpeechRequest {
  readonly model: string
  readonly text: string
  /** The id of a voice of the account, or a preset voice. */
  readonly voice: string
  readonly speed: number
  readonly format: SpeechFormat
}

type SpeechScope = Pick<ApiScope, 'world' | 'token' | 'findScriptedAnswer'> & { readonly request: Request }

/** The voice of a request without one. */
export const DEFAULT_VOICE = 'default'
/** The voices of every speech model (A): two names, and those that the types of the openai package list. */
const PRESET_VOICES: readonly string[] = [
  ...[DEFAULT_VOICE, 'ada', 'alloy', 'ash', 'ballad', 'cedar', 'coral', 'echo', 'fable', 'marin', 'nova', 'onyx'],
  ...['sage', 'shimmer', 'verse'],
]
export const Voice = text().meta({ examples: [...PRESET_VOICES] })
export const VOICES_TEXT = `the voice_id of a voice of the account, or a preset voice: ${PRESET_VOICES.join(', ')}`

/** Refuses with 404 a voice that is neither a preset voice nor a voice of the account. */
export function requireKnownVoice({ store }: World, voice: string): void {
  if (PRESET_VOICES.includes(voice) || store.voices.get(voice) !== undefined) return
  refuse(404, `no voice ${voice}: use ${VOICES_TEXT}`)
}

/** Answers with the whole audio when its work is done. */
export function speak(scope: SpeechScope, speech: SpeechRequest): DeferredResult<Uint8Array> {
  const { world, request } = scope
  const length = lengthOf(speech)
  const handle = startSpeech(scope, speech, length, 1)
  return new DeferredResult(waiter =>
    waitForWholeAnswer<Uint8Array>(world, handle, 1, waiter, request, () => {
      const { pieces, contentType } = createSpeech(length, speech.format)
      return new Bytes(pieces, { contentType })
    }),
  )
}

/** Streams the audio: each second is sent as soon as its share of the work is done. */
export function streamSpeech(scope: SpeechScope, speech: SpeechRequest): DeferredResult<never> {
  const { world, request } = scope
  const length = lengthOf(speech)
  const longestAnswer = speechPieces(length)
  const handle = startSpeech(scope, speech, length, longestAnswer)
  return new DeferredResult<never>(waiter =>
    answerWhenStarted<never>(world, handle, waiter, request, () => {
      const { pieces, contentType } = createSpeech(length, speech.format)
      const frames = pieces.map((bytes, token): BytePiece => ({ token, bytes })).values()
      const stream = { world, handle, key: handle.plan.key, longestAnswer, waiter, client: request, frames }
      return createByteStream(stream, contentType)
    }),
  )
}

function lengthOf({ text, speed }: SpeechRequest): SpeechLength {
  return { characters: countCodePoints(text), speed }
}

function startSpeech(
  { world, token, findScriptedAnswer }: SpeechScope,
  { model, text, voice, speed }: SpeechRequest,
  length: SpeechLength,
  pieces: number,
) {
  return startMediaInference(world, token, model, 'text-to-speech', target => {
    // A scripted text cannot replace audio, so only errors apply.
    requireNoError(findScriptedAnswer(model, text))
    return {
      prefix: 'speech-',
      hash: hashRequest(target.name, JSON.stringify([voice, speed, text])),
      work: speechWork(world.profile, { characters: length.characters, seconds: speechSeconds(length) }),
      pieces,
    }
  })
}
