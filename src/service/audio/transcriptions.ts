import * as z from 'zod'
import { neighbour } from '../endpoint.ts'
import { text } from '../fields.ts'
import { COMPAT_INFERENCE } from '../openai/request-lifecycle.ts'
import {
  AUDIO_SIZE_LIMIT,
  answerTranscription,
  createExampleAudio,
  TRANSCRIPTION_ASSUMPTIONS,
  TRANSCRIPTION_FIELDS,
  TRANSCRIPTION_REFUSALS,
  TranscriptionAnswer,
} from './transcription-answers.ts'

const common = { ...COMPAT_INFERENCE, refusals: TRANSCRIPTION_REFUSALS, returns: TranscriptionAnswer } as const

const EXAMPLE_FILE = { filename: 'memo.wav', content: createExampleAudio() } as const
const MODEL_ASSUMPTION = 'model: as in POST /v1/chat/completions, with the task automatic-speech-recognition'

export const createTranscription = neighbour({
  ...common,
  route: 'POST /v1/audio/transcriptions',
  summary: 'Write down what an audio file says',
  assumptions: [
    MODEL_ASSUMPTION,
    ...TRANSCRIPTION_ASSUMPTIONS,
    'language is repeated in verbose_json; default en',
    'timestamp_granularities (also with [] behind its name, and repeated) chooses segments, words or both; default segments',
  ],
  upload: {
    fields: {
      ...TRANSCRIPTION_FIELDS,
      language: text().nullish(),
      timestamp_granularities: z.array(z.enum(['segment', 'word'])).nullish(),
    },
    limit: () => AUDIO_SIZE_LIMIT,
  },
  example: {
    form: {
      fields: { model: 'larkspur-audio/lark-scribe-large', response_format: 'verbose_json' },
      ...EXAMPLE_FILE,
    },
  },
  handle: ({ upload, ...scope }) =>
    answerTranscription(scope, {
      ...{ model: upload.model, file: upload.file, format: upload.response_format ?? 'json' },
      task: 'transcribe',
      language: upload.language || 'en',
      granularities: upload.timestamp_granularities ?? ['segment'],
    }),
})

export const createTranslation = neighbour({
  ...common,
  route: 'POST /v1/audio/translations',
  summary: 'Write down in English what an audio file says',
  assumptions: [
    MODEL_ASSUMPTION,
    ...TRANSCRIPTION_ASSUMPTIONS,
    'the words differ from those of a transcription of the same file; the language of verbose_json is en',
  ],
  upload: { fields: TRANSCRIPTION_FIELDS, limit: () => AUDIO_SIZE_LIMIT },
  example: { form: { fields: { model: 'larkspur-audio/lark-scribe-large' }, ...EXAMPLE_FILE } },
  handle: ({ upload, ...scope }) =>
    answerTranscription(scope, {
      ...{ model: upload.model, file: upload.file, format: upload.response_format ?? 'json' },
      task: 'translate',
      language: 'en',
      granularities: ['segment'],
    }),
})
