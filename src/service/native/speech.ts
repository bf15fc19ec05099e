/** Native inference of speech models: audio of a text. */
import * as z from 'zod'
import { concatBytes, encodeBase64 } from '../../lib/bytes.ts'
import { LIMITS } from '../../lib/limits.ts'
import { speechWork } from '../../simulation/inference/media-work.ts'
import { DEFAULT_VOICE, requireKnownVoice, SPEECH_FORMAT, SpeechFormatName, Voice } from '../audio/speech-requests.ts'
import { countCodePoints, recordSchema, text } from '../fields.ts'
import { createSpeech, type SpeechLength, speechSeconds } from '../media/speech.ts'
import { requireNoError } from '../openai/scripted-answers.ts'
import { AnswerFields, nativeProtocol, Webhook } from './protocol.ts'

const SpeechBody = z.object({
  text: text({ min: 1, max: LIMITS.speechCharacters }),
  output_format: SpeechFormatName.nullish(),
  preset_voice: z.union([Voice, z.array(Voice).max(4)]).nullish(),
  voice_id: text().nullish(),
  speed: z.number().min(0.25).max(4).nullish(),
  service_tier: z.enum(['default', 'priority']).nullish(),
  webhook: Webhook,
})
type SpeechBody = z.output<typeof SpeechBody>

const SpeechAnswer = recordSchema('SpeechInferenceAnswer', {
  ...AnswerFields,
  /** A data URL. */
  audio: z.string(),
  input_character_length: z.int(),
  output_format: z.string(),
})

export const SPEECH_INFERENCE = nativeProtocol({
  body: SpeechBody,
  returns: SpeechAnswer,
  needsTokenizer: false,
  parse: body => ({ prompt: JSON.stringify([voiceOf(body), body.speed ?? 1, body.text]), promptTokens: 0 }),
  createWork: ({ world, model, findScriptedAnswer }, body) => {
    requireKnownVoice(world, voiceOf(body))
    // A scripted text cannot replace audio, so only errors apply.
    requireNoError(findScriptedAnswer(model, body.text))
    const length: SpeechLength = { characters: countCodePoints(body.text), speed: body.speed ?? 1 }
    return {
      spec: { ...length, format: body.output_format ?? SPEECH_FORMAT },
      longestAnswer: 1,
      work: speechWork(world.profile, { characters: length.characters, seconds: speechSeconds(length) }),
    }
  },
  createResult: (_, { format, ...length }) => {
    const { pieces, contentType } = createSpeech(length, format)
    return {
      audio: `data:${contentType};base64,${encodeBase64(concatBytes(pieces))}`,
      input_character_length: length.characters,
      output_format: format,
    }
  },
})

/** Returns the voice of the account, the preset voice, or the first of several preset voices. */
function voiceOf({ voice_id, preset_voice: preset }: SpeechBody): string {
  return voice_id || (Array.isArray(preset) ? preset[0] : preset) || DEFAULT_VOICE
}
