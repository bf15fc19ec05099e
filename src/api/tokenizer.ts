/** Counting tokens: o200k_base, loaded on first use because it costs 130 ms and 65 MB. */

/** Counts the tokens of a text. */
export type TokenCounter = (text: string) => number

let counter: TokenCounter | undefined
let splitter: ((text: string) => string[]) | undefined
let reader: ((tokens: readonly number[]) => string | undefined) | undefined

/** Merging the pairs of one unbroken run takes the square of its length, and 40,000 characters take seconds. */
const MOST_UNBROKEN = 1000
const LONG_RUN = /\S{1000}|\s{1000}/
/** By code points: half a surrogate pair is no character. */
const RUNS = /\S{1000}|\s{1000}/gu

/** A text cut inside its overlong runs alone, so that every other text is counted exactly. */
function* piecesOf(text: string): Generator<string> {
  let from = 0
  for (const { index, 0: run } of text.matchAll(RUNS)) {
    const end = index + run.length
    yield text.slice(from, end)
    from = end
  }
  if (from < text.length) yield text.slice(from)
}

/** Loads the tokenizer once; later calls return at once. */
export async function loadTokenizer(): Promise<TokenCounter> {
  if (counter === undefined) {
    const { countTokens, encode, decode } = await import('gpt-tokenizer/encoding/o200k_base')
    // Text that spells a special token is text here: the caller's words are never instructions to the encoder.
    const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }
    counter = text => {
      if (text.length < MOST_UNBROKEN || !LONG_RUN.test(text)) return countTokens(text, plain)
      let sum = 0
      for (const piece of piecesOf(text)) sum += countTokens(piece, plain)
      return sum
    }
    reader = tokens => {
      try {
        return decode(tokens)
      } catch {
        // One of them is none.
        return undefined
      }
    }
    splitter = text => {
      const found: string[] = []
      for (const piece of piecesOf(text)) {
        let open: number[] = []
        for (const token of encode(piece, plain)) {
          open.push(token)
          const part = decode(open)
          // A character may take several tokens: the first of them say nothing yet.
          const isWhole = !part.endsWith('\ufffd')
          found.push(isWhole ? part : '')
          if (isWhole) open = []
        }
        if (open.length > 0) found[found.length - 1] = decode(open)
      }
      return found
    }
  }
  return counter
}

/** The counter once it is loaded, undefined before. */
export function tokenizer(): TokenCounter | undefined {
  return counter
}

/**
 * The text that tokens stand for; undefined where one of them is none.
 *
 * @throws when nobody loaded the tokenizer
 */
export function textOfTokens(tokens: readonly number[]): string | undefined {
  if (reader === undefined) throw new Error('Failed to read tokens: no tokenizer. Await loadTokenizer() first.')
  return reader(tokens)
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
