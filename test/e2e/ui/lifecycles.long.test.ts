import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { pageTest } from '../chromium.ts'
import { findViolations } from './axe.ts'
import { openControlRoom } from './control-room.ts'

const ID = 'Chat000000000001'
const CANARY = 'acme/<img src=x onerror="globalThis.canary=1">'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat', gpu: 'H100-80GB' as const, num_gpus: 2 }]
const world = { fixtures: 'two-nodes' as const, view: 'lifecycles', with: { deployments } }

/** Creates a deployment as a client does, and returns its id. */
async function createDeployment(
  sim: Awaited<ReturnType<typeof openControlRoom>>['sim'],
  name: string,
): Promise<string> {
  const answer = await sim.fetch('http://sim/deploy/llm', {
    method: 'POST',
    headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model_name: name, gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }),
  })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { deploy_id: string }).deploy_id
}

/** Returns what the tip says where the pointer is, at a share of the width of the lane of a row. */
async function readTip(page: Page, name: string, share: number): Promise<string> {
  const row = await page.locator('.lane-name', { hasText: name }).boundingBox()
  const lanes = await page.locator('.lanes-pointer').boundingBox()
  await page.mouse.move(lanes!.x + lanes!.width * share, row!.y + 14)
  await page.locator('.tip').waitFor()
  return (await page.locator('.tip').textContent())!
}

describe('lifecycles', () => {
  pageTest('follow a deployment from its create until it runs, and say why under the pointer', async () => {
    const { page, sim, problems } = await openControlRoom(world)
    await createDeployment(sim, 'late')
    const row = page.locator('.lane-name', { hasText: 'acme/late' })
    await row.getByText('deployment initializing').waitFor()
    await page.getByRole('button', { name: '+10 min' }).click()
    await row.getByText('deployment running').waitFor()
    const tip = await readTip(page, 'acme/late', 0.9)
    expect(tip).toContain('running since 2026-01-01')
    expect(tip).toContain('so far1 ready')
    await page.locator('.tip').getByText('began to run').waitFor()
    expect(problems).toEqual([])
  })

  pageTest('have the states of their address', async () => {
    const { page, sim, server } = await openControlRoom(world)
    await createDeployment(sim, 'late')
    await sim.clock.advance('10m')
    await page.locator('.lane-name', { hasText: 'acme/late' }).getByText('running').waitFor()
    const answer = await (await fetch(`${server.url}/_sim/lifecycles?kind=deployment,batch,container,hosted`)).json()
    const { rows } = answer as { rows: { name: string; kind: string; state: string }[] }
    const shown = await page.locator('.lane-name').allTextContents()
    expect(shown).toHaveLength(rows.length)
    for (const { name, kind, state } of rows) {
      expect(shown.some(text => text.includes(name) && text.includes(`${kind} ${state.replaceAll('_', ' ')}`))).toBe(
        true,
      )
    }
  })

  pageTest('show where another world differs', async () => {
    const { page, sim, server } = await openControlRoom(world)
    const fork = await fetch(`${server.url}/_sim/worlds`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ from: 'default' }),
    })
    const { world: name } = (await fork.json()) as { world: string }
    await createDeployment(sim, 'late')
    sim.cluster.zone(sim.cluster.nodes()[0]!.zone).down()
    await sim.clock.advance('10m')
    await fetch(`${server.url}/_sim/worlds/${name}/_sim/clock/advance`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ by: '10m' }),
    })
    await page.getByLabel('Compare with').selectOption(name)
    await page.locator('.lane-name', { hasText: 'acme/late' }).getByText(`not in ${name}`).waitFor()
    // The zone that is down took the replica of this world alone.
    await page.locator('.lane-name', { hasText: ID }).getByText(`≠ ${name}`).waitFor()
    expect(await page.evaluate('location.hash')).toContain(`with=${name}`)
  })

  pageTest('zoom with the keyboard, and open the inspector of a row', async () => {
    const { page } = await openControlRoom(world)
    await page.getByRole('button', { name: '+1 h' }).click()
    const all = page.getByRole('button', { name: 'All', exact: true })
    await page.getByRole('group', { name: /^Lanes/ }).focus()
    expect(await all.isDisabled()).toBe(true)
    await page.keyboard.press('w')
    await page.waitForFunction(
      () => !document.querySelector<HTMLButtonElement>('[aria-label="Zoom"] button:last-child')!.disabled,
    )
    await page.keyboard.press('0')
    await page.waitForFunction(
      () => document.querySelector<HTMLButtonElement>('[aria-label="Zoom"] button:last-child')!.disabled,
    )
    await page.getByRole('link', { name: 'acme/chat' }).click()
    await page.getByRole('complementary', { name: new RegExp(ID) }).waitFor()
  })

  pageTest('show names as text, and break no rule of axe-core', async () => {
    const { page, problems } = await openControlRoom({
      ...world,
      with: { deployments: [{ ...deployments[0]!, model_name: CANARY }] },
    })
    await page.locator('.lane-name', { hasText: CANARY }).waitFor()
    expect(await readTip(page, CANARY, 0.001)).toContain(CANARY)
    expect(await page.evaluate('[document.images.length, "canary" in globalThis]')).toEqual([0, false])
    expect(await findViolations(page)).toEqual([])
    expect(problems).toEqual([])
  })
})
