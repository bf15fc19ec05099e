/** A request that was refused: what was sent and answered, the same again in a fork of the past, and what it leads to. */
import { describe, expect } from 'vitest'
import { pageTest } from '../../chromium.ts'
import { openControlRoom, sendAsClient } from '../control-room.ts'

const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat', gpu: 'H100-80GB' as const, num_gpus: 2 }]
const MODEL = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b', token: 'hub-secret' } }

/** A control room with a create that a fault refused an hour ago. The fault is gone now. */
async function openRefused() {
  const room = await openControlRoom({ fixtures: 'two-nodes', view: 'requests' })
  const { sim, page } = room
  await expect
    .poll(() => page.evaluate("fetch('/_sim/past').then(answer => answer.json())"))
    .toMatchObject({ kept: true })
  await sim.clock.advance('10m')
  const fault = sim.faults.add({ on: 'createLlmDeployment', fault: { kind: 'status', status: 503 } })
  await sendAsClient(room, 'POST', '/deploy/llm', MODEL, { 'x-note': 'first try' })
  await sim.clock.advance('1h')
  fault.remove()
  const row = page.locator('button.list-row', { hasText: 'POST' })
  await row.click()
  const { seq } = sim.requests[0]!
  const details = page.getByRole('region', { name: 'Request POST /deploy/llm', exact: true })
  return { ...room, details, seq }
}

describe('a refused request', () => {
  pageTest('shows what was sent and answered, as its address has it', async () => {
    const { details, server, seq, page, problems } = await openRefused()
    const answer = await fetch(`${server.url}/_sim/requests/${seq}`)
    const kept = (await answer.json()) as Record<'sent' | 'answer', { headers: Record<string, string>; body: unknown }>
    const sent = details.getByRole('region', { name: 'Body of the request' })
    expect(JSON.parse((await sent.textContent())!)).toEqual(kept.sent.body)
    expect(JSON.stringify(kept)).not.toContain('hub-secret')
    const answered = details.getByRole('region', { name: 'Body of the answer' })
    expect(JSON.parse((await answered.textContent())!)).toEqual(kept.answer.body)
    for (const [side, of] of [
      [kept.sent, 'the request'],
      [kept.answer, 'the answer'],
    ] as const) {
      const title = `${Object.keys(side.headers).length} header${Object.keys(side.headers).length === 1 ? '' : 's'}`
      await details.locator('details', { hasText: title }).locator('summary').first().click()
      const headers = details.getByRole('region', { name: `Headers of ${of}` })
      expect(JSON.parse((await headers.textContent())!)).toEqual(side.headers)
    }
    await page.locator('.split-list .address summary').click()
    expect(await page.locator('.split-list .address code').textContent()).toContain('/_sim/requests?limit=1000')
    expect(problems).toEqual([])
  })

  pageTest(
    'fails the same in a fork of the past, and passes there when it is edited or the fault is removed',
    async () => {
      const { details, server, page, problems } = await openRefused()
      await details.getByRole('button', { name: 'Edit and send again' }).click()
      const form = details.getByRole('form', { name: 'Edit and send again' })
      const then = form.getByRole('button', { name: 'Send in a fork of the past' })
      const statuses = form.locator('.answers .status-mark')
      await then.click()
      await form.getByText('The answers are equal').waitFor()
      expect(await statuses.allTextContents()).toEqual(['✗ 503', '✗ 503'])
      expect(server.worlds.get('w1')!.sim.clock.iso).toContain('T00:10:00')

      await form.getByLabel('without fault-1').check()
      await then.click()
      await form.getByText(/parts? of the answer differ/).waitFor()
      expect(await statuses.allTextContents()).toEqual(['✗ 503', '✓ 200'])
      const { sim } = server.worlds.get('w2')!
      expect(sim.requests.at(-1)!.body).toEqual(MODEL)
      await form.getByText('body.deploy_id').waitFor()

      await form.getByLabel('without fault-1').uncheck()
      await form.getByLabel('Method').selectOption('GET')
      await form.getByLabel('Path and query').fill('/deploy/list')
      await form.getByLabel('Body in JSON').fill('')
      await then.click()
      await form.getByText('w3,').waitFor()
      expect(await statuses.allTextContents()).toEqual(['✗ 503', '✓ 200'])

      await form.getByRole('link', { name: 'open this world' }).click()
      await page.getByText('This is a fork of default at').waitFor()
      await page.locator('button.list-row', { hasText: '/deploy/list' }).waitFor()
      expect(problems).toEqual([])
    },
  )

  pageTest('of before the past says why it cannot be sent there, and what to do', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'requests', serve: {} })
    const { page, sim, server } = room
    await expect
      .poll(() => page.evaluate("fetch('/_sim/past').then(answer => answer.json())"))
      .toMatchObject({ kept: true })
    await fetch(`${server.url}/_sim/past`, { method: 'DELETE' })
    await sendAsClient(room, 'GET', '/deploy/none')
    await page.locator('button.list-row').click()
    await page.getByText('The past of this world is not kept.').waitFor()
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    expect(await page.getByRole('button', { name: 'Send in a fork of the past' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('only the statuses are compared').waitFor()
    expect(sim.requests.map(({ status }) => status)).toEqual([404, 404])

    await page.getByRole('button', { name: 'Keep the past from now on' }).click()
    await expect
      .poll(() => page.evaluate("fetch('/_sim/past').then(answer => answer.json())"))
      .toMatchObject({ kept: true })
  })

  pageTest('waits for the time of its fork, which can be moved on there', async () => {
    const room = await openControlRoom({
      fixtures: 'two-nodes',
      with: { deployments },
      inferencePace: 'clock',
      view: 'requests',
    })
    const { page, sim } = room
    await expect
      .poll(() => page.evaluate("fetch('/_sim/past').then(answer => answer.json())"))
      .toMatchObject({ kept: true })
    const chat = { model: 'acme/chat', messages: [{ role: 'user', content: 'Hi' }] }
    const answer = sendAsClient(room, 'POST', '/v1/chat/completions', chat)
    await expect.poll(() => sim.pendingRequests.length).toBe(1)
    await sim.clock.advance('2m')
    await answer
    await page.locator('button.list-row').click()
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await page.getByRole('button', { name: 'Send in a fork of the past' }).click()
    await page.getByText('It may wait for time.').waitFor()
    await page.getByRole('button', { name: 'Advance it by 1 min' }).click()
    await page.getByText('✓ 200').last().waitFor()
    expect(await page.locator('.answers .status-mark').allTextContents()).toEqual(['✓ 200', '✓ 200'])
  })
})

describe('a list', () => {
  pageTest('of requests keeps its connection while a row is selected', async () => {
    const room = await openControlRoom({ fixtures: 'two-nodes', view: 'requests' })
    const { page } = room
    for (let n = 0; n < 3; n++) await sendAsClient(room, 'GET', '/deploy/list')
    const rows = page.locator('button.list-row')
    await rows.nth(2).waitFor()
    const opened: string[] = []
    page.on('request', request => opened.push(new URL(request.url()).pathname))
    await rows.nth(0).click()
    await rows.nth(1).click()
    await page.getByRole('heading', { name: 'Answered' }).waitFor()
    expect(opened).toContain('/_sim/requests/2')
    expect(opened).not.toContain('/_sim/events')
    expect(opened).not.toContain('/_sim/past')
  })
})

describe('causes', () => {
  pageTest('lead from a refused chat to the first fault, and forward to the money', async () => {
    const room = await openControlRoom({
      fixtures: 'two-nodes',
      with: { deployments },
      inferencePace: 'clock',
      view: 'requests',
    })
    const { page, sim, server, problems } = room
    await sim.clock.advance('30m')
    const chat = { model: 'acme/chat', messages: [{ role: 'user', content: 'Hi' }] }
    const answers = [1, 2].map(() => sendAsClient(room, 'POST', '/v1/chat/completions', chat))
    await expect.poll(() => sim.pendingRequests.length).toBe(2)
    sim.cluster.node(sim.cluster.nodeOf(ID).name).crash()
    await Promise.all(answers)
    await sim.clock.advance('2h')
    await page.locator('button.list-row').nth(1).waitFor()
    const { keyboard } = page
    await keyboard.press('j')
    const { seq, method, path } = sim.requests.at(-1)!
    const details = page.getByRole('region', { name: `Request ${method} ${path}` })
    const crash = sim.journal.entries().find(({ kind }) => kind === 'node.crashed')!
    // The request shows all of its causes. The first one is the crash, and the inspector shows its effects.
    const chain = await (await fetch(`${server.url}/_sim/causes/${seq}`)).json()
    const { causes } = chain as { causes: { seq: number; sentence: string }[] }
    expect(causes[0]!.seq).toBe(crash.seq)
    await details.locator('.cause-node.selected').waitFor()
    expect(await details.locator('.cause-node.cause a.linklike').allTextContents()).toEqual(
      causes.map(({ sentence }) => sentence),
    )
    await details.locator('.cause-node.cause a.linklike').first().click()
    const inspector = page.getByRole('complementary', { name: `Inspector: ${crash.seq}` })
    for (const request of sim.requests)
      await inspector
        .locator('.cause-node', { hasText: `${request.method} ${request.path}` })
        .first()
        .waitFor()

    const answer = await fetch(`${server.url}/_sim/causes/${crash.seq}?limit=100`)
    const tree = (await answer.json()) as { effects: { sentence: string }[]; money: { since_microcents: number }[] }
    expect(await inspector.locator('.cause-node.effect a.linklike').allTextContents()).toEqual(
      tree.effects.map(({ sentence }) => sentence),
    )
    const dollars = (tree.money[0]!.since_microcents / 1e8).toFixed(2)
    await inspector.getByText(`$${dollars}, now`).waitFor()
    await inspector.getByRole('link', { name: 'ledger of acme/chat' }).click()
    await page.locator('.ledger-row', { hasText: ID }).first().waitFor()
    expect(problems.filter(problem => !/status of 5\d\d/.test(problem))).toEqual([])
  })
})

describe('a new request', () => {
  pageTest('is sent by a page without any client, and what comes of it is listed', async () => {
    const { page, sim, problems } = await openControlRoom({ fixtures: 'two-nodes', view: 'requests' })
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'New request' }).click()
    const form = page.getByRole('region', { name: 'New request' })
    await form.getByLabel('Method').selectOption('POST')
    await form.getByLabel('Path and query').fill('/deploy/llm')
    await form.getByLabel('Body in JSON').fill(JSON.stringify({ ...MODEL, hub: { repo: 'acme/chat-8b' } }))
    await form.getByRole('button', { name: 'Send', exact: true }).click()
    await form.getByText('✓ 200').waitFor()
    const [request] = sim.requests
    expect(request).toMatchObject({ operation: 'createLlmDeployment', status: 200 })
    const answer = await form.getByRole('region', { name: 'Body of the answer' }).textContent()
    expect(JSON.parse(answer!)).toMatchObject({ deploy_id: expect.stringMatching(/^\w{16}$/) })

    const coming = page.locator('details', { hasText: /The next \d+ entries/ })
    await coming.locator('summary').click()
    const sentences = (await coming.locator('.json').textContent())!.split('\n')
    expect(sentences.length).toBeGreaterThan(1)
    for (const sentence of sentences) expect(sentence).toMatch(/^\d\d:\d\d:\d\d(\.\d+)? [A-Z].*\.$/)
    const width = await page.evaluate("document.querySelector('.timeline').getBoundingClientRect().width")
    expect(width).toBeLessThanOrEqual(390)
    await form.getByLabel('Path and query').fill('no path')
    await form.getByRole('button', { name: 'Send', exact: true }).click()
    await form.getByRole('alert').waitFor()
    expect(problems).toHaveLength(1)
  })
})
