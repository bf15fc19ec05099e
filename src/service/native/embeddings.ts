/** Native inference of embedding models: a vector for each text. */
import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { integer, recordSchema, text } from '../fields.ts'
import {
  createVectorSpec,
  createVectors,
  type EmbeddingsBody,
  MIN_DIMENSIONS,
  readEmbeddingInputs,
} from '../openai/embedding-answers.ts'
import { AnswerFields, nativeProtocol, Webhook } from './protocol.ts'

const NativeEmbeddingsBody = z.object({
  inputs: z
    .array(text({ min: 1 }))
    .min(1)
    .max(LIMITS.embeddingInputs),
  normalize: z.boolean().nullish(),
  dimensions: integer({ min: MIN_DIMENSIONS }).nullish(),
  custom_instruction: text().nullish(),
  service_tier: z.enum(['default', 'priority']).nullish(),
  webhook: Webhook,
})
type NativeEmbeddingsBody = z.output<typeof NativeEmbeddingsBody>

const EmbeddingsAnswer = recordSchema('EmbeddingsInferenceAnswer', {
  ...AnswerFields,
  embeddings: z.array(z.array(z.number())),
  input_tokens: z.int(),
})

export const EMBEDDINGS_INFERENCE = nativeProtocol({
  body: NativeEmbeddingsBody,
  returns: EmbeddingsAnswer,
  needsTokenizer: true,
  parse: body => {
    const { promptTokens, longestPromptTokens } = readEmbeddingInputs(toEmbeddingsBody('', body))
    return { prompt: JSON.stringify(listTexts(body)), promptTokens, longestPromptTokens }
  },
  createWork: ({ world, target, model, findScriptedAnswer }, body, { promptTokens }) => {
    const embeddingsBody = toEmbeddingsBody(model, body)
    const inputs = readEmbeddingInputs(embeddingsBody)
    const vectors = createVectorSpec(world, target, embeddingsBody, inputs, findScriptedAnswer)
    return {
      spec: { ...vectors, promptTokens },
    }
  },
  createResult: (chance, { promptTokens, ...vectors }) => ({
    embeddings: createVectors(chance, vectors).map(vector => [...vector]),
    input_tokens: promptTokens,
  }),
})

/** Returns the texts as the model reads them: an instruction is before each one. */
function listTexts({ inputs, custom_instruction: instruction }: NativeEmbeddingsBody): string[] {
  return instruction ? inputs.map(input => `${instruction}\n${input}`) : inputs
}

function toEmbeddingsBody(model: string, body: NativeEmbeddingsBody): EmbeddingsBody {
  return { model, input: listTexts(body), dimensions: body.dimensions }
}
