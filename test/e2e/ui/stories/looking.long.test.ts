/** Looking changes nothing: no view leaves a trace in the world, asks another machine, or breaks the policy of the page. */
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished } from 'vitest'
import { serve } from '../../../../src/server/http/server.ts'
import { createSimulator } from '../../../../src/simulator/simulator.ts'
import { pageTest } from '../../chromium.ts'
import { openControlRoom, openPage, sendAsClient } from '../control-room.ts'

const VIEWS = ['Fleet', 'Lifecycles', 'Requests', 'Money', 'Faults'] as const
const CANARY = `<img src=x onerror="globalThis.canary=1">"></script><script>globalThis.canary=1</script>`
const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat', gpu: 'H100-80GB' as const, num_gpus: 2 }]

/** Hides the page as a tab behind another one, or shows it. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(hidden => {
    Object.defineProperty(document, 'hidden', { configurable: true, value: hidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)

describe('looking', () => {
  pageTest('at every view changes no byte of the world and its journal, and stays at the origin', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', with: { deployments } })
    const { page, sim, server, origins, problems } = room
    await page.getByRole('button', { name: '+10 min' }).click()
    await page.locator('.clock-time', { hasText: '00:10:00' }).waitFor()
    const before = [sim.digest, sim.journal.entries().length]
    for (const view of VIEWS) {
      await page.getByRole('link', { name: view, exact: true }).click()
      await page.getByRole('main', { name: view }).locator('h1, h2, h3, .windowed').first().waitFor()
    }
    await page.goto(`${page.url()}?id=${ID}`)
    await page
      .getByRole('complementary', { name: `Inspector: ${ID}` })
      .getByRole('heading', { name: 'acme/chat' })
      .waitFor()
    expect([sim.digest, sim.journal.entries().length]).toEqual(before)
    expect([...origins]).toEqual([server.url])
    expect(problems).toEqual([])
  })

  pageTest('at an idle world asks only for its clock', async () => {
    const { page } = await openControlRoom({ fixtures: 'two-nodes', view: 'fleet' })
    await page.locator('.totals').waitFor()
    // What was asked at the start is answered.
    await page.waitForTimeout(3_000)
    const paths: string[] = []
    page.on('request', request => paths.push(new URL(request.url()).pathname))
    await page.waitForTimeout(3_000)
    expect(new Set(paths)).toEqual(new Set(['/_sim/clock']))
    expect(paths.length).toBeLessThan(10)
  })

  pageTest('beside a client that only reads asks for no view of the world', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'fleet' })
    const { page } = room
    await page.locator('.totals').waitFor()
    await page.waitForTimeout(3_000)
    const paths = new Set<string>()
    page.on('request', request => paths.add(new URL(request.url()).pathname))
    for (let n = 0; n < 20; n++) {
      await sendAsClient(room, 'GET', '/deploy/list')
      await page.waitForTimeout(100)
    }
    expect(paths).toEqual(new Set(['/_sim/clock']))
    await page.getByRole('link', { name: 'Requests' }).click()
    await page.getByText('20 of 20 requests').waitFor()
  })

  pageTest('from a hidden page asks nothing, and catches up when it is visible again', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'requests', with: { deployments } })
    const { page, sim, problems } = room
    await sendAsClient(room, 'GET', '/deploy/list')
    await page.getByText('1 of 1 request').waitFor()
    await setHidden(page, true)
    await expect.poll(() => sim.requestLog.listeners).toBe(0)
    const paths: string[] = []
    page.on('request', request => paths.push(new URL(request.url()).pathname))
    await sendAsClient(room, 'POST', '/deploy/llm', {
      model_name: 'acme/new',
      gpu: 'H100-80GB',
      hub: { repo: 'acme/chat-8b' },
    })
    await sim.clock.advance('3h')
    await sendAsClient(room, 'GET', '/v1/models')
    await page.waitForTimeout(3_000)
    expect(paths).toEqual([])
    expect(await page.locator('button.list-row').count()).toBe(1)

    await setHidden(page, false)
    await page.getByText('3 of 3 requests').waitFor()
    await page.locator('.clock-time', { hasText: '03:00:00' }).waitFor()
    expect(paths.filter(path => path === '/_sim/events')).toHaveLength(1)
    expect(problems).toEqual([])
  })

  pageTest('from a page that was hidden for long says what it missed', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'requests' })
    const { page, sim } = room
    await sendAsClient(room, 'GET', '/v1/me')
    await page.getByText('1 of 1 request').waitFor()
    await setHidden(page, true)
    await expect.poll(() => sim.requestLog.listeners).toBe(0)
    for (let n = 0; n < 1_004; n++) await sim.fetch('http://sim/v1/me')
    await setHidden(page, false)
    await page.getByText('1,001 of 1,001 requests, 4 were dropped unread').waitFor()
  })

  pageTest('at markup in names, headers, bodies, faults, worlds and snapshots shows it as text', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'requests', with: { deployments } })
    const { page, sim, problems } = room
    const body = { model_name: CANARY, gpu: CANARY, hub: { repo: CANARY } }
    await sendAsClient(room, 'POST', `/deploy/llm?x=${encodeURIComponent(CANARY)}`, body, { 'x-note': CANARY })
    sim.faults.add({ on: 'list*', fault: { kind: 'status', status: 500, message: CANARY } })
    await sendAsClient(room, 'GET', '/deploy/list')
    await page.locator('button.list-row', { hasText: 'POST' }).click()
    const sent = page.getByRole('region', { name: 'Body of the request' })
    expect(JSON.parse((await sent.textContent())!)).toEqual(body)
    // Headers and bodies come from the past, which keeps the markup as it was sent.
    const details = page.getByRole('region', { name: /^Request [A-Z]+ / })
    await details.locator('summary', { hasText: 'headers' }).first().click()
    const headers = await details.getByRole('region', { name: 'Headers of the request' }).textContent()
    expect(JSON.parse(headers!)).toMatchObject({ 'x-note': CANARY })
    await details.getByRole('region', { name: 'Body of the answer' }).waitFor()
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    for (const [name, fork] of [
      ['Send in a fork', 'w1,'],
      ['Send in a fork of the past', 'w2,'],
    ] as const) {
      await page.getByLabel('Header changes').fill(`x-note: ${CANARY}`)
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByText(fork).waitFor()
      await page.getByRole('region', { name: 'Body of the new answer' }).waitFor()
    }
    await page.locator('button.list-row', { hasText: 'GET' }).first().click()
    await details.getByRole('region', { name: 'Body of the answer' }).getByText(CANARY.slice(0, 10)).waitFor()
    await details.locator('.cause-node').first().waitFor()

    await page.getByRole('link', { name: 'Faults' }).click()
    await page.getByRole('region', { name: 'Fault rules' }).getByText(CANARY.slice(0, 15)).first().waitFor()
    await page.getByRole('button', { name: 'Record as scenario' }).click()
    await page.getByLabel('Target (node)').fill(CANARY)
    await page.getByRole('button', { name: 'Give the command' }).click()
    await page.locator('.notice.failed').waitFor()

    await page.getByRole('button', { name: 'Worlds and snapshots' }).click()
    await page.getByLabel('Fixture').fill(CANARY)
    await page.getByRole('button', { name: 'Create a world' }).click()
    await page.locator('.notice.failed').getByText(CANARY.slice(0, 10)).waitFor()
    await page.getByLabel('Name').fill('<b>x</b>')
    await page.getByRole('button', { name: 'Take a snapshot' }).click()
    await page.getByRole('button', { name: 'Close the worlds' }).click()

    const report = {
      ...{ flow: CANARY, runs: 1, points: 1, chance_of_new: 0.5, stopped_because: CANARY, runs_of: { [CANARY]: 1 } },
      matrix: [{ operation: CANARY, class: CANARY, found: 1, surfaced: 0, survived: 0, notReached: 0 }],
      findings: [
        {
          ...{ invariant: CANARY, signature: CANARY, plan: [{ fault: { on: CANARY } }] },
          ...{ scenario: CANARY, why: CANARY, stage: CANARY },
        },
      ],
    }
    const buffer = Buffer.from(JSON.stringify(report))
    const file = { name: `${CANARY.slice(0, 12)}.json`, mimeType: 'application/json', buffer }
    await page.getByLabel('Open a recording').setInputFiles(file)
    await page.getByRole('region', { name: 'Findings' }).getByRole('button').click()
    await page.getByRole('region', { name: `Finding ${CANARY}` }).waitFor()

    await page.goto(
      `${page.url().split('#')[0]}#/requests?filter=${encodeURIComponent(CANARY)}&id=${encodeURIComponent(CANARY)}`,
    )
    await page
      .getByRole('complementary', { name: /Inspector: <img/ })
      .getByRole('alert')
      .waitFor()
    expect(await page.evaluate('[document.images.length, "canary" in globalThis]')).toEqual([0, false])
    expect(problems.filter(problem => !/status of 4\d\d/.test(problem))).toEqual([])
  })

  pageTest('from another machine takes the control token, and says when it is wrong', async () => {
    const sim = createSimulator({ clock: 'manual', fixtures: 'two-nodes' })
    const server = await serve(sim, { port: 0, hostname: '0.0.0.0', controlToken: 'open sesame' })
    onTestFinished(() => server.close())
    const { page, problems } = await openPage(`${server.url}/_sim/ui#/fleet`)
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').getByText('does not accept this token').waitFor()
    await page.getByLabel('Token').fill('open sesame')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.locator('.totals').waitFor()
    await page.getByRole('button', { name: '+1 h' }).click()
    await page.locator('.clock-time', { hasText: '01:00:00' }).waitFor()
    await page.reload()
    await page.locator('.totals').waitFor()
    expect(problems.filter(problem => !problem.includes('401'))).toEqual([])
  })
})
