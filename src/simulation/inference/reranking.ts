import { type Chance, purpose } from '../../kernel/random.ts'

const SCORE_DRAW = purpose('rerank.score')
/** The share of a score that is drawn. The rest follows from the words that query and document share. */
const DRAWN_SHARE = 0.1

/** A document and the query that it may answer. */
export interface RerankPair {
  readonly query: string
  readonly document: string
  readonly instruction: string
}

/**
 * Returns how well a document answers a query, above 0 and below 1. The more words of the query a document has, the
 * higher its score.
 */
export function scoreRelevance(chance: Chance, model: string, { query, document, instruction }: RerankPair): number {
  const queryWords = listWords(query)
  const documentWords = new Set(listWords(document))
  const shared = queryWords.filter(word => documentWords.has(word)).length
  const overlap = queryWords.length === 0 ? 0 : shared / queryWords.length
  const draw = chance.unit(chance.key('rerank', JSON.stringify([model, query, document, instruction])), SCORE_DRAW)
  // Between the bounds of 0.001 and 0.999, because a probability of a model is never certain.
  return 0.001 + 0.998 * ((1 - DRAWN_SHARE) * overlap + DRAWN_SHARE * draw)
}

/** Returns the different words of a text in lower case. */
function listWords(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])]
}
