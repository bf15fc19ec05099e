import type { Faker } from '@faker-js/faker'
import { faker } from '@faker-js/faker/locale/en'

/** Returns faker with English words. It takes longer to load than a fixture, so only a deferred module imports it. */
export function loadEnglishFaker(): Faker {
  return faker
}
