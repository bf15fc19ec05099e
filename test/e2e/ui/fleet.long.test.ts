import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { pageTest } from '../chromium.ts'
import { findViolations } from './axe.ts'
import { openControlRoom } from './control-room.ts'

const ID = 'Chat000000000001'
const CANARY = '<img src=x onerror="globalThis.canary=1">'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat', gpu: 'H100-80GB' as const, num_gpus: 2 }]
const world = { fixtures: 'two-nodes' as const, view: 'fleet', with: { deployments } }

/** Returns the name of the node of the deployment. */
function nodeOf(sim: Simulator): string {
  return sim.cluster.nodeOf(ID).name
}

/** Moves the cursor of the map to a node with the arrow keys. */
async function moveCursorTo(page: Page, name: string): Promise<void> {
  const map = page.getByRole('listbox', { name: 'Nodes of the fleet' })
  await map.focus()
  for (let step = 0; step < 50; step++) {
    const option = await map.getByRole('option').textContent()
    if (option!.startsWith(`${name}:`)) return
    await page.keyboard.press('ArrowRight')
    await page.waitForFunction(before => document.querySelector('#fleet-cursor')?.textContent !== before, option)
  }
  throw new Error(`Failed to find the node '${name}' with the arrow keys.`)
}

describe('the fleet', () => {
  pageTest('shows the totals and the owners of its address', async () => {
    const { page, server } = await openControlRoom(world)
    await page.locator('.totals').waitFor()
    const { totals } = (await (await fetch(`${server.url}/_sim/fleet`)).json()) as { totals: Record<string, number> }
    const shown = (await page.locator('.totals').textContent())!.match(/\d[\d,]*/g)!.map(Number)
    const { nodes, gpus, held, free, others, unusable } = totals
    expect(shown).toEqual([nodes, gpus, held, free, others, unusable])
    expect(held).toBe(2)
    const rows = await page.locator('.fleet-aside tbody tr').allTextContents()
    expect(rows).toEqual([`H100-80GB${held}${free}${others}${unusable}`])
    expect(await page.locator('.owner').textContent()).toContain('acme/chat2 GPUs · running')
  })

  pageTest('crashes a node by the keyboard, shows what is lost, and repairs it', async () => {
    const { page, sim, problems } = await openControlRoom(world)
    const name = nodeOf(sim)
    await page.locator('.totals').waitFor()
    await moveCursorTo(page, name)
    await page.keyboard.press('Enter')
    const inspector = page.getByRole('complementary', { name: `Inspector: ${name}` })
    await inspector.getByText(`runs ${ID}-0`).waitFor()
    await inspector.getByRole('button', { name: 'Crash', exact: true }).click()
    await inspector.getByText(`runs ${ID}-0`).waitFor({ state: 'detached' })
    expect(sim.cluster.nodes().find(node => node.name === name)!.state).toBe('down')

    await inspector.getByRole('button', { name: 'Repair' }).click()
    await inspector.getByRole('button', { name: 'Crash', exact: true, disabled: false }).waitFor()
    expect(sim.cluster.nodes().find(node => node.name === name)!.state).toBe('ready')
    expect(problems).toEqual([])
  })

  pageTest('opens the holder of a GPU that is clicked, and names it under the pointer', async () => {
    const { page, sim } = await openControlRoom(world)
    await page.locator('.totals').waitFor()
    const name = nodeOf(sim)
    await moveCursorTo(page, name)
    // The first GPU of a node lies under its name, at the left.
    const index = await page.locator('#fleet-cursor').getAttribute('aria-posinset')
    const map = page.locator('.fleet-pointer')
    const position = { x: (Number(index) - 1) * 140 + 18, y: 30 + 22 + 18 + 6 + 12 }
    await map.hover({ position })
    expect(await page.locator('.tip').textContent()).toContain(`${name}ready, 2 of 8 GPUs held`)
    expect(await page.locator('.tip').textContent()).toContain(`GPU 0: acme/chat, instance ${ID}-0, ready`)
    await map.click({ position })
    await page.waitForFunction(id => location.hash.includes(`id=${id}`), `${ID}-0`)
  })

  pageTest('shows the stock-out and who waits, and leads to the cause in one more step', async () => {
    const { page, sim, server, problems } = await openControlRoom(world)
    sim.cluster.limit.set('H100-80GB', 2)
    sim.cluster.stockOut('H100-80GB')
    await sim.clock.advance('5m')
    sim.cluster.nodeOf(ID).crash()
    await sim.clock.advance('5m')
    const waiting = page.getByRole('region', { name: 'Waiting for GPUs' }).locator(`[data-waiting="${ID}"]`)
    await waiting.waitFor()
    await page.getByText('1 deployment waiting for GPUs').waitFor()
    const { waiting: listed } = (await (await fetch(`${server.url}/_sim/fleet`)).json()) as {
      waiting: { sentence: string; since: string }[]
    }
    expect(listed[0]!.sentence).toBe('It waits, because GPUs of the type H100-80GB are out of stock.')
    await expect.poll(() => waiting.textContent()).toContain('since 00:05:00 (5 min)')
    expect(await waiting.textContent()).toContain(listed[0]!.sentence)
    const pools = await page.getByRole('region', { name: 'Pools' }).getByRole('listitem').allTextContents()
    expect(pools).toEqual([expect.stringMatching(/^H100-80GB✗ out of stock: gives no GPU.*since 00:00:00 \(10 min\)$/)])

    await waiting.getByRole('link', { name: 'acme/chat' }).click()
    const inspector = page.getByRole('complementary', { name: `Inspector: ${ID}` })
    await inspector.getByText('It is not ready, because GPUs of the type H100-80GB are out of stock.').waitFor()
    await inspector.getByRole('link', { name: 'No GPU of the type H100-80GB is assigned from now on.' }).waitFor()
    expect(await inspector.textContent()).not.toContain('quota')

    sim.cluster.restock('H100-80GB')
    await sim.clock.advance('1s')
    await page.getByRole('region', { name: 'Waiting for GPUs' }).waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'Pools' }).getByText('✓ in stock').waitFor()
    expect(problems).toEqual([])
  })

  pageTest('shows names as text, whatever they contain', async () => {
    const nodes = [{ prefix: 'sxm', gpu: 'H100-80GB' as const, gpus_per_node: 8, count: 2 }]
    const { page, problems } = await openControlRoom({
      ...world,
      with: {
        deployments: [{ ...deployments[0]!, model_name: `acme/${CANARY}` }],
        nodes: { pools: [{ name: CANARY, zone: CANARY, nodes }] },
      },
    })
    await page.locator('.owner', { hasText: CANARY }).waitFor()
    await moveCursorTo(page, 'sxm-1')
    await page.keyboard.press('Enter')
    const inspector = page.getByRole('complementary', { name: 'Inspector: sxm-1' })
    await inspector.getByText('As clients see it').click()
    await inspector.getByText(CANARY).first().waitFor()
    expect(await page.evaluate('[document.images.length, "canary" in globalThis]')).toEqual([0, false])
    expect(problems).toEqual([])
  })

  pageTest('breaks no rule of axe-core', async () => {
    const { page, sim } = await openControlRoom({ ...world, view: 'fleet?id=h100-0' })
    sim.cluster.node('h100-1').crash()
    await page.getByRole('complementary', { name: 'Inspector: h100-0' }).waitFor()
    expect(await findViolations(page)).toEqual([])
  })
})
