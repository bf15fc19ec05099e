/** What a person does with time: moves it by dragging, goes back, and makes another end of the same story. */
import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { pageTest } from '../../chromium.ts'
import { dragTimeTo, openControlRoom, sendAsClient } from '../control-room.ts'

const MODEL = { model_name: 'acme/late', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

describe('time', () => {
  pageTest('a deployment is followed from create to running while time is dragged, forward and back', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'lifecycles' })
    const { page, sim, problems } = room
    await sendAsClient(room, 'POST', '/deploy/llm', MODEL)
    const row = page.locator('.lane-name', { hasText: 'acme/late' })
    await row.getByText('deployment initializing').waitFor()

    await dragTimeTo(page, 0.82)
    await page.locator('.notice', { hasText: 'Advance to' }).waitFor()
    const soon = sim.clock.elapsed
    expect(soon).toBeGreaterThan(5 * 60e6)
    expect(soon).toBeLessThan(15 * 60e6)
    await dragTimeTo(page, 0.84)
    await row.getByText('deployment running').waitFor()

    const [end, digest] = [sim.clock.elapsed, sim.digest]
    await dragTimeTo(page, 0.02)
    await page.getByText('This is a fork of default at').waitFor()
    await row.getByText(/deployment (initializing|deploying|downloading)/).waitFor()
    expect([sim.clock.elapsed, sim.digest]).toEqual([end, digest])
    await page.getByRole('link', { name: 'Go back to default' }).click()
    await row.getByText('deployment running').waitFor()
    expect(problems).toEqual([])
  })

  pageTest('a fork from the past is broken, ends otherwise, and is compared with the world it came from', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'lifecycles' })
    const { page, problems } = room
    const { deploy_id: id } = await sendAsClient(room, 'POST', '/deploy/llm', MODEL)
    await page.getByRole('button', { name: '+1 h' }).click()
    const row = page.locator('.lane-name', { hasText: 'acme/late' })
    await row.getByText('deployment running').waitFor()

    await dragTimeTo(page, 0.01)
    await page.getByText('This is a fork of default at').waitFor()
    const world = new URL(page.url()).hash.match(/world=([^&]+)/)![1]!
    await page.getByRole('link', { name: 'Faults' }).click()
    const form = page.getByRole('region', { name: 'Break or repair' })
    await form.getByLabel('Command').selectOption('hub.down')
    await form.getByRole('button', { name: 'Give the command' }).click()
    await page.getByRole('region', { name: 'Broken now' }).getByRole('button', { name: 'Undo' }).first().waitFor()
    await page.getByRole('button', { name: '+1 h' }).click()

    await page.getByRole('button', { name: 'Worlds and snapshots' }).click()
    await page
      .getByRole('row', { name: /^default/ })
      .getByRole('button', { name: 'Compare' })
      .click()
    const differences = page.getByRole('region', { name: `Differences between default and ${world}` })
    await differences.getByText('They diverged at').waitFor()
    await differences
      .getByRole('row', { name: String(id) })
      .first()
      .waitFor()
    const answer = await fetch(`${room.server.url}/_sim/worlds/${world}/_sim/differences?with=default`)
    const { differences: found } = (await answer.json()) as { differences: { kind: string; subject: string }[] }
    const shown = await differences.locator('tbody tr').allTextContents()
    expect(shown).toHaveLength(found.length)
    for (const [index, { kind, subject }] of found.entries()) expect(shown[index]).toContain(kind + subject)

    await page.getByRole('button', { name: 'Close the worlds' }).click()
    await page.getByRole('link', { name: 'Lifecycles' }).click()
    await page.getByLabel('Compare with').selectOption('default')
    await row.getByText(/(≠|in) default/).waitFor()
    expect(await sendAsClient(room, 'GET', `/deploy/${id}`)).toMatchObject({ status: 'running' })
    expect(problems).toEqual([])
  })

  pageTest('a visited past stays on the timeline, until the fork goes its own way', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes' })
    const { page, sim, problems } = room
    const worlds = async () => (await (await fetch(`${room.server.url}/_sim/worlds`)).json()) as { world: string }[]
    await page.getByRole('button', { name: '+1 h' }).click()
    const slider = page.getByRole('slider', { name: 'Go to a time' })
    await page.locator('.notice', { hasText: 'Advance by 1h' }).waitFor()
    const present = new Date(sim.clock.now).toISOString()
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toBe(present)

    await dragTimeTo(page, 0.3)
    await page.getByText('This is a fork of default at').waitFor()
    const past = await slider.getAttribute('aria-valuetext')
    expect([past, present, past! < present]).toEqual([past, present, true])
    expect(Date.parse((await worlds())[1]!['now' as 'world'])).toBe(Date.parse(past!))

    await dragTimeTo(page, 0.95)
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toBe(present)
    expect((await worlds()).map(({ world }) => world)).toEqual(['default'])

    await dragTimeTo(page, 0.3)
    await page.getByText('This is a fork of default at').waitFor()
    await page.getByRole('button', { name: '+10 min' }).click()
    await page.locator('.notice', { hasText: 'Advance by 10m' }).waitFor()
    const before = await slider.getAttribute('aria-valuetext')
    await dragTimeTo(page, 0.95)
    await expect.poll(async () => (await slider.getAttribute('aria-valuetext'))! > before!).toBe(true)
    await page.getByText('This is a fork of default at').waitFor()
    expect(new Date(sim.clock.now).toISOString()).toBe(present)
    expect(problems).toEqual([])
  })

  pageTest('a click on the timeline does what its label said before, and the fork is named by it', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes' })
    const { page, sim, problems } = room
    await sendAsClient(room, 'POST', '/deploy/llm', MODEL)
    const next = page.locator('.timeline-words', { hasText: /^Next, in .*: .*instance/ })
    await next.getByRole('button', { name: 'Go there' }).click()
    await page.locator('.notice', { hasText: 'Advance to' }).waitFor()
    expect(sim.clock.elapsed).toBeGreaterThan(0)
    await page.getByRole('button', { name: '+1 h' }).click()
    await page.locator('.notice', { hasText: 'Advance by 1h' }).waitFor()
    const label = page.locator('.timeline .tip')

    await hoverTime(page, 0.9)
    await label.filter({ hasText: /^Advance to \d\d:\d\d/ }).waitFor()
    const target = (await label.textContent())!.replace('Advance to ', '')
    const before = sim.clock.elapsed
    expect(target > new Date(sim.clock.now).toISOString().slice(11, 19)).toBe(true)
    await page.mouse.down()
    await page.mouse.up()
    await page.locator('.notice', { hasText: 'Advance to' }).waitFor()
    expect(sim.clock.elapsed).toBeGreaterThan(before)
    expect(sim.clock.iso).toContain(`T${target}.000000`)

    await hoverTime(page, 0.3)
    await label.filter({ hasText: /^Open a fork at \d\d:\d\d/ }).waitFor()
    const then = (await label.textContent())!.replace('Open a fork at ', '')
    await page.mouse.down()
    await page.mouse.up()
    await page.getByText(`This is a fork of default at ${then}.`).waitFor()
    await page.locator('.notice', { hasText: `Open a fork of default at ${then}` }).waitFor()
    await page
      .locator('.world-picker option', { hasText: `w1: fork of default at ${then}` })
      .waitFor({ state: 'attached' })

    const slider = page.getByRole('slider', { name: 'Go to a time' })
    await slider.press('End')
    expect(await slider.getAttribute('aria-valuetext')).toBe('Go back to default, now')
    await slider.press('Enter')
    await page.getByText('This is a fork of default').waitFor({ state: 'detached' })
    await slider.press('End')
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/^Advance to \d\d:\d\d/)
    await slider.press('Home')
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/^Open a fork at \d\d:\d\d/)
    expect(problems.filter(problem => !problem.includes('404'))).toEqual([])
  })

  pageTest('the timeline offers no past that is not kept', async () => {
    const { page, sim, server, problems } = await openControlRoom({ fixtures: 'two-nodes' })
    await page.getByRole('button', { name: '+1 h' }).click()
    const slider = page.getByRole('slider', { name: 'Go to a time' })
    const present = new Date(sim.clock.now).toISOString()
    await fetch(`${server.url}/_sim/past`, { method: 'DELETE' })
    await page.getByRole('button', { name: '+10 min' }).click()
    await expect.poll(() => slider.getAttribute('aria-valuetext')).not.toBe(present)
    const now = await slider.getAttribute('aria-valuetext')
    await expect.poll(() => isPastChosen(page), { timeout: 20_000 }).toBe(false)
    await page.getByText('Now: its past is not kept').waitFor()
    await slider.press('Escape')
    expect(await slider.getAttribute('aria-valuetext')).toBe(now)
    expect(problems).toEqual([])
  })
})

/** Moves the pointer to a share of the timeline. */
async function hoverTime(page: Page, share: number): Promise<void> {
  const { x, y, width, height } = (await page.getByRole('slider', { name: 'Go to a time' }).boundingBox())!
  await page.mouse.move(x + share * width, y + height / 2)
}

/** Chooses the beginning of the timeline by the keyboard. Resolves with whether it lies before the present. */
async function isPastChosen(page: Page): Promise<boolean> {
  const slider = page.getByRole('slider', { name: 'Go to a time' })
  await slider.press('Escape')
  await slider.press('Home')
  return (await slider.getAttribute('aria-valuetext'))!.startsWith('Open a fork at')
}
