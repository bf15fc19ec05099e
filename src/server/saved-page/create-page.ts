/** Creates the text of a saved page from recordings, with the parts of the package. */

import type { SavedContent } from './content.ts'
import { readPageParts } from './package-parts.ts'
import { preparePage } from './page-recording.ts'
import { savedPage } from './saved-page.ts'

/**
 * Returns a page that runs recordings again.
 *
 * @throws RecordingError for a text that is not a recording of this version
 */
export async function createSavedPage(content: SavedContent): Promise<string> {
  const prepared = preparePage(content)
  return savedPage(await readPageParts(prepared.needsTokenizer), prepared.content)
}
