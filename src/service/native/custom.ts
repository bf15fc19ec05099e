/** Native inference of custom models: any JSON object in, a drawn JSON value out. */
import * as z from 'zod'
import { customWork } from '../../simulation/inference/media-work.ts'
import { createFormattedReply, createScriptedReply, type ReplyBounds, replyKey } from '../openai/answers.ts'
import { countTokens } from '../openai/tokenizer.ts'
import { AnswerFields, type NativeProtocol, Webhook } from './protocol.ts'

/** The fields of a body are those of the model, which the simulator does not know. */
const CustomBody = z.looseObject({ webhook: Webhook })

const CustomAnswer = z.object({ ...AnswerFields, output: z.unknown() }).meta({ id: 'CustomInferenceAnswer' })

export interface CustomResult {
  readonly output: unknown
}

const NO_BOUNDS: ReplyBounds = { limit: undefined, stop: [] }

export const CUSTOM_INFERENCE: NativeProtocol<typeof CustomBody, typeof CustomAnswer, CustomResult> = {
  body: CustomBody,
  returns: CustomAnswer,
  needsTokenizer: true,
  parse: ({ webhook: _, ...body }) => {
    const prompt = JSON.stringify(body)
    const promptTokens = countTokens(prompt)
    return { prompt, promptTokens, longestPromptTokens: promptTokens }
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
      streamSource: undefined,
    }
  },
  createResult: (_, spec) => spec,
}
