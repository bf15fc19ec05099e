/** Saved pages as files of commands. */

import type { SavedContent } from '../../server/saved-page/content.ts'
import { createSavedPage } from '../../server/saved-page/create-page.ts'
import { UsageError } from '../command.ts'
import { requireWritable, writeTextFile } from '../files/output-file.ts'
import { ONLY_OWNER } from '../recording-files.ts'

/** Rejects a path that cannot be written, or that a browser would not open as a page. */
export function requirePageFile(path: string): void {
  requireWritable(path, 'html')
  if (/\.html?$/i.test(path)) return
  throw new UsageError(
    `Failed to write --html '${path}': a browser opens a page by its ending. Give a file that ends in .html.`,
  )
}

/** Writes a page that runs recordings again. Only its owner can read it, because it contains prompts. */
export async function writePageFile(path: string, content: SavedContent): Promise<void> {
  writeTextFile(path, await createSavedPage(content), 'html', ONLY_OWNER)
}
