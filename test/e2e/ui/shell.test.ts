import { describe, expect } from 'vitest'
import { pageTest } from '../chromium.ts'
import { openControlRoom } from './control-room.ts'

describe('the control room of a server', () => {
  pageTest('shows the time, and moves it to the next event', async () => {
    const { page, sim, problems, origins, server } = await openControlRoom()
    await page.getByRole('button', { name: '+1 h' }).click()
    await page.getByText('Advance by 1h').waitFor()
    expect(sim.clock.elapsed).toBe(3_600_000_000)
    await expect.poll(() => page.locator('.clock-time').textContent()).toBe('01:00:00')
    expect(problems).toEqual([])
    expect([...origins]).toEqual([server.url])
  })

  pageTest('says why an action failed', async () => {
    const { page } = await openControlRoom()
    await page.getByLabel('Advance by a duration').fill('1x')
    await page.getByRole('button', { name: 'Advance', exact: true }).click()
    await page.locator('.notice.failed').waitFor()
    expect(await page.locator('.notice-text').textContent()).toContain('"1x"')
  })
})
