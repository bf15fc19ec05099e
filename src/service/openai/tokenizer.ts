/** Counts tokens with o200k_base. It is loaded on first use, because reading its ranks takes time. */

import { LIMITS } from '../../lib/limits.ts'
import { countTokensOf, decodeTokenTexts, withFastMerge } from '../tokens/byte-pairs.ts'

/** Counts the tokens of a text. */
export type TokenCounter = (text: string) => number

let loading: Promise<TokenCounter> | undefined
let counter: TokenCounter | undefined
let splitter: ((text: string) => string[]) | undefined
let decoder: ((tokens: readonly number[]) => string | undefined) | undefined

/** Characters of the texts in one half of `CountedTexts`. */
const COUNTED_CHARACTERS = 250_000
/** The most texts of one half. In a batch of many short texts, a text that stays long outlives its collection. */
const COUNTED_TEXTS = 500

/**
 * The tokens of recent texts. Every turn of a chat sends the turns before it, and many requests have the same system
 * message, so most texts come again. When the recent half is full, it becomes the older one, which is forgotten.
 */
export class CountedTexts {
  readonly #counter: TokenCounter
  readonly #mostCharacters: number
  #recent = new Map<string, number>()
  #older: ReadonlyMap<string, number> = new Map()
  #characters = 0

  constructor(counter: TokenCounter, mostCharacters = COUNTED_CHARACTERS) {
    this.#counter = counter
    this.#mostCharacters = mostCharacters
  }

  /** Counts the tokens of a text. */
  count(text: string): number {
    return this.#recent.get(text) ?? this.#add(text, this.#older.get(text) ?? this.#counter(text))
  }

  #add(text: string, tokens: number): number {
    if (text.length > this.#mostCharacters) return tokens
    this.#characters += text.length
    if (this.#characters > this.#mostCharacters || this.#recent.size >= COUNTED_TEXTS) {
      this.#older = this.#recent
      this.#recent = new Map()
      this.#characters = text.length
    }
    this.#recent.set(text, tokens)
    return tokens
  }
}

/** Splits a text inside its long runs only, so every other text is counted exactly. Takes linear time. */
function* splitLongRuns(text: string): Generator<string> {
  let from = 0
  let run = 0
  let wasSpace = false
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    const isSpace = unit < 128 ? unit === 32 || (unit >= 9 && unit <= 13) : /\s/.test(text[i]!)
    run = isSpace === wasSpace ? run + 1 : 1
    wasSpace = isSpace
    // Skips the second half of a surrogate pair.
    if (unit >= 0xd800 && text.codePointAt(i)! > 0xffff) i++
    if (run < LIMITS.unbrokenRun) continue
    yield text.slice(from, i + 1)
    from = i + 1
    run = 0
  }
  if (from < text.length) yield text.slice(from)
}

/** Loads the tokenizer on the first call. Calls at the same time wait for that one, and later ones return at once. */
export function loadTokenizer(): Promise<TokenCounter> {
  loading ??= load().catch(error => {
    loading = undefined
    throw error
  })
  return loading
}

async function load(): Promise<TokenCounter> {
  const { loadEncoding } = await import('#token-encoding')
  const core = withFastMerge(await loadEncoding())
  // Text that spells a special token is encoded as plain text.
  const special: ReadonlySet<string> = new Set()
  const counts = new CountedTexts(text => {
    if (text.length < LIMITS.unbrokenRun) return countTokensOf(core, text)
    let sum = 0
    for (const piece of splitLongRuns(text)) sum += countTokensOf(core, piece)
    return sum
  })
  counter = text => counts.count(text)
  decoder = tokens => decodeTokenTexts(core, tokens)
  splitter = text => {
    const tokenTexts: string[] = []
    for (const piece of splitLongRuns(text)) {
      let pendingTokens: number[] = []
      for (const token of core.encodeNative(piece, special)) {
        pendingTokens.push(token)
        const part = decodeTokenTexts(core, pendingTokens) ?? ''
        // A character may take several tokens. All but the last give an incomplete text.
        const isWhole = !part.endsWith('\ufffd')
        tokenTexts.push(isWhole ? part : '')
        if (isWhole) pendingTokens = []
      }
      if (pendingTokens.length > 0) tokenTexts[tokenTexts.length - 1] = decodeTokenTexts(core, pendingTokens) ?? ''
    }
    return tokenTexts
  }
  return counter
}

/** Returns the counter, or undefined if the tokenizer is not loaded. */
export function getTokenCounter(): TokenCounter | undefined {
  return counter
}

/**
 * Returns the text of tokens, or undefined if a token is unknown.
 *
 * @throws Error if the tokenizer is not loaded
 */
export function decodeTokens(tokens: readonly number[]): string | undefined {
  if (decoder === undefined)
    throw new Error('Failed to decode tokens: the tokenizer is not loaded. Await loadTokenizer() first.')
  return decoder(tokens)
}

/**
 * Splits a text into one piece per token. Joined, the pieces are the text. A piece is empty if its character needs further
 * tokens.
 *
 * @throws Error if the tokenizer is not loaded
 */
export function splitTokens(text: string): string[] {
  if (splitter === undefined)
    throw new Error('Failed to split a text: the tokenizer is not loaded. Await loadTokenizer() first.')
  return splitter(text)
}

/**
 * Counts the tokens of a text.
 *
 * @throws Error if the tokenizer is not loaded: an endpoint that counts declares `needsTokenizer: true`
 */
export function countTokens(text: string): number {
  if (counter === undefined)
    throw new Error('Failed to count tokens: the tokenizer is not loaded. Await loadTokenizer() first.')
  return counter(text)
}
