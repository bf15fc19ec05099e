import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toPytest } from '../../../src/evidence/export/pytest-test.ts'
import { planTest } from '../../../src/evidence/export/steps.ts'
import { parseRecording } from '../../../src/evidence/recording/file.ts'
import { createSimulator } from '../../../src/index.ts'
import { serve } from '../../../src/transports/http/server.ts'
import { playMixedHour } from '../../evidence/recording/mixed-hour.ts'

test('the test for pytest of a mixed hour passes at once at a server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exported-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const sim = createSimulator({ seed: 5, weather: 'bad-week', inferencePace: 'clock' })
  const recording = sim.record()
  await playMixedHour(sim, (input, init) => sim.fetch(input, init), 'http://sim')
  recording.stop()
  await sim[Symbol.asyncDispose]()
  const plan = await planTest(parseRecording(recording.text, 'hour'), 'hour')
  writeFileSync(join(folder, 'test_hour.py'), toPytest(plan, 'hour'))
  const server = await serve(createSimulator({ clock: 'manual' }), { port: 0 })
  onTestFinished(() => server.close())
  const python = spawn('python3', ['-c', 'import test_hour; test_hour.test_hour()'], {
    cwd: folder,
    env: { ...process.env, MODELHOST_SIM_URL: server.url },
  })
  let errors = ''
  python.stderr.on('data', (text: Buffer) => {
    errors += text.toString().slice(-2000)
  })
  const code = await new Promise(resolve => python.on('close', resolve))
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
}, 60_000)
