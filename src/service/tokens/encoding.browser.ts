/** The encoding o200k_base as a browser loads it: a module has its ranks. */
import type { BytePairCore } from './byte-pairs.ts'

export async function loadEncoding(): Promise<BytePairCore> {
  const { default: encoding } = await import('#tokenizer')
  // The field is missing in the types. package.json pins the exact version.
  return (encoding as unknown as { bytePairEncodingCoreProcessor: BytePairCore }).bytePairEncodingCoreProcessor
}
