import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { beginRecording, keepRecording } from '../../../src/workbench/testing/recorded-test.ts'
import { commanded } from '../../cli/commanded.ts'
import { sendTo } from '../../setup/send-to.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

test('a failed test keeps its recording, and the report has the file and the command that replays it', async () => {
  const folder = temporaryFolder()
  const sim = createSimulator({ seed: 4 })
  const recording = beginRecording(sim)
  await sendTo(sim, 'GET /deploy/list')
  const report = keepRecording(recording, { test: 'lists › deployments', file: 'test/list.test.ts' }, folder)
  const [, path] = /recording \(with prompts\): (.*)\n/.exec(report) ?? []
  expect(path).toBe(join(folder, 'test-list.test.ts-lists-deployments.ndjson'))
  expect(report).toContain(`replay: npx modelhost-sim replay ${path}`)
  expect(await commanded(['replay', path!])).toMatchObject({ code: 0 })
})

test('a folder that cannot be written is named in the report', () => {
  const recording = beginRecording(createSimulator())
  const report = keepRecording(recording, { test: 'x', file: 'y' }, '/dev/null/folder')
  expect(report).toMatch(/Failed to keep the recording in \/dev\/null\/folder/)
})
