/** The parts of embeddings that live requests and batch lines share. */

import * as z from 'zod'
import type { Chance } from '../../kernel/random.ts'
import { encodeBase64 } from '../../lib/bytes.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { ModelTarget } from '../../simulation/deployments/model-lookup.ts'
import { dimensionsOf, embed } from '../../simulation/inference/embeddings.ts'
import type { World } from '../../simulation/world.ts'
import { integer, text } from '../fields.ts'
import { refuse } from '../refusals.ts'
import { TokenArray, toInputList } from './prompt-tokens.ts'
import { requireNoError, type ScriptedAnswers } from './scripted-answers.ts'
import { countTokens } from './tokenizer.ts'

/** Minimum of `dimensions`, as in the schemas of the embedding models in the fixtures. */
export const MIN_DIMENSIONS = 32

/** The body of a request for embeddings. */
export const EmbeddingsBody = z.object({
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
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: integer({ min: MIN_DIMENSIONS }).nullish(),
  user: text().nullish(),
  service_tier: z.enum(['default', 'priority']).nullish(),
})
export type EmbeddingsBody = z.output<typeof EmbeddingsBody>

/** The inputs of a request with their lengths in tokens. */
export interface EmbeddingInputs {
  readonly inputs: readonly (string | readonly number[])[]
  readonly promptTokens: number
  readonly longestPromptTokens: number
}

/** What determines the vectors of an answer, beside the seed. It is plain data. */
export interface VectorSpec {
  /** The name of the target, by which aliases of a model have the same vectors. */
  readonly name: string
  readonly inputs: EmbeddingInputs['inputs']
  readonly dimensions: number
  readonly isBase64: boolean
}

/** Returns the inputs of a body with their lengths in tokens. The tokenizer must be loaded. */
export function readEmbeddingInputs({ input }: EmbeddingsBody): EmbeddingInputs {
  const inputs = toInputList(input)
  const counts = inputs.map(inputItem => (typeof inputItem === 'string' ? countTokens(inputItem) : inputItem.length))
  const promptTokens = counts.reduce((sum, count) => sum + count, 0)
  return { inputs, promptTokens, longestPromptTokens: Math.max(...counts) }
}

/**
 * Returns what determines the vectors of a request.
 *
 * @throws RefusalError if `dimensions` is above the length of the model, or if a scripted answer is an error
 */
export function createVectorSpec(
  world: World,
  target: ModelTarget,
  { model, dimensions, encoding_format }: EmbeddingsBody,
  { inputs }: EmbeddingInputs,
  findScriptedAnswer: ScriptedAnswers['takeAnswer'],
): VectorSpec {
  const modelDimensions = dimensionsOf(world, target)
  const length = dimensions ?? modelDimensions
  if (length > modelDimensions)
    refuse(400, `a vector of ${model} has ${modelDimensions} numbers, and dimensions asks for ${length}`)
  // A scripted text cannot replace a vector, so only errors apply.
  requireNoError(findScriptedAnswer(model, typeof inputs[0] === 'string' ? inputs[0] : ''))
  return { name: target.name, inputs, dimensions: length, isBase64: encoding_format === 'base64' }
}

/** Returns the vector of each input. */
export function createVectors(chance: Chance, { name, inputs, dimensions }: VectorSpec): Float64Array[] {
  return inputs.map(input =>
    embed(chance, name, typeof input === 'string' ? input : `tokens ${input.join(' ')}`, dimensions),
  )
}

/** Returns the body of an answer. */
export function createEmbeddingList(
  chance: Chance,
  spec: VectorSpec,
  model: string,
  promptTokens: number,
  serviceTier: string | null | undefined,
) {
  return {
    object: 'list' as const,
    data: createVectors(chance, spec).map((vector, index) => ({
      object: 'embedding' as const,
      index,
      embedding: spec.isBase64 ? toBase64(vector) : [...vector],
    })),
    model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    ...(serviceTier && { service_tier: serviceTier }),
  }
}

/** Encodes the numbers as 32-bit floats, little-endian. */
function toBase64(vector: Float64Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [i, value] of vector.entries()) bytes.setFloat32(i * 4, value, true)
  return encodeBase64(new Uint8Array(bytes.buffer))
}
