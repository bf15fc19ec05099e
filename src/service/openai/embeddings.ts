import * as z from 'zod'
import { dimensionsOf, embed } from '../../simulation/inference/embeddings.ts'
import { DeferredResult, endpoint, refuse } from '../endpoint.ts'
import { integer, text } from '../fields.ts'
import { hashRequest, INFERENCE_REFUSALS, startInference, waitForWholeAnswer } from './request-lifecycle.ts'
import { throwScriptedError } from './scripted-answers.ts'
import { countTokens } from './tokenizer.ts'

/** Texts of one request at most. */
const MAX_INPUTS = 2_048
/** To so many numbers a vector may be shortened: what the schemas of embedding models in the fixtures say. */
const MIN_DIMENSIONS = 32

const Tokens = z.array(integer({ min: 0 })).min(1)

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
  })
  .meta({ id: 'EmbeddingList' })

export const createEmbeddings = endpoint({
  route: 'POST /v1/embeddings',
  isMirrored: true,
  summary: 'Turn texts into vectors',
  provenance: 'neighbour',
  assumptions: [
    'model is one whose task is embeddings: a deployment of the account or a current model of the catalog',
    'unit vectors drawn from seed, model and text: equal texts have equal ones, texts that share words are alike',
    `input is a text, tokens, or up to ${MAX_INPUTS} of either`,
    `a vector is as long as the tag of the model says (768-dimensions), or as models of its size have it; dimensions shortens it, to ${MIN_DIMENSIONS} at least, and more is 400`,
    'encoding_format base64: 32-bit floats, little-endian',
  ],
  refusals: {
    ...INFERENCE_REFUSALS,
    400: `${INFERENCE_REFUSALS[400]}, or dimensions asks for more than the model has`,
  },
  acceptsKeyHeader: true,
  needs: ['tokenizer'],
  body: z.object({
    model: text({ min: 1 }),
    input: z.union([
      text({ min: 1 }),
      z
        .array(text({ min: 1 }))
        .min(1)
        .max(MAX_INPUTS),
      Tokens,
      z.array(Tokens).min(1).max(MAX_INPUTS),
    ]),
    encoding_format: z.enum(['float', 'base64']).nullable().optional(),
    dimensions: integer({ min: MIN_DIMENSIONS }).nullable().optional(),
    user: text().nullable().optional(),
  }),
  returns: EmbeddingList,
  example: { body: { model: 'cedarline/cedar-embed-base', input: 'A river in spring.' } },
  handle: ({ body, world, token, request, findScriptedAnswer }) => {
    const { model, input } = body
    const inputs = toInputs(input)
    const prompt = JSON.stringify(input)
    // Tokens that are sent are counted as they are.
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
      // Nothing but an error can be said in place of a vector.
      if (scriptedAnswer !== undefined && 'error' in scriptedAnswer) throwScriptedError(scriptedAnswer.error)
      return { prefix: 'embd-', hash: hashRequest(name, prompt), promptTokens, answerTokens: 0, longestAnswer: 0 }
    })
    return new DeferredResult(waiter =>
      waitForWholeAnswer(world, handle, 0, waiter, request, () => ({
        object: 'list' as const,
        data: inputs.map((one, index) => {
          const itemText = typeof one === 'string' ? one : `tokens ${one.join(' ')}`
          const vector = embed(world.chance, name, itemText, dimensions)
          const embedding = body.encoding_format === 'base64' ? base64(vector) : [...vector]
          return { object: 'embedding' as const, index, embedding }
        }),
        model,
        usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
      })),
    )
  },
})

type Input = z.output<(typeof createEmbeddings)['body']>['input']

function toInputs(input: Input): readonly (string | number[])[] {
  if (typeof input === 'string') return [input]
  return typeof input[0] === 'number' ? [input as number[]] : (input as (string | number[])[])
}

function base64(vector: Float64Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [i, value] of vector.entries()) bytes.setFloat32(i * 4, value, true)
  let text = ''
  for (let i = 0; i < bytes.byteLength; i++) text += String.fromCharCode(bytes.getUint8(i))
  return btoa(text)
}
