/** Creates the text of a saved page from recordings, with the parts of the package. */

import type { SavedContent } from './content.ts'
import { readPageParts } from './package-parts.ts'
import { toPageRecording } from './page-recording.ts'
import { savedPage } from './saved-page.ts'

/**
 * Returns a page that runs recordings again.
 *
 * @throws RecordingError for a text that is no recording of this version
 */
export async function createSavedPage(content: SavedContent): Promise<string> {
  let needsTokenizer = false
  const worlds = content.worlds.map(world => {
    const recording = toPageRecording(world.recording, `of ${world.title}`)
    needsTokenizer ||= recording.needsTokenizer
    return { ...world, recording: recording.text }
  })
  return savedPage(await readPageParts(needsTokenizer), { ...content, worlds })
}
