/** What a person needs who sees the page for the first time: results come into view, and words say what comes. */
import { describe, expect } from 'vitest'
import { pageTest } from '../../chromium.ts'
import { openControlRoom, sendAsClient } from '../control-room.ts'

const NARROW = { viewport: { width: 390, height: 844 } }

describe('the page', () => {
  pageTest('says when the next event comes if nothing happens within the hour', async () => {
    const room = await openControlRoom({ fixtures: 'default', view: 'money' })
    await room.sim.clock.advance('10m')
    await room.page.getByText(/^Nothing happens within 1h\. The next event is in \d+ d( \d+ h)?\.$/).waitFor()
    expect(room.problems).toEqual([])
  })

  pageTest('scrolls to the answer of a request that is sent again, and keeps its row in view', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'requests', context: NARROW })
    for (let call = 0; call < 20; call++) await sendAsClient(room, 'GET', '/deploy/list')
    room.sim.faults.add({ on: 'list*', times: 1, fault: { kind: 'status', status: 503 } })
    await sendAsClient(room, 'GET', '/deploy/list')
    const { page } = room
    const row = page.locator('button.list-row', { hasText: '503' })
    await row.click()
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await page.getByRole('button', { name: 'Send in a fork of the past' }).click()
    const words = page.getByText('The answers are equal')
    await words.waitFor()
    const isInside = async (inner: typeof row, outer: string) => {
      const [box, frame] = [(await inner.boundingBox())!, (await page.locator(outer).boundingBox())!]
      return box.y >= frame.y - 1 && box.y + box.height <= frame.y + frame.height + 1
    }
    await expect.poll(() => isInside(words, '.split-details')).toBe(true)
    await expect.poll(() => isInside(row, '.windowed')).toBe(true)
    expect(room.problems).toEqual([])
  })

  pageTest('has the figures of each GPU type within their panel', async () => {
    const room = await openControlRoom({ fixtures: 'default' })
    const panel = room.page.getByRole('region', { name: 'By GPU type' })
    await panel.waitFor()
    const overflow = await panel.evaluate(element => element.scrollWidth - element.clientWidth)
    expect(overflow).toBe(0)
    expect(room.problems).toEqual([])
  })
})
