import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { BIN } from './process.ts'

test('Ctrl-C, passed on twice as npm does, prints the report so far and exits with 130', async () => {
  const child = spawn(process.execPath, [BIN, 'simulate', '--for', '3650d'], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  child.stdout.on('data', data => {
    out += data
  })
  // By its first line of progress it is well under way.
  await once(child.stderr, 'data')
  child.kill('SIGINT')
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  expect(code).toBe(130)
  expect(out).toContain('closing balance')
})
