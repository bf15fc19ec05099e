/** Writes saved pages in a page of a web server, which has the parts of pages beside its script. */

import type { SavedContent } from '../saved-page/content.ts'
import { preparePage } from '../saved-page/page-recording.ts'
import type { CompressedScript, PageParts } from '../saved-page/parts.ts'
import { savedPage } from '../saved-page/saved-page.ts'

/** Returns a page that runs recordings again. Rejects if the parts cannot be loaded. */
export async function writePage(content: SavedContent): Promise<string> {
  const prepared = preparePage(content)
  const parts = await load<PageParts>('saved-page.json')
  const tokenizer = prepared.needsTokenizer ? await load<CompressedScript>('tokenizer.json') : undefined
  return savedPage({ ...parts, tokenizer }, prepared.content)
}

async function load<Part>(name: string): Promise<Part> {
  if (location.protocol === 'file:') {
    throw new Error(
      'Failed to save a page: a page from the file system cannot read its parts. Open it from a web server.',
    )
  }
  const response = await fetch(new URL(name, document.baseURI))
  if (!response.ok)
    throw new Error(`Failed to load ${name}: the server answers ${response.status}. Build the site again.`)
  return (await response.json()) as Part
}
