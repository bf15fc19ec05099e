import { tryParseJson } from '../../../lib/json-text.ts'

/** The element of a saved page that contains its recordings. */
const CONTENT = /<script type="application\/json" id="saved-content">([^<]*)<\/script>/

/**
 * Returns the recordings of the worlds in a saved page.
 *
 * @throws Error for a page without recordings
 */
export async function recordingsOfPage(html: string): Promise<readonly string[]> {
  const content = tryParseJson(CONTENT.exec(html)?.[1] ?? '') as
    | { worlds?: readonly { recording: string }[] }
    | undefined
  if (!Array.isArray(content?.worlds)) {
    throw new Error('Failed to open the page: it contains no recordings. Give a page that modelhost-sim saved.')
  }
  return Promise.all(content.worlds.map(({ recording }) => inflate(recording)))
}

/** Returns the text of a recording, which is compressed (zlib) and in Base64. */
async function inflate(base64: string): Promise<string> {
  const bytes = new Blob([Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))])
  return new Response(bytes.stream().pipeThrough(new DecompressionStream('deflate'))).text()
}
