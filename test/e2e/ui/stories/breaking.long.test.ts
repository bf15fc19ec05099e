/** What a person breaks, and where it leads: from a click on a node to the money, and to a scenario that repeats it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { runFiles } from '../../../../src/workbench/scenario/index.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'
import { pageTest } from '../../chromium.ts'
import { openControlRoom, sendAsClient } from '../control-room.ts'

const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat', gpu: 'H100-80GB' as const, num_gpus: 2 }]
const world = { fixtures: 'two-nodes' as const, with: { deployments } }

describe('breaking', () => {
  pageTest('a node is crashed by a click, and what came of it is followed to the money', async () => {
    const { page, sim, server, problems } = await openControlRoom({ ...world, view: 'fleet' })
    await page.getByRole('button', { name: '+1 h' }).click()
    const node = sim.cluster.nodeOf(ID).name
    await page.locator('.owner', { hasText: 'acme/chat' }).waitFor()
    // The name of a node is above its GPUs.
    const index = sim.cluster.nodes().findIndex(({ name }) => name === node)
    await page.locator('.fleet-pointer').click({ position: { x: index * 140 + 18, y: 30 + 22 + 9 } })
    const panel = page.getByRole('complementary', { name: `Inspector: ${node}` })
    await panel.getByRole('button', { name: 'Crash', exact: true }).click()
    const isIdle = panel.locator('form', {
      has: page.getByRole('button', { name: 'Crash', exact: true, disabled: true }),
    })
    expect(await isIdle.getAttribute('title')).toBe('It is so already.')
    expect(sim.cluster.nodes()[index]!.state).toBe('down')
    expect(await panel.getByRole('button', { name: 'Repair' }).isEnabled()).toBe(true)

    const crash = sim.journal.entries().findLast(({ kind }) => kind === 'node.crashed')!
    await page.keyboard.press('Control+k')
    await page.keyboard.type(String(crash.seq))
    await page.keyboard.press('Enter')
    const graph = page.getByRole('region', { name: /Causes and effects of entry/ })
    const effects = graph.locator('.cause-node.effect')
    await effects.first().waitFor()
    await effects
      .locator('.thing', { hasText: `${ID}-0` })
      .first()
      .click()
    const inspector = page.getByRole('complementary', { name: `Inspector: ${ID}-0` })
    await inspector.getByRole('heading', { name: 'Because' }).waitFor()
    await inspector.getByRole('link', { name: ID, exact: true }).click()
    const owner = page.getByRole('complementary', { name: `Inspector: ${ID}` })
    await owner.getByText(/Ledger lines/).click()
    const { ledger } = (await (await fetch(`${server.url}/_sim/things/${ID}`)).json()) as {
      ledger: { kind: string; microcents: number }[]
    }
    const lines = await owner.locator('details', { hasText: 'Ledger lines' }).getByRole('listitem').allTextContents()
    expect(lines).toHaveLength(ledger.length)
    for (const [index, { kind, microcents }] of ledger.entries()) {
      const [, shown, dollars] = / (\w+) -\$(\d+\.\d+)$/.exec(lines[index]!)!
      expect([shown, Math.abs(Number(dollars) - -microcents / 1e8) <= 0.005]).toEqual([kind, true])
    }
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')

    await page.getByRole('link', { name: 'Money' }).click()
    await page.getByRole('button', { name: 'Ledger' }).click()
    const line = page.locator('.ledger-row', { hasText: ID }).filter({ hasNotText: 'open' }).first()
    await line
      .getByRole('link', { name: /instance/ })
      .last()
      .click()
    await graph.locator('.cause-node.cause', { hasText: node }).first().waitFor()
    expect(problems).toEqual([])
  })

  pageTest('a fault is recorded as a scenario, which then passes by `run`', async () => {
    const room = await openControlRoom({ ...world, view: 'faults' })
    const { page, sim, problems } = room
    const rules = page.getByRole('region', { name: 'Fault rules' })
    await rules.getByLabel('Template').selectOption('The next three requests are answered 503')
    await rules.getByRole('button', { name: 'Add the rule' }).click()
    await rules.getByText('0 hits, 3 left').waitFor()
    await sendAsClient(room, 'GET', '/deploy/list')
    await rules.getByText('1 hit, 2 left').waitFor()
    await page.getByRole('button', { name: '+10 min' }).click()
    await page.locator('.clock-time', { hasText: '00:10:00' }).waitFor()
    const form = page.getByRole('region', { name: 'Break or repair' })
    await form.getByLabel('Target (node)').fill(sim.cluster.nodeOf(ID).name)
    await form.getByRole('button', { name: 'Give the command' }).click()
    await page.getByRole('region', { name: 'Broken now' }).getByRole('button', { name: 'Undo' }).first().waitFor()
    await page.getByRole('button', { name: '+10 min' }).click()
    await page.locator('.clock-time', { hasText: '00:20:00' }).waitFor()

    const did = page.getByRole('region', { name: 'What you did' })
    expect(await did.getByRole('listitem').count()).toBe(4)
    for (const isAlone of [true, false]) {
      await did.getByLabel('without the requests of clients').setChecked(isAlone)
      await did.getByRole('button', { name: 'Record as scenario' }).click()
      const scenario = did.getByRole('region', { name: 'Scenario in YAML' })
      await expect.poll(() => scenario.textContent()).toContain(isAlone ? 'node.crash' : 'GET /deploy/list')
      const download = page.waitForEvent('download')
      await did.getByRole('button', { name: 'Save as scenario.yaml' }).click()
      const folder = temporaryFolder()
      const file = join(folder, 'scenario.yaml')
      await (await download).saveAs(file)
      expect(readFileSync(file, 'utf8')).toBe(await scenario.textContent())
      // As the page says: the first play writes the trace, and each further one compares with it.
      for (const update of [true, false]) {
        const results = await runFiles([file], { update })
        expect(results.map(({ failure }) => failure)).toEqual([undefined])
      }
    }
    expect(problems).toEqual([])
  })

  pageTest('a fault in a fork is recorded too, as a scenario in TypeScript', async () => {
    const writePage = async () => '<!doctype html>'
    const room = await openControlRoom({ ...world, view: 'faults', serve: { writePage } })
    const { page, sim, problems } = room
    await page.getByRole('button', { name: '+10 min' }).click()
    await page.locator('.clock-time', { hasText: '00:10:00' }).waitFor()
    await page.keyboard.press('f')
    await page.getByText('This is a fork of default at').waitFor()
    const form = page.getByRole('region', { name: 'Break or repair' })
    await form.getByLabel('Target (node)').fill(sim.cluster.nodeOf(ID).name)
    await form.getByRole('button', { name: 'Give the command' }).click()
    await page.getByRole('button', { name: '+10 min' }).click()
    await page.locator('.clock-time', { hasText: '00:20:00' }).waitFor()
    const did = page.getByRole('region', { name: 'What you did' })
    await did.getByRole('button', { name: 'Record as scenario' }).click()
    const text = await did.getByRole('region', { name: 'Scenario in TypeScript' }).textContent()
    await did.getByRole('button', { name: 'Save as scenario.ts' }).waitFor()
    const folder = temporaryFolder()
    const file = join(folder, 'scenario.ts')
    writeFileSync(file, text!)
    for (const update of [true, false]) {
      const results = await runFiles([file], { update })
      expect(results.map(({ failure }) => failure)).toEqual([undefined])
    }
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save this page' }).click()
    expect((await saved).suggestedFilename()).toBe('w1.html')
    expect(problems.filter(problem => !problem.includes('400'))).toEqual([])
  })
})
