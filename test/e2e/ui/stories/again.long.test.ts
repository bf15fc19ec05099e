/** Files that run again: the page of a failed test, and a recording that is opened beside the world of a server. */
import { pathToFileURL } from 'node:url'
import { describe, expect } from 'vitest'
import { recordSimulator } from '../../../../src/simulator/history/record.ts'
import { createSimulator, type Simulator } from '../../../../src/simulator/simulator.ts'
import { beginRecording, keepPage } from '../../../../src/workbench/testing/recorded-test.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'
import { pageTest } from '../../chromium.ts'
import { dragTimeTo, openControlRoom, openPage } from '../control-room.ts'

/** Creates a deployment, and looks at it for half an hour. */
async function deploy(sim: Simulator): Promise<void> {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'acme/late', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
  for (let minute = 0; minute < 30; minute++) {
    await sim.clock.advance('1m')
    await sim.fetch('http://sim/deploy/list', { headers })
  }
}

describe('a file', () => {
  pageTest('of a failed test shows its world as it ended, and as it was', async () => {
    const folder = temporaryFolder()
    const sim = createSimulator({ fixtures: 'two-nodes', seed: 7 })
    const recording = beginRecording(sim)
    await deploy(sim)
    const report = await keepPage(recording, { test: 'deploys', file: 'test/deploy.test.ts' }, folder)
    const file = /page \(with prompts\): (.*)\n/.exec(report)![1]!
    const { page, problems } = await openPage(`${pathToFileURL(file).href}#/lifecycles`)
    const row = page.locator('.lane-name', { hasText: 'acme/late' })
    await row.getByText('deployment running').waitFor()
    await expect.poll(() => page.locator('.clock-time').textContent()).toBe('00:30:00')
    await dragTimeTo(page, 0.003)
    await row.getByText('deployment initializing').waitFor()
    await page.getByRole('link', { name: 'Go back to default' }).click()
    await row.getByText('deployment running').waitFor()

    // Without a server too, the past has what was sent and answered, and a fork of the past answers the same.
    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    await page.getByLabel('Filter requests').fill('POST')
    await page.locator('button.list-row', { hasText: 'POST' }).click()
    const answer = await page.getByRole('region', { name: 'Body of the answer' }).textContent()
    expect(JSON.parse(answer!)).toMatchObject({ model_name: 'acme/late', status: 'initializing' })
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await page.getByRole('button', { name: 'Send in a fork of the past' }).click()
    await page.getByText('The answers are equal').waitFor()
    await page.locator('.cause-node.effect').first().waitFor()
    await page.getByRole('link', { name: 'Faults', exact: true }).click()
    await page.getByText('A page without a server plays no scenarios.').waitFor()
    expect(problems).toEqual([])
  })

  pageTest('with a recording is opened as a world of its own, with its past', async () => {
    const sim = createSimulator({ fixtures: 'two-nodes', seed: 7 })
    const recording = recordSimulator(sim)
    await deploy(sim)
    recording.stop()
    const { page, problems } = await openControlRoom({ fixtures: 'empty', view: 'lifecycles' })
    const buffer = Buffer.from(recording.text)
    const file = { name: 'run.ndjson', mimeType: 'application/x-ndjson', buffer }
    await page.getByLabel('Open a recording').setInputFiles(file)
    const row = page.locator('.lane-name', { hasText: 'acme/late' })
    await row.getByText('deployment running').waitFor()
    expect(await page.locator('.clock-time').textContent()).toBe('00:30:00')
    await dragTimeTo(page, 0.003)
    await row.getByText('deployment initializing').waitFor()
    expect(problems).toEqual([])
  })
})
