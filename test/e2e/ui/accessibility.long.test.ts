/** Every view for people who use a keyboard, a screen reader or few colours: in both themes, on wide and narrow screens. */
import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { VIEWS } from '../../../src/server/page/views/all-views.ts'
import { pageTest } from '../chromium.ts'
import { findViolations } from './axe.ts'
import { type ControlRoom, openControlRoom } from './control-room.ts'

const ID = 'Chat000000000001'
const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 390, height: 844 }

/** Settings of views that open more of them. */
const OPENED: Readonly<Record<string, string>> = {
  fleet: `?id=${ID}`,
  money: '?ledger=open',
  requests: '?request=1',
  lifecycles: '?id=1',
}

/** What a person opens in a view. */
const OPEN: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  requests: async page => {
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await page.getByRole('button', { name: 'Send in a fork', exact: true }).click()
    await page.locator('.answers').waitFor()
    await page.locator('.actions .address summary').first().click()
  },
  lifecycles: page => page.locator('.cause-node.effect').first().waitFor(),
}

/** Returns a control room of a world in which things run, have failed and are broken. */
async function openBusyRoom(view: string): Promise<ControlRoom> {
  const room = await openControlRoom({
    fixtures: 'two-nodes',
    with: { deployments: [{ deploy_id: ID, model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 2 }] },
  })
  const { sim } = room
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const send = (path: string, body: unknown) =>
    sim.fetch(`http://sim${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  await send('/deploy/llm', { model_name: 'late', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await send('/deploy/llm', { model_name: 'late' })
  await sim.clock.advance('20m')
  sim.cluster.node('h100-1').crash()
  await sim.clock.advance('20m')
  await room.page.evaluate(
    hash => {
      location.hash = hash
    },
    `#/${view}${OPENED[view] ?? ''}`,
  )
  return room
}

describe('every view', () => {
  for (const { name } of VIEWS) {
    pageTest(`${name} breaks no rule of axe-core, in both themes, wide and narrow`, async () => {
      const { page, problems } = await openBusyRoom(name)
      await page.locator(`nav.tabs a[aria-current][href^="#/${name}"]`).waitFor()
      await OPEN[name]?.(page)
      for (const viewport of [WIDE, NARROW]) {
        await page.setViewportSize(viewport)
        await page.locator('main').locator('h1, h2, table, .panel, section').first().waitFor()
        expect(await findViolations(page), `${viewport.width} pixels wide`).toEqual([])
        const scrollWidth = await page.evaluate('document.documentElement.scrollWidth')
        expect(scrollWidth, 'nothing is wider than the screen').toBe(viewport.width)
      }
      expect(problems).toEqual([])
    })
  }
})
