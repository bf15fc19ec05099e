import * as z from 'zod'
import { LIMITS } from '../../limits.ts'
import { dimensionsOf, embed } from '../../simulation/inference/embeddings.ts'
import { endpoint } from '../endpoint.ts'
import { integer, text } from '../fields.ts'
import { refuse } from '../refusals.ts'
import { DeferredResult } from '../results.ts'
import { hashRequest, INFERENCE_REFUSALS, startInference, waitForWholeAnswer } from './request-lifecycle.ts'
import { throwScriptedError } from './scripted-answers.ts'
import { TokenArray, toInputList } from './text-inputs.ts'
import { countTokens } from './tokenizer.ts'

/** Minimum of `dimensions`, as in the schemas of the embedding models in the fixtures. */
const MIN_DIMENSIONS = 32

const Embedding = z.object({
  object: z.literal('embedding'),
  index: z.int(),
  embedding: z.union([z.array(z.number()), z.string()]),
})

const EmbeddingList = z
  .object({
    object: z.literal('list'),
    data: z.array(Embedding),
    model: z.string(),
    usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
    service_tier: z.string().optional(),
  })
  .meta({ id: 'EmbeddingList' })

export const createEmbeddings = endpoint({
  route: 'POST /v1/embeddings',
  isMirrored: true,
  summary: 'Turn texts into vectors',
  provenance: 'neighbour',
  assumptions: [
    'model: as in POST /v1/chat/completions, with the task embeddings',
    'a deployment that POST /deploy/llm creates has the task text-generation; embeddings need a catalog model or a deployment of the fixture',
    'the vectors are unit vectors, generated from seed, model and input',
    'equal inputs have equal vectors; texts with common words have similar vectors',
    'an array of tokens does not have the vector of its text',
    `input: a text, an array of tokens, or an array of up to ${LIMITS.embeddingInputs} of either`,
    'length of a vector: the tag of the catalog model (as in 768-dimensions), else by the number of parameters, from 384 to 4,096',
    `dimensions makes the vector shorter: ${MIN_DIMENSIONS} to the length of the model, else 400 or 422`,
    'encoding_format: float (default) or base64, which has 32-bit floats, little-endian',
  ],
  refusals: {
    ...INFERENCE_REFUSALS,
    400: `${INFERENCE_REFUSALS[400]}, or dimensions is above the length of the model`,
  },
  errorShape: 'compat',
  acceptsKeyHeader: true,
  needs: ['tokenizer'],
  maxBodyValues: LIMITS.tokenBodyValues,
  body: z.object({
    model: text({ min: 1 }),
    input: z.union([
      text({ min: 1 }),
      z
        .array(text({ min: 1 }))
        .min(1)
        .max(LIMITS.embeddingInputs),
      TokenArray,
      z.array(TokenArray).min(1).max(LIMITS.embeddingInputs),
    ]),
    encoding_format: z.enum(['float', 'base64']).nullable().optional(),
    dimensions: integer({ min: MIN_DIMENSIONS }).nullable().optional(),
    user: text().nullable().optional(),
    service_tier: z.enum(['default', 'priority']).nullable().optional(),
  }),
  returns: EmbeddingList,
  example: { body: { model: 'cedarline/cedar-embed-base', input: 'A river in spring.' } },
  handle: ({ body, world, token, request, findScriptedAnswer }) => {
    const { model, input } = body
    const inputs = toInputList(input)
    const prompt = JSON.stringify(input)
    const counts = inputs.map(inputItem => (typeof inputItem === 'string' ? countTokens(inputItem) : inputItem.length))
    const promptTokens = counts.reduce((sum, count) => sum + count, 0)
    let dimensions = 0
    let name = model
    const handle = startInference(world, token, model, 'embeddings', Math.max(...counts), 0, (_, target) => {
      name = target.name
      const modelDimensions = dimensionsOf(world, target)
      dimensions = body.dimensions ?? modelDimensions
      if (dimensions > modelDimensions)
        refuse(400, `a vector of ${model} has ${modelDimensions} numbers, and dimensions asks for ${dimensions}`)
      const scriptedAnswer = findScriptedAnswer(model, typeof inputs[0] === 'string' ? inputs[0] : '')
      // A scripted text cannot replace a vector, so only errors apply.
      if (scriptedAnswer !== undefined && 'error' in scriptedAnswer) throwScriptedError(scriptedAnswer.error)
      return { prefix: 'embd-', hash: hashRequest(name, prompt), promptTokens, answerTokens: 0, longestAnswer: 0 }
    })
    return new DeferredResult(waiter =>
      waitForWholeAnswer(world, handle, 0, waiter, request, () => ({
        object: 'list' as const,
        data: inputs.map((inputItem, index) => {
          const itemText = typeof inputItem === 'string' ? inputItem : `tokens ${inputItem.join(' ')}`
          const vector = embed(world.chance, name, itemText, dimensions)
          const embedding = body.encoding_format === 'base64' ? toBase64(vector) : [...vector]
          return { object: 'embedding' as const, index, embedding }
        }),
        model,
        usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
        ...(body.service_tier && { service_tier: body.service_tier }),
      })),
    )
  },
})

/** Encodes the numbers as 32-bit floats, little-endian. */
function toBase64(vector: Float64Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [i, value] of vector.entries()) bytes.setFloat32(i * 4, value, true)
  let text = ''
  for (let i = 0; i < bytes.byteLength; i++) text += String.fromCharCode(bytes.getUint8(i))
  return btoa(text)
}
