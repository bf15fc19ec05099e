/** The page stays small: one script and one style for all of it. */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

/** Bytes of both files, compressed. */
const MAX_BYTES = 60_000
const BUNDLER = new URL('../../../build/bundle-page.js', import.meta.url).href

test('the script and the style of the page take at most 60 kB together, compressed', async () => {
  const { bundlePage } = (await import(BUNDLER)) as { bundlePage: () => Promise<Record<string, string>> }
  const files = Object.entries(await bundlePage())
  expect(files.map(([name]) => name).sort()).toEqual(['page.css', 'page.js'])
  const bytes = files.reduce((sum, [, text]) => sum + gzipSync(text, { level: 9 }).length, 0)
  expect(bytes).toBeGreaterThan(10_000)
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
})
