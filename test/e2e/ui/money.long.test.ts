import { describe, expect } from 'vitest'
import { pageTest } from '../chromium.ts'
import { findViolations } from './axe.ts'
import { openControlRoom } from './control-room.ts'

const CANARY = 'acme/<img src=x onerror="globalThis.canary=1">'
const deployments = [
  { deploy_id: 'Chat000000000001', model_name: 'acme/chat', gpu: 'H100-80GB' as const, num_gpus: 2 },
  { deploy_id: 'Chat000000000002', model_name: CANARY, gpu: 'H100-80GB' as const, num_gpus: 1 },
]
const world = { fixtures: 'two-nodes' as const, view: 'money', with: { deployments } }

interface Money {
  balance_microcents: number
  spent_microcents: number
  burn_microcents_per_hour: number
  runs_out_in: string | null
  top_up: { in: string } | null
  owners: { id: string; gpus: number; burn_microcents_per_hour: number; spent_microcents: number }[]
  usage: {
    held_gpu_hours: number
    wasted_gpu_hours: number
    deployments: { id: string; held_gpu_hours: number; wasted_gpu_hours: number }[]
  }
}

/** Returns the amount that a text begins with. Small amounts have four decimals, others two. */
function amountIn(text: string | null): number {
  return Number(/-?\$?([\d,]+(?:\.\d+)?)/.exec(text ?? '')![0].replaceAll(/[$,]/g, ''))
}

/** Whether a shown amount is a figure in micro-cents, rounded as the page does. */
function isShown(shown: number, microcents: number): boolean {
  const dollars = microcents / 1e8
  return Math.abs(shown - dollars) <= (dollars !== 0 && Math.abs(dollars) < 0.1 ? 0.00005 : 0.005) + 1e-9
}

describe('money', () => {
  pageTest('has the figures of its address', async () => {
    const { page, sim, server, problems } = await openControlRoom(world)
    await page.locator('[data-figure="spent"]').waitFor()
    await sim.clock.advance('3h')
    const money = (await (await fetch(`${server.url}/_sim/money?usage=true`)).json()) as Money
    expect(money.spent_microcents).toBeGreaterThan(0)
    const figure = (name: string) => page.locator(`[data-figure="${name}"]`).first()
    await page.waitForFunction(
      text => document.querySelector('[data-figure="runs-out"]')?.textContent === text,
      `in ${money.top_up?.in ?? money.runs_out_in}`,
    )
    expect(isShown(amountIn(await figure('burn').textContent()), money.burn_microcents_per_hour)).toBe(true)
    expect(isShown(amountIn(await figure('spent').textContent()), money.spent_microcents)).toBe(true)
    expect(isShown(amountIn(await figure('balance').textContent()), money.balance_microcents)).toBe(true)

    const [owner] = money.owners
    await page.locator(`[data-key="${owner!.id}"] a`).click()
    const cost = page.locator('.inspector [data-figure="cost"]')
    await cost.waitFor()
    expect(isShown(amountIn(await cost.textContent()), owner!.burn_microcents_per_hour)).toBe(true)
    await page.getByRole('button', { name: 'Close the inspector' }).click()

    const held = money.usage.held_gpu_hours.toFixed(2)
    await page.waitForFunction(text => document.querySelector('[data-figure="held"]')?.textContent === text, held)
    expect(money.owners.length).toBeGreaterThan(1)
    for (const { id, gpus, burn_microcents_per_hour: burn, spent_microcents: spent } of money.owners) {
      const cells = await page.locator(`[data-key="${id}"] > span`).allTextContents()
      const used = money.usage.deployments.find(one => one.id === id)!
      expect(amountIn(cells[2]!)).toBe(gpus)
      expect(isShown(amountIn(cells[3]!), burn)).toBe(true)
      expect(isShown(amountIn(cells[4]!), spent)).toBe(true)
      expect(amountIn(cells[5]!)).toBe(Number(used.held_gpu_hours.toFixed(2)))
      expect(amountIn(cells[6]!)).toBe(Number(used.wasted_gpu_hours.toFixed(2)))
    }
    expect(problems).toEqual([])
  })

  pageTest('shows the lines of the ledger, and leads to the journal entry of each', async () => {
    const { page, sim, server } = await openControlRoom(world)
    await sim.clock.advance('2h')
    sim.cluster.node(sim.cluster.nodeOf('Chat000000000001').name).crash()
    await page.getByRole('button', { name: 'Ledger' }).click()
    const rows = page.locator('.ledger-row')
    await rows.first().waitFor()
    const answer = await (await fetch(`${server.url}/_sim/ledger`)).json()
    const { entries } = answer as { entries: { subject: string; microcents: number; open?: true }[] }
    expect(await rows.count()).toBe(entries.length)
    for (const [index, { subject, microcents, open }] of entries.toReversed().entries()) {
      const cells = await rows.nth(index).locator('> *').allTextContents()
      expect(cells[2]).toBe(subject)
      expect(cells[1]).toBe(open ? 'rent, open' : 'rent')
      expect(isShown(amountIn(cells[4]!), microcents)).toBe(true)
    }
    await rows
      .getByRole('link', { name: /instance|node|command/ })
      .first()
      .click()
    await page
      .getByRole('complementary', { name: /^Inspector: \d+$/ })
      .locator('.cause-node')
      .first()
      .waitFor()
  })

  pageTest('draws the burn of each step, and tells its figures under the pointer', async () => {
    const { page, sim, server } = await openControlRoom(world)
    await sim.clock.advance('20m')
    const over = page.locator('.time-chart .plot')
    await over.waitFor()
    const box = (await over.boundingBox())!
    await page.mouse.move(box.x + box.width * 0.5, box.y + 20)
    await page.locator('.chart-figure').first().waitFor()
    const money = await (await fetch(`${server.url}/_sim/money?step=1m`)).json()
    const { series } = money as { series: { owners: string[]; spent_microcents: number[][] } }
    const step = series.spent_microcents[Math.floor(series.spent_microcents.length / 2)]!
    const together = await page.locator('.chart-figure strong.number').textContent()
    expect(isShown(amountIn(together), step.reduce((sum, spent) => sum + spent, 0) * 60)).toBe(true)
  })

  pageTest('ends its picture with the burn of now, which a mean of a step lags behind', async () => {
    const { page, sim } = await openControlRoom(world)
    await sim.clock.advance('20m')
    await page.locator('.time-chart .plot').waitFor()
    // At the end of a step, nothing of the burn after it is in the step.
    sim.cluster.nodeOf('Chat000000000001').crash()
    const burn = page.locator('[data-figure="burn"]')
    await expect.poll(() => burn.textContent()).toContain('$0.00')
    const box = (await page.locator('.time-chart .plot').boundingBox())!
    const together = page.locator('.chart-figure strong.number')
    await page.mouse.move(box.x + box.width - 20, box.y + 20)
    await expect.poll(() => together.textContent()).toContain('$0.00')
    await page.mouse.move(box.x + box.width - 50, box.y + 20)
    await expect.poll(() => together.textContent()).toContain('$6.60')
  })

  pageTest('shows a part of the time that is dragged, and all of it after Escape or a double click', async () => {
    const { page, sim, problems } = await openControlRoom(world)
    await sim.clock.advance('2h')
    const chart = page.getByRole('group', { name: /^Burn over time/ })
    await chart.waitFor()
    const asked = () => new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? '')
    const drag = async () => {
      const box = (await chart.locator('.plot').boundingBox())!
      await page.mouse.move(box.x + box.width * 0.4, box.y + 60)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width * 0.5, box.y + 80)
      await page.mouse.move(box.x + box.width * 0.6, box.y + 80)
      await page.mouse.up()
    }
    await drag()
    await page.getByRole('button', { name: 'Show all' }).waitFor()
    const length = Number(asked().get('to')) - Number(asked().get('from'))
    expect(length).toBeGreaterThan(1_200)
    expect(length).toBeLessThan(1_800)
    // The address of the figures names the part, so that it has the same steps.
    await page.getByText('JSON', { exact: true }).click()
    expect(await page.locator('.address-box code').first().textContent()).toContain(`from=${asked().get('from')}`)
    await page.getByText('JSON', { exact: true }).click()
    await chart.focus()
    const begin = () => Number(asked().get('from'))
    const dragged = begin()
    await page.keyboard.press('ArrowRight')
    await expect.poll(begin).toBeGreaterThan(dragged)
    const moved = begin()
    await page.keyboard.press('+')
    await expect.poll(() => Number(asked().get('to')) - begin()).toBe(Math.round(length / 2))
    await page.keyboard.press('-')
    await expect.poll(() => Math.abs(begin() - moved)).toBeLessThanOrEqual(1)
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => !location.hash.includes('from='))
    await drag()
    await page.getByRole('button', { name: 'Show all' }).waitFor()
    const box = (await chart.locator('.plot').boundingBox())!
    await page.mouse.dblclick(box.x + 200, box.y + 60)
    await page.getByRole('button', { name: 'Show all' }).waitFor({ state: 'detached' })
    await page.waitForFunction(() => !location.hash.includes('from='))
    expect(problems).toEqual([])
  })

  pageTest('tells what idle instances cost a day, from the price at its address', async () => {
    const { page, server } = await openControlRoom(world)
    const panel = page.getByRole('region', { name: 'Cost of idle instances' })
    await panel.getByLabel('Deployment').selectOption('acme/chat')
    const { owners } = (await (await fetch(`${server.url}/_sim/money`)).json()) as {
      owners: { id: string; instance: { microcents_per_hour: number } | null }[]
    }
    const price = owners.find(({ id }) => id === 'Chat000000000001')!.instance!.microcents_per_hour
    for (const count of [0, 1, 2, 3]) {
      await panel.getByRole('slider').fill(String(count))
      await panel.getByText(`min_instances: ${count}`).waitFor()
      expect(isShown(amountIn(await panel.locator('[data-figure="idle"]').textContent()), count * price * 24)).toBe(
        true,
      )
    }
  })

  pageTest('shows names as text, and breaks no rule of axe-core', async () => {
    const { page, sim, problems } = await openControlRoom({ ...world, view: 'money?ledger=open' })
    await sim.clock.advance('1h')
    await page.locator('.chart-legend').getByText(CANARY).waitFor()
    await page.locator('.money-row').getByText(CANARY).waitFor()
    expect(await page.evaluate('[document.images.length, "canary" in globalThis]')).toEqual([0, false])
    expect(await findViolations(page)).toEqual([])
    expect(problems).toEqual([])
  })
})
