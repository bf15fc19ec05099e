import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { neighbour } from '../endpoint.ts'
import { recordSchema } from '../fields.ts'
import { DeferredResult } from '../results.ts'
import {
  createEmbeddingList,
  createVectorSpec,
  EmbeddingsBody,
  MIN_DIMENSIONS,
  readEmbeddingInputs,
  type VectorSpec,
} from './embedding-answers.ts'
import {
  COMPAT_INFERENCE,
  hashRequest,
  INFERENCE_REFUSALS,
  startInference,
  waitForWholeAnswer,
} from './request-lifecycle.ts'

const Embedding = z.object({
  object: z.literal('embedding'),
  index: z.int(),
  embedding: z.union([z.array(z.number()), z.string()]),
})

const EmbeddingList = recordSchema('EmbeddingList', {
  object: z.literal('list'),
  data: z.array(Embedding),
  model: z.string(),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  service_tier: z.string().optional(),
})

export const createEmbeddings = neighbour({
  ...COMPAT_INFERENCE,
  route: 'POST /v1/embeddings',
  summary: 'Turn texts into vectors',
  assumptions: [
    'model: as in POST /v1/chat/completions, with the task embeddings',
    'a deployment that POST /deploy/llm creates has the task text-generation; POST /v1/deploy deploys embedding models',
    'the vectors are unit vectors, generated from seed, model and input',
    'equal inputs have equal vectors; texts with common words have similar vectors',
    'an array of tokens does not have the vector of its text',
    `input: a text, an array of tokens, or an array of up to ${LIMITS.embeddingInputs} of either`,
    'length of a vector: the tag of the catalog model (as in 768-dimensions), else by the number of parameters, from 384 to 4,096',
    `dimensions makes the vector shorter: ${MIN_DIMENSIONS} to the length of the model, else 400 or 422`,
    'the answer has no id: no source names one, so its cost cannot be asked for',
    'encoding_format: float (default) or base64, which has 32-bit floats, little-endian',
  ],
  refusals: {
    ...INFERENCE_REFUSALS,
    400: `${INFERENCE_REFUSALS[400]}, or dimensions is above the length of the model`,
  },
  needsTokenizer: true,
  maxBodyValues: LIMITS.tokenBodyValues,
  body: EmbeddingsBody,
  returns: EmbeddingList,
  example: { body: { model: 'cedarline/cedar-embed-base', input: 'A river in spring.' } },
  handle: ({ body, world, token, request, findScriptedAnswer }) => {
    const { model, input } = body
    const inputs = readEmbeddingInputs(body)
    const { promptTokens, longestPromptTokens } = inputs
    const prompt = JSON.stringify(input)
    let vectors: VectorSpec
    const handle = startInference(world, token, model, 'embeddings', longestPromptTokens, 0, (_, target) => {
      vectors = createVectorSpec(world, target, body, inputs, findScriptedAnswer)
      return {
        prefix: 'embd-',
        hash: hashRequest(target.name, prompt),
        promptTokens,
        answerTokens: 0,
        longestAnswer: 0,
      }
    })
    return new DeferredResult(waiter =>
      waitForWholeAnswer(world, handle, 0, waiter, request, () =>
        createEmbeddingList(world.chance, vectors, model, promptTokens, body.service_tier),
      ),
    )
  },
})
