/** Creates the text of a saved page from recordings, with the parts of the package. */

import { existsSync, readFileSync } from 'node:fs'
import { inSlices, Slices } from '../../lib/slices.ts'
import type { SavedContent } from './content.ts'
import { preparePage } from './page-recording.ts'
import type { CompressedScript, PageParts } from './parts.ts'
import { savedPage } from './saved-page.ts'

/**
 * Returns a page that runs recordings again.
 *
 * @throws RecordingError for a text that is not a recording of this version
 */
export async function createSavedPage(content: SavedContent): Promise<string> {
  const slices = new Slices()
  const prepared = await inSlices(preparePage(content), slices)
  return inSlices(savedPage(await readPageParts(prepared.needsTokenizer), prepared.content), slices)
}

/**
 * Reads the parts of a saved page.
 *
 * @param needsTokenizer whether the page has to count tokens, which makes it three times as large
 */
export async function readPageParts(needsTokenizer: boolean): Promise<PageParts> {
  const built = (name: string) => new URL(`pages/${name}`, import.meta.url)
  if (existsSync(built('saved-page.json'))) {
    const read = (name: string): unknown => JSON.parse(readFileSync(built(name), 'utf8'))
    const parts = read('saved-page.json') as PageParts
    return needsTokenizer ? { ...parts, tokenizer: read('tokenizer.json') as CompressedScript } : parts
  }
  // From the source.
  const { bundleSavedPage } = await import(new URL('../../../tools/build/pages.js', import.meta.url).href)
  const { tokenizer, ...parts } = (await bundleSavedPage()) as Required<PageParts>
  return needsTokenizer ? { ...parts, tokenizer } : parts
}
