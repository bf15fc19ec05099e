/** The page without a mouse: each key does what the help says. */
import { describe, expect } from 'vitest'
import { pageTest } from '../../chromium.ts'
import { openControlRoom, sendAsClient } from '../control-room.ts'

describe('keys', () => {
  pageTest('do what the help says', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', clock: { mode: 'scaled', speed: 1 } })
    const { page, sim, problems } = room
    for (const path of ['/deploy/list', '/deploy/none', '/v1/models']) await sendAsClient(room, 'GET', path)
    const { keyboard } = page

    await keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keys' })
    expect(await help.locator('kbd').allTextContents()).toEqual([
      '1 … 6',
      '/',
      'j k',
      'Space',
      '→',
      'f',
      'Ctrl K',
      'Esc',
      '?',
    ])
    await keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
    await keyboard.press('?')
    await help.waitFor()
    await keyboard.press('?')
    await help.waitFor({ state: 'detached' })

    const views = ['Fleet', 'Lifecycles', 'Requests', 'Money', 'Faults']
    for (const [index, view] of views.entries()) {
      await keyboard.press(String(index + 1))
      await page.getByRole('main', { name: view }).waitFor()
    }

    await keyboard.press('3')
    const rows = page.locator('button.list-row')
    await rows.nth(2).waitFor()
    const selected = page.locator('button.list-row[aria-pressed=true]')
    for (const [key, path] of [
      ['j', '/v1/models'],
      ['k', '/deploy/none'],
      ['k', '/deploy/list'],
      ['j', '/deploy/none'],
    ] as const) {
      await keyboard.press(key)
      await selected.filter({ hasText: path }).waitFor()
    }
    await keyboard.press('/')
    await keyboard.type('models')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByRole('main').focus()

    await keyboard.press('Space')
    await page.getByText('paused by control-room').waitFor()
    expect(sim.clock.pausedBy).toEqual(['control-room'])
    await keyboard.press('Space')
    await page.getByText('paused by control-room').waitFor({ state: 'detached' })
    await keyboard.press('Space')
    await page.getByText('paused by control-room').waitFor()

    const model = { model_name: 'acme/late', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
    const { deploy_id: id } = await sendAsClient(room, 'POST', '/deploy/llm', model)
    await page.getByText(/^Next, in/).waitFor()
    const before = sim.clock.elapsed
    await keyboard.press('ArrowRight')
    await page.getByText('Go to the next event').waitFor()
    expect(sim.clock.elapsed).toBeGreaterThan(before)
    // A button that was pressed keeps the focus, and has no use for this key.
    await page.getByRole('button', { name: 'Next event' }).focus()
    const then = sim.clock.elapsed
    await keyboard.press('ArrowRight')
    await expect.poll(() => sim.clock.elapsed).toBeGreaterThan(then)

    await keyboard.press('Control+k')
    const finder = page.getByRole('dialog', { name: 'Find by id' })
    await finder.waitFor()
    await keyboard.type(String(id).slice(0, 6))
    await keyboard.press('Enter')
    const inspector = page.getByRole('complementary', { name: `Inspector: ${id}` })
    await inspector.waitFor()
    // What is closed first is what was opened last: the notice of the move, then the inspector.
    await keyboard.press('Escape')
    await keyboard.press('Escape')
    await inspector.waitFor({ state: 'detached' })

    await keyboard.press('f')
    await page.getByText('This is a fork of default at').waitFor()
    expect(await page.locator('.world-picker select').inputValue()).toBe('w1')
    expect(problems.filter(problem => !problem.includes('404'))).toEqual([])
  })
})
