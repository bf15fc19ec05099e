/** What a person finds by its kind, in a run of a scenario, and in a comparison with a snapshot. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { ScenarioLibrary } from '../../../../src/workbench/scenario/runner/library.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'
import { pageTest } from '../../chromium.ts'
import { openControlRoom, sendAsClient } from '../control-room.ts'

const SCENARIO = `title: a deployment starts
given: { fixtures: two-nodes, seed: 7 }
steps:
  - do: { createLlmDeployment: { model_name: acme/chat, gpu: H100-80GB, hub: { repo: acme/chat-8b } } }
    as: made
  - advance: 5m
  - expect: { get: { getDeployment: { deploy_id: '\${made.deploy_id}' } }, is: { status: failed } }
`

describe('the finder', () => {
  pageTest('lists each kind of thing, filters it, and opens the inspector', async () => {
    const { page, sim, problems } = await openControlRoom({ fixtures: 'default' })
    await page.keyboard.press('Control+k')
    const finder = page.getByRole('dialog', { name: 'Find by id' })
    const rows = finder.getByRole('listitem')
    const options = finder.getByLabel('Kind').locator('option')
    expect(await options.allTextContents()).toContain('fault rule')
    await finder.getByLabel('Kind').selectOption('deployment')
    await expect.poll(() => rows.count()).toBe(sim.world.deployments.count)
    await finder.getByLabel('Kind').selectOption('node')
    await finder.getByRole('searchbox').fill('H100-1')
    await rows
      .filter({ hasText: /^h100-1 / })
      .getByRole('button')
      .click()
    await page.getByRole('complementary', { name: 'Inspector: h100-1' }).getByText('h100-1 is a node').waitFor()
    expect(problems).toEqual([])
  })
})

describe('the worlds', () => {
  pageTest('are compared with a snapshot, and keep requests apart', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes' })
    const { page, sim, problems } = room
    await page.getByRole('button', { name: 'Worlds and snapshots' }).click()
    await page.getByRole('button', { name: 'Take a snapshot' }).click()
    await page.getByRole('region', { name: 'Snapshots' }).getByRole('button', { name: 'Compare' }).click()
    await page.getByText('The two worlds are equal').waitFor()
    await sendAsClient(room, 'GET', '/deploy/list')
    await page.getByText('Their clients sent different requests: 1').waitFor()
    expect(await page.getByText('The two worlds are equal').isVisible()).toBe(true)
    sim.cluster.node('h100-0').crash()
    await page.getByRole('link', { name: 'h100-0' }).waitFor()
    await page.getByRole('button', { name: 'Compare with its start' }).click()
    const since = page.getByRole('region', { name: 'Differences between the start and default' })
    await since
      .getByRole('row', { name: /^state h100-0 ready.* down/ })
      .getByRole('link')
      .click()
    await page.getByRole('dialog', { name: 'Worlds' }).waitFor({ state: 'detached' })
    await page.getByRole('complementary', { name: 'Inspector: h100-0' }).waitFor()
    expect(problems).toEqual([])
  })
})

describe('a scenario', () => {
  pageTest('is run in the page, says why it fails, and shows its world at a step', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'start.yaml'), SCENARIO)
    const { page, sim, server, problems } = await openControlRoom({
      ...{ fixtures: 'empty', view: 'faults' },
      serve: { scenarios: new ScenarioLibrary([folder]) },
    })
    await page.getByRole('button', { name: 'Run start' }).click()
    await page.getByText('✗ Failed at line 7').waitFor()
    expect([sim.clock.elapsed, sim.requests.length]).toEqual([0, 0])
    await page.getByText('4 steps').click()
    await page.getByRole('button', { name: /^check/ }).click()
    await page.getByText('This is a fork of w1').waitFor()
    await page.locator('.clock-time', { hasText: '00:05:00' }).waitFor()
    // Another step shows the same run, and the fork of the first step is gone.
    await page.getByText('4 steps').click()
    await page.locator('.chain button').first().click()
    await page.locator('.clock-time', { hasText: '00:00:00' }).waitFor()
    const worlds = async () => (await (await fetch(`${server.url}/_sim/worlds`)).json()) as { world: string }[]
    await expect.poll(async () => (await worlds()).map(({ world }) => world)).toEqual(['default', 'w1', 'w3'])
    // The result stays while the person looks at its world.
    await page.getByText('✗ Failed at line 7').waitFor()
    writeFileSync(join(folder, 'start.yaml'), SCENARIO.replace('status: failed', 'model_name: acme/chat'))
    await page.getByRole('button', { name: 'Run start' }).click()
    await page.getByText('start.trace is missing').waitFor()
    expect(problems).toEqual([])
  })
})
