/** Native inference of rerankers: how well each document answers its query. */
import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { scoreRelevance } from '../../simulation/inference/embeddings.ts'
import { recordSchema, text } from '../fields.ts'
import { requireNoError } from '../openai/scripted-answers.ts'
import { countTokens } from '../openai/tokenizer.ts'
import { refuseInput } from '../refusals.ts'
import { AnswerFields, nativeProtocol, Webhook } from './protocol.ts'

const Texts = z
  .array(text({ min: 1 }))
  .min(1)
  .max(LIMITS.embeddingInputs)

const RerankBody = z.object({
  queries: Texts,
  documents: Texts,
  instruction: text().nullish(),
  service_tier: z.enum(['default', 'priority']).nullish(),
  webhook: Webhook,
})
type RerankBody = z.output<typeof RerankBody>

const RerankAnswer = recordSchema('RerankInferenceAnswer', {
  ...AnswerFields,
  scores: z.array(z.number().min(0).max(1)),
  input_tokens: z.int(),
})

export const RERANK_INFERENCE = nativeProtocol({
  body: RerankBody,
  returns: RerankAnswer,
  needsTokenizer: true,
  parse: body => {
    const instructionTokens = body.instruction ? countTokens(body.instruction) : 0
    const counts = listPairs(body).map(pair => instructionTokens + countTokens(pair.query) + countTokens(pair.document))
    return {
      prompt: JSON.stringify([body.queries, body.documents, body.instruction ?? '']),
      promptTokens: counts.reduce((sum, count) => sum + count, 0),
      longestPromptTokens: Math.max(...counts),
    }
  },
  createWork: ({ world, target, model, findScriptedAnswer }, body, { promptTokens }) => {
    // A scripted text cannot replace a score, so only errors apply.
    requireNoError(findScriptedAnswer(model, body.queries[0]!))
    const instruction = body.instruction ?? ''
    return {
      spec: {
        scores: listPairs(body).map(({ query, document }) =>
          scoreRelevance(world.chance, target.name, { query, document, instruction }),
        ),
        input_tokens: promptTokens,
      },
    }
  },
  createResult: (_, spec) => spec,
})

/** Returns each document with its query: the only one, or the one at the same position. */
function listPairs({ queries, documents }: RerankBody): { readonly query: string; readonly document: string }[] {
  if (queries.length !== 1 && queries.length !== documents.length) {
    refuseInput(
      400,
      `queries has ${queries.length} texts and documents has ${documents.length}: give one query, or a query for each document`,
    )
  }
  return documents.map((document, index) => ({ query: queries[queries.length === 1 ? 0 : index]!, document }))
}
