/** The parts of saved pages, as the package has them. */

import { readFileSync } from 'node:fs'
import type { CompressedScript, PageParts } from './parts.ts'

/**
 * Reads the parts of a saved page.
 *
 * @param needsTokenizer whether the page has to count tokens, which makes it three times as large
 */
export async function readPageParts(needsTokenizer: boolean): Promise<PageParts> {
  const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`pages/${name}`, import.meta.url), 'utf8'))
  if (!import.meta.url.endsWith('.ts')) {
    const parts = read('saved-page.json') as PageParts
    return needsTokenizer ? { ...parts, tokenizer: read('tokenizer.json') as CompressedScript } : parts
  }
  // From the source: the built parts may be older than the files.
  const { bundleSavedPage } = await import(new URL('../../../tools/build/pages.js', import.meta.url).href)
  const { tokenizer, ...parts } = (await bundleSavedPage()) as Required<PageParts>
  return needsTokenizer ? { ...parts, tokenizer } : parts
}
