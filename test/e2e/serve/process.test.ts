import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('closing-process.ts', import.meta.url))
const flags = ['--conditions', 'modelhost-sim-source', '--import', import.meta.resolve('tsx')]

test('a process exits by itself when its server is closed, because no timer and no socket is left', async () => {
  // Killed, not waited for, when something keeps it: then this rejects.
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, script], { timeout: 120_000 })
  expect(JSON.parse(stdout)).toEqual([200, 200, 200])
})
