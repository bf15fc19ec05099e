/** Counting tokens: o200k_base, loaded on first use because it costs 130 ms and 65 MB. */

/** Counts the tokens of a text. */
export type TokenCounter = (text: string) => number

let counter: TokenCounter | undefined

/** Loads the tokenizer once; later calls return at once. */
export async function loadTokenizer(): Promise<TokenCounter> {
  if (counter === undefined) {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    // Text that spells a special token is text here: the caller's words are never instructions to the encoder.
    const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }
    counter = text => countTokens(text, plain)
  }
  return counter
}

/** The counter once it is loaded, undefined before. */
export function tokenizer(): TokenCounter | undefined {
  return counter
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
