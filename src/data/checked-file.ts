/** Files that the build writes for trusted sources: the digest of the sources, and on the next line a value as JSON. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Returns the value of a checked file below the folder of the bundle. Returns undefined if the build wrote no such file,
 * or if its sources have changed since.
 *
 * @param path the path relative to the bundle, as in `./worlds/default.json`
 */
export function readCheckedFile(path: string, digestSources: () => string): string | undefined {
  // Beside the bundle. A run from source has no such folder, so it checks the sources each time.
  const file = fileURLToPath(new URL(path, import.meta.url))
  if (!existsSync(file)) return undefined
  const text = readFileSync(file, 'utf8')
  const lineEnd = text.indexOf('\n')
  return text.slice(0, lineEnd) === digestSources() ? text.slice(lineEnd + 1) : undefined
}

/** Returns a digest of texts in their order. */
export function digestOfTexts(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length}\n`).update(text)
  return hash.digest('hex')
}

/** Returns the text of a checked file. */
export function formatCheckedFile(digest: string, value: unknown): string {
  return `${digest}\n${JSON.stringify(value)}`
}
