/** The code that endpoints need and that is loaded when the first request needs it. */
import type { Prerequisite } from '../endpoint.ts'
import { imageCode } from '../media/images/load-images.ts'
import { audioCode } from '../media/load-audio.ts'
import { getTokenCounter, loadTokenizer } from '../openai/tokenizer.ts'

const PREREQUISITES: Readonly<Record<Prerequisite, { isLoaded(): boolean; load(): Promise<unknown> }>> = {
  tokenizer: { isLoaded: () => getTokenCounter() !== undefined, load: loadTokenizer },
  images: imageCode,
  audio: audioCode,
}

/** Tells whether one of the prerequisites is not loaded yet. */
export function isAnyMissing(needs: readonly Prerequisite[]): boolean {
  return needs.some(need => !PREREQUISITES[need].isLoaded())
}

export async function loadPrerequisites(needs: readonly Prerequisite[]): Promise<void> {
  for (const need of needs) await PREREQUISITES[need].load()
}
