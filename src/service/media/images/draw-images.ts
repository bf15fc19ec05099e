/** The images of a request: drawn from the seed, the model, the prompt and the uploads. */
import { type Chance, purpose } from '../../../kernel/random.ts'
import { imageCode } from './load-images.ts'

const CONTENT = purpose('image.content')

/** What determines the images of a request. Equal values give equal images with the same seed. */
export interface ImageSource {
  /** The full name of the model. */
  readonly model: string
  readonly prompt: string
  /** Everything else that changes the images, such as hashes of uploads. '': only the prompt does. */
  readonly source: string
  readonly count: number
  readonly width: number
  readonly height: number
}

/** Returns PNG files. The code of images must be loaded. */
export function drawImages(
  chance: Chance,
  { model, prompt, source, count, width, height }: ImageSource,
): Uint8Array<ArrayBuffer>[] {
  return Array.from({ length: count }, (_, index) => {
    const key = chance.hex(16, chance.key('image', `${model}\u0000${prompt}\u0000${source}`, index), CONTENT)
    return imageCode.get().drawImage({ key, width, height })
  })
}
