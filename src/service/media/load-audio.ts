/** The code of audio. It is loaded on first use, because few processes need it. */

type Audio = typeof import('./audio.ts')

let loadedAudio: Audio | undefined

/** Loads the code on the first call. Later calls return at once. */
export async function loadAudio(): Promise<Audio> {
  loadedAudio ??= await import('./audio.ts')
  return loadedAudio
}

export function isAudioLoaded(): boolean {
  return loadedAudio !== undefined
}

/** Returns the code. Throws Error if `loadAudio` was not awaited; an endpoint declares `needs: ['audio']`. */
export function getAudio(): Audio {
  if (loadedAudio === undefined) throw new Error('Failed to use audio: it is not loaded. Declare needs: audio.')
  return loadedAudio
}
