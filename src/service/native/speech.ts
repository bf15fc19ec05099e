/** Native inference of speech models: audio of a text. */
import * as z from 'zod'
import { encodeBase64 } from '../../lib/base64.ts'
import { LIMITS } from '../../limits/limits.ts'
import { speechWork } from '../../simulation/inference/media-work.ts'
import { DEFAULT_VOICE, requireKnownVoice, SPEECH_FORMAT, SpeechFormatName } from '../audio/speech-requests.ts'
import { countCodePoints, text } from '../fields.ts'
import { audioCode } from '../media/load-audio.ts'
import { speechSeconds } from '../media/speech-plan.ts'
import { throwScriptedError } from '../openai/scripted-answers.ts'
import { refuseInput } from '../refusals.ts'
import { AnswerFields, type NativeProtocol, Webhook } from './protocol.ts'

const SpeechBody = z.object({
  text: text({ min: 1, max: LIMITS.speechCharacters }),
  output_format: SpeechFormatName.nullable().optional(),
  preset_voice: z
    .union([text(), z.array(text()).max(4)])
    .nullable()
    .optional(),
  voice_id: text().nullable().optional(),
  speed: z.number().min(0.25).max(4).nullable().optional(),
  service_tier: z.enum(['default', 'priority']).nullable().optional(),
  webhook: Webhook,
})
type SpeechBody = z.output<typeof SpeechBody>

const SpeechAnswer = z
  .object({
    ...AnswerFields,
    /** A data URL. */
    audio: z.string(),
    input_character_length: z.int(),
    output_format: z.string(),
  })
  .meta({ id: 'SpeechInferenceAnswer' })

export interface SpeechSpec {
  readonly model: string
  readonly text: string
  readonly voice: string
  readonly speed: number
  readonly format: Exclude<z.output<typeof SpeechFormatName>, 'opus'>
}

export const SPEECH_INFERENCE: NativeProtocol<typeof SpeechBody, typeof SpeechAnswer, SpeechSpec> = {
  body: SpeechBody,
  returns: SpeechAnswer,
  needs: ['audio'],
  parse: body => {
    requireFormat(body)
    return {
      prompt: JSON.stringify([voiceOf(body), body.speed ?? 1, body.text]),
      promptTokens: 0,
      longestPromptTokens: 0,
    }
  },
  createWork: ({ world, target, model, findScriptedAnswer }, body) => {
    const voice = voiceOf(body)
    requireKnownVoice(world, voice)
    const scriptedAnswer = findScriptedAnswer(model, body.text)
    // A scripted text cannot replace audio, so only errors apply.
    if (scriptedAnswer !== undefined && 'error' in scriptedAnswer) throwScriptedError(scriptedAnswer.error)
    const characters = countCodePoints(body.text)
    const speed = body.speed ?? 1
    return {
      spec: { model: target.name, text: body.text, voice, speed, format: requireFormat(body) },
      answerTokens: 0,
      longestAnswer: 1,
      work: speechWork(world.profile, { characters, seconds: speechSeconds(characters, speed) }),
      streamSource: undefined,
    }
  },
  createResult: (chance, { format, ...speech }) => {
    const { pieces, contentType } = audioCode.get().synthesizeSpeech(chance, speech, format)
    return {
      audio: `data:${contentType};base64,${encodeBase64(joinPieces(pieces))}`,
      input_character_length: countCodePoints(speech.text),
      output_format: format,
    }
  },
}

/** Returns the voice of the account, the preset voice, or the first of several preset voices. */
function voiceOf({ voice_id, preset_voice: preset }: SpeechBody): string {
  return voice_id || (Array.isArray(preset) ? preset[0] : preset) || DEFAULT_VOICE
}

/** Returns the format of the audio. Refuses with 400 a format that is not made. */
function requireFormat({ output_format }: SpeechBody): SpeechSpec['format'] {
  const format = output_format ?? SPEECH_FORMAT
  return format === 'opus' ? refuseInput(400, 'opus is not supported here: ask for wav, pcm, flac or mp3') : format
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
