/** Every figure on the page is that of its address: requests, faults and worlds. */
import { describe, expect } from 'vitest'
import { pageTest } from '../../chromium.ts'
import { openControlRoom, sendAsClient } from '../control-room.ts'

describe('figures', () => {
  pageTest('of requests are those of their address', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'requests' })
    const { page, server, sim } = room
    sim.faults.add({ on: 'listDeployments', times: 1, fault: { kind: 'rateLimit', retryAfter: '20s' } })
    for (const path of ['/deploy/list', '/deploy/list', '/deploy/none', '/v1/models']) {
      await sendAsClient(room, 'GET', path)
      await sim.clock.advance('70s')
    }
    const rows = page.locator('button.list-row')
    await rows.nth(3).waitFor()
    const answer = await (await fetch(`${server.url}/_sim/requests`)).json()
    const { requests } = answer as {
      requests: { seq: number; method: string; path: string; status: number; sentAt: string }[]
    }
    expect(await rows.count()).toBe(requests.length)
    expect(await page.locator('.split-list [role=status]').textContent()).toBe('4 of 4 requests')
    for (const [index, { seq, method, path, status, sentAt }] of requests.entries()) {
      const row = rows.nth(index)
      expect(await row.locator('time').getAttribute('datetime')).toBe(sentAt)
      const text = await row.textContent()
      for (const part of [sentAt.slice(11, 19), method, path, String(status)]) expect(text).toContain(part)
      await row.click()
      const details = page.getByRole('region', { name: `Request ${method} ${path}`, exact: true })
      const explained = await (await fetch(`${server.url}/_sim/explain/${seq}`)).json()
      const { sentences } = explained as { sentences: string[] }
      await details.getByText(sentences.at(-1)!).waitFor()
      expect(await details.locator('.sentences li').allTextContents()).toEqual(sentences)
    }
  })

  pageTest('of faults and worlds are those of their addresses', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'faults' })
    const { page, server, sim } = room
    const read = async (path: string) => (await (await fetch(`${server.url}${path}`)).json()) as never
    sim.faults.add({ on: 'listDeployments', times: 5, fault: { kind: 'status', status: 503 } })
    for (const node of sim.cluster.nodes()) sim.cluster.node(node.name).crash()
    for (let n = 0; n < 3; n++) await sendAsClient(room, 'GET', '/deploy/list')
    const rules = page.getByRole('region', { name: 'Fault rules' })
    await rules.getByText('3 hits, 2 left, 3 matches').waitFor()
    const [{ id, hits, matches }]: [{ id: string; hits: number; matches: number }] = await read('/_sim/faults')
    expect([id, hits, matches]).toEqual(['fault-1', 3, 3])
    const troubles: { what: string }[] = await read('/_sim/troubles')
    expect(troubles.length).toBeGreaterThan(1)
    const broken = page.getByRole('region', { name: 'Broken now' })
    await broken.getByText(troubles.at(-1)!.what).first().waitFor()
    const shown = await broken.getByRole('listitem').allTextContents()
    expect(shown).toEqual(troubles.map(({ what }) => `✗ ${what}Undo ${what}`))

    await sim.clock.advance('3h')
    await fetch(`${server.url}/_sim/worlds`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ fixtures: 'empty', seed: '9', clock: 'manual' }),
    })
    await page.getByRole('button', { name: 'Worlds and snapshots' }).click()
    await page.getByRole('row', { name: /^w1/ }).waitFor()
    const worlds: Record<'world' | 'fixtures' | 'seed' | 'now', string>[] = await read('/_sim/worlds')
    expect(worlds).toHaveLength(2)
    const table = page
      .getByRole('dialog', { name: 'Worlds' })
      .getByRole('region', { name: 'Worlds' })
      .locator('tbody tr')
    for (const [index, { world, fixtures, seed, now }] of worlds.entries()) {
      const [name, ...cells] = await table.nth(index).locator('th, td').allTextContents()
      expect([name!.replace('● ', ''), ...cells.slice(0, 3)]).toEqual([
        ...[world, fixtures, seed],
        `${now.slice(0, 10)} ${now.slice(11, 19)}`,
      ])
    }
  })
})
