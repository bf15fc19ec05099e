/** What a saved page is about: recordings of worlds, and where the control room begins. */

import { strFromU8, strToU8, unzlibSync, zlibSync } from 'fflate'
import { decodeBase64, encodeBase64 } from '../../lib/base64.ts'
import type { Location } from '../page/store/place.ts'

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
export function encodeContent({ worlds, ...rest }: SavedContent): string {
  return JSON.stringify({
    ...rest,
    worlds: worlds.map(({ title, recording }) => ({
      title,
      // Without a time, so that equal recordings give equal pages.
      recording: encodeBase64(zlibSync(strToU8(recording), { level: 9 })),
    })),
  })
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
