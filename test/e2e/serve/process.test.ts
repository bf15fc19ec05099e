import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('closing-process.ts', import.meta.url))
const flags = ['--conditions', 'modelhost-sim-source', '--import', import.meta.resolve('tsx')]

test('closed, a server leaves no timer and no socket: its process ends by itself', async () => {
  // Killed, not waited for, when something keeps it: then this rejects.
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, script], { timeout: 12_000 })
  expect(JSON.parse(stdout)).toEqual([200, 200, 200])
})
