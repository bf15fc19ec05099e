import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { formatCount } from '../../lib/text/format-count.ts'
import { neighbour } from '../endpoint.ts'
import { looseObject, text } from '../fields.ts'
import {
  AudioBytes,
  DEFAULT_VOICE,
  requireKnownVoice,
  SPEECH_ASSUMPTIONS,
  SPEECH_FORMAT,
  SPEECH_REFUSALS,
  SpeechFormatName,
  speak,
  VOICES_TEXT,
  Voice,
} from './speech-requests.ts'

export const createSpeech = neighbour({
  route: 'POST /v1/audio/speech',
  isMirrored: true,
  summary: 'Speak a text',
  assumptions: [
    'model: as in POST /v1/chat/completions, with the task text-to-speech',
    `voice: ${VOICES_TEXT}; it changes nothing`,
    `input has 1 to ${formatCount(LIMITS.speechCharacters)} characters`,
    ...SPEECH_ASSUMPTIONS,
    'extra_body is ignored; service_tier is validated and ignored',
  ],
  refusals: { ...SPEECH_REFUSALS, 404: `${SPEECH_REFUSALS[404]}; or the voice is unknown` },
  errorShape: 'compat',
  acceptsKeyHeader: true,
  acceptsScopedTokens: true,
  body: z.object({
    model: text({ min: 1 }),
    input: text({ min: 1, max: LIMITS.speechCharacters }),
    voice: Voice.nullable().optional(),
    response_format: SpeechFormatName.default(SPEECH_FORMAT),
    speed: z.number().min(0.25).max(4).default(1),
    service_tier: z.enum(['default', 'priority']).nullable().optional(),
    extra_body: looseObject({}).nullable().optional(),
  }),
  returns: AudioBytes,
  produces: 'audio/*',
  example: { body: { model: 'larkspur-audio/lark-tts-2', input: 'The rain ends before midnight.', voice: 'ada' } },
  handle: ({ body, ...scope }) => {
    const { model, input, response_format: format, speed } = body
    const voice = body.voice || DEFAULT_VOICE
    requireKnownVoice(scope.world, voice)
    return speak(scope, { model, text: input, voice, speed, format })
  },
})
