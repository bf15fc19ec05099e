/** A recording of a server that ends by SIGKILL. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { run, started } from '../cli/process.ts'

test('a recording of a killed server has every request but those of the last moment, and replays up to there', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'run.ndjson')
  const { url, child, end } = await started(['serve', '--port', '0', '--clock', 'manual', '--record', file])
  const headers = { authorization: 'Bearer sim_default_token' }
  const answered: number[] = []
  const traffic = (async () => {
    for (let nth = 0; ; nth++) {
      await (await fetch(`${url}/v1/models?nth=${nth}`, { headers })).text()
      answered.push(performance.now())
      if (nth === 300) child.kill('SIGKILL')
    }
  })().catch(() => {})
  await end
  await traffic
  const killedAt = performance.now()
  const text = readFileSync(file, 'utf8')
  const recorded = [...text.matchAll(/"path":"\/v1\/models\?nth=(\d+)"/g)].length
  // A busy machine ends a process and runs its timers late.
  expect(recorded).toBeGreaterThanOrEqual(answered.filter(at => at < killedAt - 2000).length)
  expect(recorded).toBeGreaterThan(0)
  const partial = await run(['replay', file, '--partial'])
  expect(partial).toMatchObject({ code: 0, stderr: '' })
  expect(partial.stdout).toContain(
    `${recorded.toLocaleString('en')} requests replayed, every answer is the same, and the recording is cut off`,
  )

  // Killed within a write: the last line is torn.
  const torn = join(folder, 'torn.ndjson')
  writeFileSync(torn, text.slice(0, -20))
  expect(await run(['replay', torn])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /to its end: the recording is cut off in line \d+: its line with the digest is missing/,
    ),
  })
  expect(await run(['judge', torn, '--fail-on', 'none'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('to its end: the recording is cut off in line'),
  })
  expect(await run(['judge', torn, '--fail-on', 'none', '--partial'])).toMatchObject({ code: 0, stderr: '' })
  const scenario = join(folder, 'torn.yaml')
  expect(await run(['replay', torn, '--export', scenario])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('to its end: the recording is cut off in line'),
  })
  expect(await run(['replay', torn, '--export', scenario, '--partial'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('The lines before are used.'),
  })
}, 180_000)
