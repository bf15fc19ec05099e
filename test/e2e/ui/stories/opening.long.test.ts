/** Files that are opened by what is in them, things that are found by the keyboard, and bodies that are edited. */
import { describe, expect } from 'vitest'
import { pageTest } from '../../chromium.ts'
import { openControlRoom, sendAsClient } from '../control-room.ts'

const FLOW = {
  ...{ runs: 1, points: 1, chance_of_new: 0, stopped_because: 'nothing is left', runs_of: { singles: 1 } },
  ...{ matrix: [], findings: [], flow: 'the client deploys' },
}

describe('a file that is dropped', () => {
  pageTest('is a report of explore, whatever its layout and the order of its fields', async () => {
    const { page, problems } = await openControlRoom({ fixtures: 'empty' })
    const drop = async (name: string, text: string) => {
      const file = { name, mimeType: 'application/json', buffer: Buffer.from(text) }
      await page.getByLabel('Open a recording').setInputFiles(file)
    }
    await drop('indented.json', JSON.stringify(FLOW, undefined, 2))
    await page.getByRole('heading', { name: 'the client deploys' }).waitFor()
    await drop(
      'lines.jsonl',
      `${JSON.stringify({ ...FLOW, flow: 'one' })}\n${JSON.stringify({ ...FLOW, flow: 'two' })}\n`,
    )
    await page.getByLabel('Flow').selectOption('two')
    await page.getByRole('heading', { name: 'two' }).waitFor()
    expect(problems).toEqual([])
  })

  pageTest('of another kind is refused with the kinds that can be opened', async () => {
    const { page, problems } = await openControlRoom({ fixtures: 'empty' })
    for (const [name, text] of [
      ['fixture.json', '{"deployments": []}'],
      ['list.json', '[1, 2]'],
      ['scenario.yaml', 'title: a story\n'],
      ['null.json', 'null'],
      ['empty.json', ''],
    ] as const) {
      await page.getByLabel('Open a recording').setInputFiles({ name, mimeType: '', buffer: Buffer.from(text) })
      const notice = page.locator('.notice.failed', { hasText: `Failed to open ${name}` })
      await notice.waitFor()
      expect(await notice.textContent()).toContain('Open a recording, a saved page or a report of explore')
    }
    expect(problems).toEqual([])
  })
})

describe('the finder', () => {
  pageTest('moves through what it found with the arrow keys', async () => {
    const deployments = [{ model_name: 'acme/one' }, { model_name: 'acme/two' }]
    const { page, problems } = await openControlRoom({ fixtures: 'two-nodes', with: { deployments } })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('acme/')
    const found = page.getByRole('dialog').getByRole('listitem')
    await expect.poll(() => found.count()).toBeGreaterThan(1)
    const focused = () => page.evaluate(() => document.activeElement!.textContent!.trim())
    await page.keyboard.press('ArrowDown')
    expect(await focused()).toBe((await found.nth(0).textContent())!.trim())
    await page.keyboard.press('ArrowDown')
    const second = (await found.nth(1).textContent())!.trim()
    expect(await focused()).toBe(second)
    await page.keyboard.press('Enter')
    const inspector = page.getByRole('complementary', { name: `Inspector: ${second.split(' ')[0]}` })
    // A thing is called by its name, with its id below it.
    const name = /acme\/\w+/.exec(second)![0]
    await inspector.getByRole('heading', { name, exact: true }).waitFor()
    await inspector.getByText(second.split(' ')[0]!, { exact: true }).first().waitFor()
    expect(problems).toEqual([])
  })
})

pageTest('a mistake of the request itself decided a 422', async () => {
  const room = await openControlRoom({ fixtures: 'empty', view: 'requests' })
  await sendAsClient(room, 'POST', '/deploy/llm', {})
  await sendAsClient(room, 'GET', '/deploy/list')
  const rows = room.page.locator('button.list-row')
  await expect.poll(() => rows.count()).toBe(2)
  expect(await rows.locator('.decided').allTextContents()).toEqual(['request', ''])
})

pageTest('a body that is edited to invalid JSON is marked, and can be sent all the same', async () => {
  const { page } = await openControlRoom({ fixtures: 'empty', view: 'requests?request=new' })
  await page.getByLabel('Method').selectOption('POST')
  await page.getByLabel('Path and query').fill('/deploy/llm')
  const body = page.getByLabel('Body in JSON')
  await body.fill('{"model_name": }')
  const note = page.getByText('This is not JSON, and is sent as a text')
  await note.waitFor()
  expect(await note.textContent()).toContain('Unexpected token')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('form', { name: 'Edit and send again' }).getByText('422').waitFor()
  await body.fill('{"model_name": "acme/chat"}')
  await note.waitFor({ state: 'detached' })
})
