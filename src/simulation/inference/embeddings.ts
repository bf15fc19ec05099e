import type { CatalogModel } from '../../data/records/catalog.ts'
import { type Chance, hash32, purpose } from '../../kernel/random.ts'
import type { ModelSources, ModelTarget } from '../deployments/model-lookup.ts'

const DIRECTION_SEED = purpose('embedding.words')
/** What a text has of its own, beside the words that it shares with others. */
const UNIQUE_TEXT_WEIGHT = 0.25

/** Numbers in a vector of models up to so many billions of parameters (A: MiniLM, BGE, E5, GTE and Qwen3 Embedding). */
const DIMENSIONS_BY_SIZE: readonly (readonly [number, number])[] = [
  [0.05, 384],
  [0.2, 768],
  [1, 1024],
  [2, 1536],
  [5, 2560],
  [Number.POSITIVE_INFINITY, 4096],
]

/**
 * Numbers in a vector of a model: what its tag in the catalog says, as in `768-dimensions`; without one, what embedding
 * models of its size have.
 */
export function dimensionsOf(
  { deployments, store }: Pick<ModelSources, 'deployments' | 'store'>,
  target: ModelTarget,
): number {
  if (target.kind === 'catalog') return dimensionsFromTags(store.models.get(target.model)!)
  const { source, repo, parametersB } = deployments.read(target.deployment).weights
  const base = source === 'catalog' ? store.models.get(repo) : undefined
  return base === undefined ? defaultDimensions(parametersB) : dimensionsFromTags(base)
}

function dimensionsFromTags({ tags, parameters_b }: CatalogModel): number {
  const tagMatch = tags.map(tag => /^(\d{1,5})-dimensions$/.exec(tag)).find(match => match !== null)
  return tagMatch ? Number(tagMatch[1]) : defaultDimensions(parameters_b)
}

function defaultDimensions(parametersB: number): number {
  return DIMENSIONS_BY_SIZE.find(([maxParametersB]) => parametersB <= maxParametersB)![1]
}

/**
 * A unit vector for a text: equal texts have equal ones, and texts that share words lie nearer to each other than those
 * that do not, so that a search by likeness finds what speaks of the same.
 *
 * @example embed(chance, 'acme/embed', 'a river in spring', 1024).length // 1024
 */
export function embed(chance: Chance, model: string, text: string, dimensions: number): Float64Array {
  const seed = hash32(chance.hex(8, chance.key('embedding', model), DIRECTION_SEED))
  const vector = new Float64Array(dimensions)
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  // Square roots, as searches weigh words: the tenth "the" says little more than the first.
  for (const [word, count] of counts) addDirection(vector, hash32(word, seed), Math.sqrt(count))
  addDirection(vector, hash32(`\u0000${text}`, seed), UNIQUE_TEXT_WEIGHT * Math.sqrt(Math.max(1, counts.size)))
  let sum = 0
  for (const value of vector) sum += value * value
  const length = Math.sqrt(sum)
  for (let i = 0; i < dimensions; i++) vector[i] = vector[i]! / length
  return vector
}

/** Adds a direction that is known by a number. */
function addDirection(vector: Float64Array, direction: number, weight: number): void {
  let state = direction | 1
  for (let i = 0; i < vector.length; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    vector[i] = vector[i]! + (state / 0x80000000) * weight
  }
}

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
