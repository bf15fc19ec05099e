/** What a developer sees of an error of the installed package that nothing catches. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { installed } from './installed-package.ts'

test('Node shows an uncaught error of the package with its message, without pages of bundled source', () => {
  const script = "const { createSimulator } = await import('modelhost-sim')\ncreateSimulator({ fixtures: 'emty' })"
  const args = ['--input-type=module', '-e', script]
  const { stderr, status } = spawnSync(process.execPath, args, { cwd: installed(), encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stderr).toContain("FixtureError: Failed to read fixture 'emty': unknown name. Did you mean 'empty'?")
  expect(stderr.length).toBeLessThan(10_000)
})
