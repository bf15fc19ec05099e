/** The encoding o200k_base with its ranks in a table. A browser build replaces this file by `encoding.browser.ts`. */
import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { BytePairCore } from './byte-pairs.ts'
import { RankTable } from './rank-table.ts'

const BYTE_ORDER_MARK = '\ufeff'

/** Loads the encoding. It is that of gpt-tokenizer, without its strings. */
export async function loadEncoding(): Promise<BytePairCore> {
  const [{ BytePairEncodingCore }, { O200KBase }, ranks] = await Promise.all([
    import('gpt-tokenizer/BytePairEncodingCore'),
    import('gpt-tokenizer/encodingParams/o200k_base'),
    readRanks(),
  ])
  const table = new RankTable(ranks)
  // The fields are private in the types. package.json pins the exact version.
  const core = new BytePairEncodingCore(O200KBase([])) as unknown as BytePairCore
  const decodeSpecial = core.tryDecodeToken.bind(core)
  // Of tokens with a mark of the byte order, gpt-tokenizer has bytes and no text.
  const rankOfText = (text: string) => (text.startsWith(BYTE_ORDER_MARK) ? undefined : table.rankOfText(text))
  return Object.assign(core, {
    getBpeRankFromString: rankOfText,
    getBpeRankFromBytes: (bytes: Uint8Array) => {
      // It looks for bytes by their text, which has no mark.
      const text = hasMark(bytes) ? textOf(bytes) : undefined
      return text === undefined ? table.rankOf(bytes) : rankOfText(text)
    },
    tryDecodeToken: (token: number) => {
      const bytes = table.bytesOf(token)
      if (bytes === undefined) return decodeSpecial(token)
      return hasMark(bytes) ? bytes : (textOf(bytes) ?? bytes)
    },
  })
}

/** Reads the ranks from the file of the package. The source has none, and makes them. */
async function readRanks(): Promise<Uint8Array<ArrayBuffer>> {
  const built = new URL('token-ranks.gz', import.meta.url)
  if (existsSync(built)) return gunzipSync(readFileSync(built))
  const { packRanks } = await import(new URL('../../../tools/build/token-ranks.js', import.meta.url).href)
  return packRanks()
}

function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** Returns the text of bytes; undefined if they are not whole characters. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
