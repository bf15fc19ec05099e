import type { Faker } from '@faker-js/faker'

/**
 * Loads faker with English words, synchronously. It takes longer than to load a fixture, so it is not imported.
 * `createRequire` loads its ES modules in every version of Node that the package supports.
 */
export function loadEnglishFaker(): Faker {
  const { createRequire } = process.getBuiltinModule('node:module')
  return createRequire(import.meta.url)('@faker-js/faker/locale/en').faker
}
