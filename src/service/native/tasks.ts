/** The types of models that native inference serves. */

import * as z from 'zod'
import type { ModelTask } from '../../data/records/enums.ts'
import { customWork } from '../../simulation/inference/media-work.ts'
import { recordSchema } from '../fields.ts'
import { createFormattedReply, createScriptedReply, type ReplyBounds, replyKey } from '../openai/answers.ts'
import { countTokens } from '../openai/tokenizer.ts'
import { EMBEDDINGS_INFERENCE } from './embeddings.ts'
import { IMAGE_INFERENCE } from './images.ts'
import { AnswerFields, type NativeProtocol, nativeProtocol, Webhook } from './protocol.ts'
import { RERANK_INFERENCE } from './reranking.ts'
import { SPEECH_INFERENCE } from './speech.ts'
import { TEXT_INFERENCE } from './text.ts'
import { TRANSCRIPTION_INFERENCE } from './transcription.ts'

/** The fields of a body are those of the model, which the simulator does not know. */
const CustomBody = z.looseObject({ webhook: Webhook })

const CustomAnswer = recordSchema('CustomInferenceAnswer', { ...AnswerFields, output: z.unknown() })

const NO_BOUNDS: ReplyBounds = { limit: undefined, stop: [] }

/** Native inference of custom models: any JSON object in, a drawn JSON value out. */
const CUSTOM_INFERENCE = nativeProtocol({
  body: CustomBody,
  returns: CustomAnswer,
  needsTokenizer: true,
  parse: ({ webhook: _, ...body }) => {
    const prompt = JSON.stringify(body)
    const promptTokens = countTokens(prompt)
    return { prompt, promptTokens }
  },
  createWork: ({ world, target, model, findScriptedAnswer }, _, { prompt }) => {
    const key = replyKey(world.chance, target.name, prompt, 0)
    const scriptedAnswer = findScriptedAnswer(model, prompt)
    const isText = scriptedAnswer !== undefined && 'text' in scriptedAnswer
    const reply =
      scriptedAnswer === undefined || 'toolCall' in scriptedAnswer
        ? createFormattedReply(world.chance, key, { type: 'json_object' }, NO_BOUNDS)
        : createScriptedReply(world.chance, key, scriptedAnswer, NO_BOUNDS)
    return {
      spec: { output: isText ? { text: reply.text } : JSON.parse(reply.text) },
      answerTokens: reply.tokens,
      longestAnswer: 1,
      work: customWork(world.profile),
    }
  },
  createResult: (_, spec) => spec,
})

// Each protocol gets only what it made itself, so their own types do not matter here.
// biome-ignore lint/suspicious/noExplicitAny: only `any` holds protocols of different bodies
export type AnyNativeProtocol = NativeProtocol<any, any, any, any>

export const NATIVE_PROTOCOLS = {
  'text-generation': TEXT_INFERENCE,
  embeddings: EMBEDDINGS_INFERENCE,
  'text-to-image': IMAGE_INFERENCE,
  'text-to-speech': SPEECH_INFERENCE,
  'automatic-speech-recognition': TRANSCRIPTION_INFERENCE,
  reranker: RERANK_INFERENCE,
  custom: CUSTOM_INFERENCE,
} as const satisfies Readonly<Record<ModelTask, AnyNativeProtocol>>
