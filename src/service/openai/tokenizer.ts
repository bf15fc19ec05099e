/** Counting tokens: o200k_base, loaded on first use because it costs 130 ms and 65 MB. */

import { type BytePairCore, withFastMerge } from './byte-pairs.ts'

/** Counts the tokens of a text. */
export type TokenCounter = (text: string) => number

let counter: TokenCounter | undefined
let splitter: ((text: string) => string[]) | undefined
let decoder: ((tokens: readonly number[]) => string | undefined) | undefined

/** Longest run of letters, digits and signs, or of white space, that is encoded in one piece, in code points. */
const MAX_UNBROKEN_RUN = 1000

/** A text cut inside its overlong runs alone, so that every other text is counted exactly. Takes linear time. */
function* splitLongRuns(text: string): Generator<string> {
  let from = 0
  let run = 0
  let wasSpace = false
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    const isSpace = unit < 128 ? unit === 32 || (unit >= 9 && unit <= 13) : /\s/.test(text[i]!)
    run = isSpace === wasSpace ? run + 1 : 1
    wasSpace = isSpace
    // Half a surrogate pair is no character.
    if (unit >= 0xd800 && text.codePointAt(i)! > 0xffff) i++
    if (run < MAX_UNBROKEN_RUN) continue
    yield text.slice(from, i + 1)
    from = i + 1
    run = 0
  }
  if (from < text.length) yield text.slice(from)
}

/** Loads the tokenizer once; later calls return at once. */
export async function loadTokenizer(): Promise<TokenCounter> {
  if (counter === undefined) {
    const { default: encoding, decode } = await import('gpt-tokenizer/encoding/o200k_base')
    // Private in its types; the version of the package is exact.
    const { bytePairEncodingCoreProcessor } = encoding as unknown as { bytePairEncodingCoreProcessor: BytePairCore }
    const core = withFastMerge(bytePairEncodingCoreProcessor)
    // Text that spells a special token is text here: the caller's words are never instructions to the encoder.
    const special: ReadonlySet<string> = new Set()
    counter = text => {
      if (text.length < MAX_UNBROKEN_RUN) return core.countNative(text, special)
      let sum = 0
      for (const piece of splitLongRuns(text)) sum += core.countNative(piece, special)
      return sum
    }
    decoder = tokens => {
      try {
        return decode(tokens)
      } catch {
        // One of them is none.
        return undefined
      }
    }
    splitter = text => {
      const tokenTexts: string[] = []
      for (const piece of splitLongRuns(text)) {
        let pendingTokens: number[] = []
        for (const token of core.encodeNative(piece, special)) {
          pendingTokens.push(token)
          const part = decode(pendingTokens)
          // A character may take several tokens: the first of them say nothing yet.
          const isWhole = !part.endsWith('\ufffd')
          tokenTexts.push(isWhole ? part : '')
          if (isWhole) pendingTokens = []
        }
        if (pendingTokens.length > 0) tokenTexts[tokenTexts.length - 1] = decode(pendingTokens)
      }
      return tokenTexts
    }
  }
  return counter
}

/** The counter once it is loaded, undefined before. */
export function getTokenCounter(): TokenCounter | undefined {
  return counter
}

/**
 * The text that tokens stand for; undefined where one of them is none.
 *
 * @throws when nobody loaded the tokenizer
 */
export function decodeTokens(tokens: readonly number[]): string | undefined {
  if (decoder === undefined) throw new Error('Failed to read tokens: no tokenizer. Await loadTokenizer() first.')
  return decoder(tokens)
}

/**
 * A text in as many pieces as it has tokens, which together are the text; one may be empty, where a character takes
 * several tokens.
 *
 * @throws when nobody loaded the tokenizer
 */
export function splitTokens(text: string): string[] {
  if (splitter === undefined) throw new Error('Failed to split a text: no tokenizer. Await loadTokenizer() first.')
  return splitter(text)
}

/**
 * The tokens of a text.
 *
 * @throws when nobody loaded the tokenizer: an endpoint that counts declares `needs: ['tokenizer']`
 */
export function countTokens(text: string): number {
  if (counter === undefined) throw new Error('Failed to count tokens: not loaded. Await loadTokenizer() first.')
  return counter(text)
}
