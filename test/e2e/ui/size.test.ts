/** The page stays small: one script and one style for all of it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { installed, packageIn } from '../installed-package.ts'

/** Bytes of both files, compressed. */
const MAX_BYTES = 100_000

test('the script and the style of the page take at most 100 kB together, compressed', () => {
  const folder = join(packageIn(installed()), 'dist/ui')
  const names = readdirSync(folder).sort()
  expect(names).toEqual(['page.css', 'page.js'])
  const bytes = names.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0)
  expect(bytes).toBeGreaterThan(10_000)
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
})
