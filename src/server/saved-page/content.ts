/** What a saved page is about: recordings of worlds, and where the control room begins. */

import { strFromU8, strToU8, unzlibSync, Zlib } from 'fflate'
import { concatBytes, decodeBase64, encodeBase64 } from '../../lib/bytes.ts'
import type { Steps } from '../../lib/slices.ts'
import type { Location } from '../page/store/place.ts'

/** Bytes that are compressed between two pauses: about 15 ms. */
const PIECE_BYTES = 262_144

/** A recorded world of a page. The first one is the default world. */
export interface SavedWorld {
  /** Names it in messages, as in `the run without faults`. */
  readonly title: string
  /** The text of the recording. */
  readonly recording: string
}

export interface SavedContent {
  readonly title: string
  readonly worlds: readonly SavedWorld[]
  /** Where the control room begins, as `openPage` takes it. */
  readonly start?: Location | undefined
  /** The report of `explore --json`, a line for each flow. */
  readonly explored?: string | undefined
}

/** Returns the content as JSON, with compressed recordings. */
export function* encodeContent({ worlds, ...rest }: SavedContent): Steps<string> {
  const compressed: SavedWorld[] = []
  for (const { title, recording } of worlds)
    compressed.push({ title, recording: encodeBase64(yield* deflate(recording)) })
  return JSON.stringify({ ...rest, worlds: compressed })
}

/** Compresses a text (zlib). The result has no time, so that equal recordings give equal pages. */
function* deflate(text: string): Steps<Uint8Array> {
  const bytes = strToU8(text)
  const parts: Uint8Array[] = []
  const zlib = new Zlib({ level: 9 }, part => parts.push(part))
  for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES) {
    zlib.push(bytes.subarray(at, at + PIECE_BYTES), at + PIECE_BYTES >= bytes.length)
    yield
  }
  return concatBytes(parts)
}

/** Reads the content of a page. Throws an error for a text that was changed. */
export function decodeContent(text: string): SavedContent {
  const { worlds, ...rest } = JSON.parse(text) as SavedContent
  return {
    ...rest,
    worlds: worlds.map(({ title, recording }) => ({
      title,
      recording: strFromU8(unzlibSync(decodeBase64(recording))),
    })),
  }
}
