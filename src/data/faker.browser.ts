import type { loadEnglishFaker as loadInNode } from './faker.ts'

/** Throws, because a browser loads no package synchronously. */
export const loadEnglishFaker: typeof loadInNode = () => {
  throw new RangeError('Failed to fill a world: bulk records need Node. Leave fill out, or give the records in with.')
}
