/** The prompts that an engine remembers: what it has read of a prompt, it does not read again in the next one. */
import type { Micros } from '../../kernel/duration.ts'
import { hash32 } from '../../kernel/random.ts'

/** Tokens in a block of the cache of an engine. */
export const BLOCK_TOKENS = 16
/** Characters in a block of a hashed prompt: about 16 tokens of English text. */
const BLOCK_CHARACTERS = 64
/** The most prompts that an engine remembers (A). It bounds the time of a request. */
const MAX_PROMPTS = 64

/** The whole blocks of a prompt. */
export interface PromptBlocks {
  /** For each block the hash of the prompt up to its end. Two prompts with an equal hash are equal up to there. */
  readonly hashes: Int32Array
  /** Mean tokens of a block. */
  readonly tokensPerBlock: number
}

/** A prompt in the cache of an engine. */
export interface CachedPrompt {
  /** The sequence number of its request. */
  readonly sequence: number
  readonly hashes: Int32Array
  readonly tokens: number
  /** When the engine has read it. Before that, it gives no hits. */
  readonly readAt: Micros
}

/** The prompts that an engine remembers. They are replaced, never edited, so forks share them. */
export interface PrefixCache {
  /** Oldest first. */
  readonly prompts: readonly CachedPrompt[]
  /** The tokens of all prompts. Common beginnings count in each of them (A). */
  readonly tokens: number
}

export const EMPTY_PREFIX_CACHE: PrefixCache = Object.freeze({ prompts: Object.freeze([]), tokens: 0 })

/**
 * Returns the blocks of a prompt; undefined if it is shorter than a block.
 *
 * @param model full name of the model. Prompts of different models and adapters have no common blocks.
 */
export function hashPromptBlocks(model: string, prompt: string, promptTokens: number): PromptBlocks | undefined {
  const count = Math.floor(prompt.length / BLOCK_CHARACTERS)
  if (count === 0) return undefined
  const hashes = new Int32Array(count)
  let hash = hash32(model) | 0
  for (let block = 0; block < count; block++) {
    hash = hashBlock(hash, prompt, block * BLOCK_CHARACTERS)
    hashes[block] = hash
  }
  return { hashes, tokensPerBlock: (promptTokens * BLOCK_CHARACTERS) / prompt.length }
}

const FNV_PRIME = 0x01000193

/** Returns the hash of a block after another (FNV-1a). Four hashes side by side take half the time of one. */
function hashBlock(before: number, prompt: string, from: number): number {
  let [a, b, c, d] = [before, before ^ 1, before ^ 2, before ^ 3]
  for (let i = from; i < from + BLOCK_CHARACTERS; i += 4) {
    a = Math.imul(a ^ prompt.charCodeAt(i), FNV_PRIME)
    b = Math.imul(b ^ prompt.charCodeAt(i + 1), FNV_PRIME)
    c = Math.imul(c ^ prompt.charCodeAt(i + 2), FNV_PRIME)
    d = Math.imul(d ^ prompt.charCodeAt(i + 3), FNV_PRIME)
  }
  let hash = before
  for (const part of [a, b, c, d]) hash = Math.imul(hash ^ part ^ (part >>> 15), FNV_PRIME)
  return hash
}

/** Returns the number of leading blocks of a prompt that are in a cache. */
export function countCachedBlocks({ prompts }: PrefixCache, { hashes }: PromptBlocks, now: Micros): number {
  let count = 0
  for (let i = prompts.length - 1; i >= 0; i--) {
    const known = prompts[i]!
    if (known.readAt > now) continue
    while (count < hashes.length && known.hashes[count] === hashes[count]) count++
  }
  return count
}

/** Returns the tokens of a prompt in its leading blocks: whole blocks of the engine, without the last token. */
export function tokensOfBlocks(count: number, { tokensPerBlock }: PromptBlocks, promptTokens: number): number {
  const tokens = Math.min(count * tokensPerBlock, promptTokens - 1)
  return Math.max(0, Math.floor(tokens / BLOCK_TOKENS)) * BLOCK_TOKENS
}

/**
 * Returns a cache with one more prompt. The oldest prompts leave it if it would hold more than `capacity` tokens.
 *
 * @param cachedBlocks the leading blocks of the prompt that are in the cache
 */
export function withPrompt(
  { prompts, tokens }: PrefixCache,
  prompt: CachedPrompt,
  cachedBlocks: number,
  capacity: number,
  now: Micros,
): PrefixCache {
  const added = [...(cachedBlocks > 0 ? withoutCovered(prompts, prompt.hashes, cachedBlocks, now) : prompts), prompt]
  const isSame = added.length === prompts.length + 1
  let total = isSame ? tokens + prompt.tokens : added.reduce((sum, one) => sum + one.tokens, 0)
  let forgotten = 0
  while (added.length - forgotten > MAX_PROMPTS || (total > capacity && forgotten < added.length - 1)) {
    total -= added[forgotten++]!.tokens
  }
  return { prompts: forgotten > 0 ? added.slice(forgotten) : added, tokens: total }
}

/** Returns the prompts without those that a newer one continues, as a new prompt shows. */
function withoutCovered(
  prompts: readonly CachedPrompt[],
  hashes: Int32Array,
  cachedBlocks: number,
  now: Micros,
): readonly CachedPrompt[] {
  const lastBlock = cachedBlocks - 1
  const cover = prompts.findLastIndex(known => known.readAt <= now && known.hashes[lastBlock] === hashes[lastBlock])
  return prompts.filter((known, i) => {
    const { length } = known.hashes
    const isCovered = length <= cachedBlocks && known.hashes[length - 1] === hashes[length - 1]
    return i === cover || known.readAt > now || !isCovered
  })
}

/** Returns a cache after the end of a request. A prompt that its engine has not read leaves the cache. */
export function withEndedPrompt(cache: PrefixCache, sequence: number, isRead: boolean, now: Micros): PrefixCache {
  const { prompts, tokens } = cache
  const index = prompts.findLastIndex(prompt => prompt.sequence === sequence)
  const prompt = prompts[index]
  if (prompt === undefined) return cache
  if (!isRead) return { prompts: prompts.toSpliced(index, 1), tokens: tokens - prompt.tokens }
  if (prompt.readAt <= now) return cache
  const { hashes, tokens: promptTokens } = prompt
  return { prompts: prompts.with(index, { sequence, hashes, tokens: promptTokens, readAt: now }), tokens }
}
