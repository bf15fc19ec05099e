import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { formatCount } from '../../lib/text/numbers.ts'
import type { World } from '../../simulation/world.ts'
import { neighbour } from '../endpoint.ts'
import { looseObject, text } from '../fields.ts'
import { COMPAT_INFERENCE } from '../openai/request-lifecycle.ts'
import { refuseInput, rejectInput } from '../refusals.ts'
import {
  AudioBytes,
  DEFAULT_VOICE,
  requireKnownVoice,
  SPEECH_ASSUMPTIONS,
  SPEECH_FORMAT,
  SPEECH_REFUSALS,
  SpeechFormatName,
  type SpeechRequest,
  speak,
  streamSpeech,
  VOICES_TEXT,
  Voice,
} from './speech-requests.ts'

export const createSpeech = neighbour({
  ...COMPAT_INFERENCE,
  route: 'POST /v1/audio/speech',
  summary: 'Speak a text',
  assumptions: [
    'model: as in POST /v1/chat/completions, with the task text-to-speech',
    `voice: ${VOICES_TEXT}; it changes nothing`,
    `input has 1 to ${formatCount(LIMITS.speechCharacters)} characters`,
    ...SPEECH_ASSUMPTIONS,
    'extra_body is ignored; service_tier is validated and ignored',
  ],
  refusals: { ...SPEECH_REFUSALS, 404: `${SPEECH_REFUSALS[404]}; or the voice is unknown` },
  body: z.object({
    model: text({ min: 1 }),
    input: text({ min: 1, max: LIMITS.speechCharacters }),
    voice: Voice.nullish(),
    response_format: SpeechFormatName.default(SPEECH_FORMAT),
    speed: z.number().min(0.25).max(4).default(1),
    service_tier: z.enum(['default', 'priority']).nullish(),
    extra_body: looseObject({}).nullish(),
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

const MODEL = 'larkspur-audio/lark-tts-2'
/** A format with its rate in hertz and, for MP3, its kilobits per second: `pcm_24000`, `mp3_44100_128`. */
const DETAILED_FORMAT = /^([a-z0-9]+)_(\d+)(?:_\d+)?$/
const RATE = '24000'

const SpeechBody = z.object({
  text: text({ min: 1, max: LIMITS.speechCharacters }),
  model_id: text({ min: 1 }).default(MODEL),
  output_format: SpeechFormatName.default(SPEECH_FORMAT),
  language_code: text().nullish(),
})

const common = {
  refusals: {
    ...SPEECH_REFUSALS,
    400: `${SPEECH_REFUSALS[400]}; or the query asks for PCM at another rate than 24 kHz`,
    404: `${SPEECH_REFUSALS[404]}; or the voice_id is unknown`,
  },
  acceptsKeyHeader: true,
  acceptsScopedTokens: true,
  query: { output_format: z.string().optional() },
  body: SpeechBody,
  returns: AudioBytes,
  produces: 'audio/*',
} as const

const assumptions = [
  `voice_id: ${VOICES_TEXT}; it changes nothing`,
  `model_id: as model in POST /v1/audio/speech; default ${MODEL}`,
  `text has 1 to ${formatCount(LIMITS.speechCharacters)} characters`,
  'output_format of the query counts before that of the body, and can have a rate: pcm_24000, mp3_44100_128; the rate of mp3 is ignored',
  'language_code is ignored',
  ...SPEECH_ASSUMPTIONS,
]

const VOICE_ID = 'voice_k7RtWq2mXb4Hn9ZpGam4zyNb'
const exampleBody = { text: 'The rain ends before midnight.', output_format: 'mp3' } as const

export const textToSpeech = neighbour({
  ...common,
  route: 'POST /v1/text-to-speech/{voice_id}',
  summary: 'Speak a text in a voice',
  assumptions,
  example: { target: `/v1/text-to-speech/${VOICE_ID}`, body: exampleBody },
  handle: ({ params, query, body, ...scope }) =>
    speak(scope, toSpeechRequest(scope.world, params.voice_id, query.output_format, body)),
})

export const streamTextToSpeech = neighbour({
  ...common,
  route: 'POST /v1/text-to-speech/{voice_id}/stream',
  summary: 'Speak a text in a voice, sent while it is made',
  assumptions: [...assumptions, 'each second of audio is sent as soon as its share of the work is done'],
  example: { target: `/v1/text-to-speech/${VOICE_ID}/stream`, body: exampleBody },
  handle: ({ params, query, body, ...scope }) =>
    streamSpeech(scope, toSpeechRequest(scope.world, params.voice_id, query.output_format, body)),
})

function toSpeechRequest(
  world: World,
  voice: string,
  queryFormat: string | undefined,
  { text, model_id: model, output_format }: z.output<typeof SpeechBody>,
): SpeechRequest {
  requireKnownVoice(world, voice)
  const format = queryFormat === undefined ? output_format : parseFormat(queryFormat)
  return { model, text, voice, speed: 1, format }
}

/** Returns the format of `mp3`, `pcm_24000` or `mp3_44100_128`. */
function parseFormat(text: string): SpeechRequest['format'] {
  const [, name = text, rate = RATE] = DETAILED_FORMAT.exec(text) ?? []
  const format = SpeechFormatName.safeParse(name)
  if (!format.success) {
    const names = SpeechFormatName.options.map(option => `'${option}'`).join(', ')
    rejectInput(['query', 'output_format'], `Input should be one of ${names}`, 'enum')
  }
  if (format.data === 'pcm' && rate !== RATE) {
    refuseInput(400, `output_format ${text} is not supported: the audio has 24,000 samples a second, as in pcm_24000`)
  }
  return format.data
}
