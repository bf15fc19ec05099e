/** The prompts that an engine remembers: what it has read of a prompt, it does not read again in the next one. */
import type { Micros } from '../../kernel/duration.ts'
import { hash32 } from '../../kernel/random.ts'

/** Tokens in a block of the cache of an engine. */
export const BLOCK_TOKENS = 16
/** Characters in a block of a hashed prompt: about 16 tokens of English text. */
const BLOCK_CHARACTERS = 64
/** The most prompts that an engine remembers (A). It bounds the time of a request. */
const MAX_PROMPTS = 128

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

/** The prompts that an engine remembers, oldest first. The list is replaced, never edited, so forks share it. */
export type PrefixCache = readonly CachedPrompt[]

/**
 * Returns the blocks of a prompt; undefined if it is shorter than a block.
 *
 * @param model full name of the model. Prompts of different models and adapters have no common blocks.
 */
export function hashPromptBlocks(model: string, prompt: string, promptTokens: number): PromptBlocks | undefined {
  const count = Math.floor(prompt.length / BLOCK_CHARACTERS)
  if (count === 0) return undefined
  const hashes = new Int32Array(count)
  let hash = hash32(model)
  for (let block = 0, i = 0; block < count; block++) {
    // FNV-1a, because a running hash of the whole prompt needs one pass.
    for (const end = i + BLOCK_CHARACTERS; i < end; i++) hash = Math.imul(hash ^ prompt.charCodeAt(i), 0x01000193)
    hashes[block] = hash
  }
  return { hashes, tokensPerBlock: (promptTokens * BLOCK_CHARACTERS) / prompt.length }
}

/** Returns the tokens of a prompt that are in a cache: whole blocks, and never the last token of the prompt. */
export function countCachedTokens(
  cache: PrefixCache,
  { hashes, tokensPerBlock }: PromptBlocks,
  promptTokens: number,
  now: Micros,
): number {
  const tokens = Math.min(countCachedBlocks(cache, hashes, now) * tokensPerBlock, promptTokens - 1)
  return Math.max(0, Math.floor(tokens / BLOCK_TOKENS)) * BLOCK_TOKENS
}

/** Returns a cache with one more prompt. The oldest prompts leave it if it would hold more than `capacity` tokens. */
export function withPrompt(cache: PrefixCache, prompt: CachedPrompt, capacity: number, now: Micros): PrefixCache {
  const { hashes } = prompt
  const cachedBlocks = countCachedBlocks(cache, hashes, now)
  const kept = [prompt]
  let { tokens } = prompt
  let isCovered = false
  for (let i = cache.length - 1; i >= 0; i--) {
    const known = cache[i]!
    if (known.readAt <= now) {
      // A prompt that continues an earlier one has all its blocks.
      if (isCovered && known.hashes.length <= cachedBlocks && isPrefix(known.hashes, hashes)) continue
      isCovered ||= cachedBlocks > 0 && known.hashes[cachedBlocks - 1] === hashes[cachedBlocks - 1]
    }
    tokens += known.tokens
    if (tokens > capacity || kept.length === MAX_PROMPTS) break
    kept.push(known)
  }
  return kept.reverse()
}

/** Returns a cache after the end of a request. A prompt that its engine has not read leaves the cache. */
export function withEndedPrompt(cache: PrefixCache, sequence: number, isRead: boolean, now: Micros): PrefixCache {
  const index = cache.findLastIndex(prompt => prompt.sequence === sequence)
  const prompt = cache[index]
  if (prompt === undefined) return cache
  if (!isRead) return cache.toSpliced(index, 1)
  return prompt.readAt <= now ? cache : cache.with(index, { ...prompt, readAt: now })
}

/** Returns the number of leading blocks that the read prompts of a cache have in common with a prompt. */
function countCachedBlocks(cache: PrefixCache, hashes: Int32Array, now: Micros): number {
  let count = 0
  for (let i = cache.length - 1; i >= 0; i--) {
    const known = cache[i]!
    if (known.readAt > now) continue
    const most = Math.min(known.hashes.length, hashes.length)
    while (count < most && known.hashes[count] === hashes[count]) count++
  }
  return count
}

function isPrefix(part: Int32Array, whole: Int32Array): boolean {
  return part[part.length - 1] === whole[part.length - 1]
}
