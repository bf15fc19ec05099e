/** The code of images. It is loaded on first use, because few processes need it. */

type ImageCode = typeof import('./images.ts')

let loadedCode: ImageCode | undefined

/** Loads the code on the first call. Later calls return at once. */
export async function loadImageCode(): Promise<ImageCode> {
  loadedCode ??= await import('./images.ts')
  return loadedCode
}

export function isImageCodeLoaded(): boolean {
  return loadedCode !== undefined
}

/** Returns the code. Throws Error if `loadImageCode` was not awaited; an endpoint declares `needs: ['images']`. */
export function getImageCode(): ImageCode {
  if (loadedCode === undefined) throw new Error('Failed to use images: the code is not loaded. Declare needs: images.')
  return loadedCode
}
