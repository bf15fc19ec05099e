/** Shapes of answers that singles try by default: each finds a careless client, and accuses no careful one. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { exploreRuns } from '../../../src/workbench/explore/explore.ts'
import type { FlowContext, FlowFunction } from '../../../src/workbench/explore/flow.ts'
import { checkOwnFaults } from '../../../src/workbench/explore/plan/own-faults.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const FILES = Array.from({ length: 3 }, (_, i) => ({
  ...{ id: `file_${i}`, filename: `${i}.jsonl`, purpose: 'batch' as const, created_at: 1_767_139_200 },
  content: Array.from({ length: 4 }, (_, row) => `{"row":"${i} and ${row}"}\n`).join(''),
}))

type Ask = (path: string, init?: RequestInit) => Promise<Response>

const asking =
  (run: (ask: Ask, context: FlowContext) => Promise<unknown>): FlowFunction =>
  context => {
    const { fetch, url, token } = context
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const ask: Ask = (path, init) =>
      fetch(url + path, { ...init, headers: { ...headers, ...init?.headers }, signal: AbortSignal.timeout(60_000) })
    return run(ask, context)
  }

/** Explores a client with all that is tried by default. Returns what one class finds, and how often it acted. */
async function foundBy(name: string, run: FlowFunction) {
  const runner = createFlowRunner({ name: 'client', options: { fixtures: 'empty', with: { files: FILES } }, run })
  const { matrix, findings } = await exploreRuns(runner, { name: 'client', faults: 'singles' })
  await runner.dispose()
  const cells = matrix.filter(cell => cell.class === name)
  return {
    acted: cells.reduce((sum, { found, survived }) => sum + found + survived, 0),
    found: cells.reduce((sum, cell) => sum + cell.found, 0),
    signatures: findings.map(({ signature }) => signature),
  }
}

/** Reads all pages of the files. */
const pager = (isOver: (page: { has_more: boolean; data: unknown[] }) => boolean) =>
  asking(async ask => {
    const names: string[] = []
    for (let after = ''; ; ) {
      const response = await ask(`/v1/files?limit=2${after}`)
      if (!response.ok) throw new Error(`the list was answered with ${response.status}`)
      const page = (await response.json()) as { has_more: boolean; data: { filename: string }[]; last_id: string }
      names.push(...page.data.map(({ filename }) => filename))
      if (isOver(page)) return names
      after = page.last_id ? `&after=${page.last_id}` : ''
    }
  })

describe('pages without an end', () => {
  test('find a client that follows has_more alone', async () => {
    const { acted, found, signatures } = await foundBy(
      'endlessPages',
      pager(({ has_more }) => !has_more),
    )
    expect({ acted, found }).toEqual({ acted: 1, found: 1 })
    expect(signatures).toContain('settles@listFiles/ok')
  })

  test('do not accuse one that stops at an empty page', async () => {
    const isOver = (page: { has_more: boolean; data: unknown[] }) => !page.has_more || page.data.length === 0
    expect(await foundBy('endlessPages', pager(isOver))).toEqual({ acted: 1, found: 0, signatures: [] })
  })
})

/** Asks a model, and gives no answer for a refusal that `isNothing`. */
const chat = (isNothing: (status: number) => boolean) =>
  asking(async (ask, { sleep }) => {
    const body = JSON.stringify({
      model: MODEL,
      max_tokens: 16,
      messages: [{ role: 'user', content: 'Name the tides.' }],
    })
    for (let attempt = 0; ; attempt++) {
      let status = 0
      try {
        const response = await ask('/v1/chat/completions', { method: 'POST', body })
        status = response.status
        const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] }
        if (response.ok) return choices[0].message.content
      } catch {}
      if (isNothing(status)) return ''
      if (attempt === 7 || status === 403) throw new Error(`the model was answered with ${status}`)
      await sleep(30_000)
    }
  })

describe('a refusal in the middle', () => {
  test('finds a client that takes what is refused for an empty answer', async () => {
    const { found, signatures } = await foundBy(
      'forbidden',
      chat(status => status >= 400 && status < 429),
    )
    expect(found).toBe(1)
    expect(signatures).toEqual(['noSilentLoss@createChatCompletion/ok'])
  })

  test('does not accuse one that throws', async () => {
    expect(
      await foundBy(
        'forbidden',
        chat(() => false),
      ),
    ).toEqual({ acted: 1, found: 0, signatures: [] })
  })
})

/** Downloads a file of rows. */
const download = (read: (row: string) => unknown[]) =>
  asking(async (ask, { sleep }) => {
    for (let attempt = 0; ; attempt++) {
      try {
        const response = await ask('/v1/files/file_0/content')
        if (!response.ok) throw new Error(`status ${response.status}`)
        const text = await response.text()
        if (!text.startsWith('{')) throw new Error('no rows')
        return text.split('\n').filter(Boolean).flatMap(read)
      } catch (error) {
        if (attempt === 7 || String(error).includes('status 4')) throw error
        await sleep(30_000)
      }
    }
  })

describe('a body that ends too early, in order', () => {
  test('finds a client that skips the row that is cut', async () => {
    const skip = (row: string) => {
      try {
        return [JSON.parse(row)]
      } catch {
        return []
      }
    }
    const { found, signatures } = await foundBy('endsEarly', download(skip))
    expect(found).toBe(1)
    expect(signatures).toEqual(['noSilentLoss@getFileContent/ok'])
  })

  test('does not accuse one that asks again', async () => {
    const isRow = (row: string) => [JSON.parse(row)]
    expect(await foundBy('endsEarly', download(isRow))).toEqual({ acted: 1, found: 0, signatures: [] })
  })
})

test('each line for what is not tried by default is a fault that acts', async () => {
  const page = readFileSync('docs/explore.md', 'utf8')
  const [, table] = /### Not tried unless you ask([\s\S]*?)\n## /.exec(page)!
  const lines = [...table!.matchAll(/`(\{.*\})` \|$/gm)].map(([, line]) => line!)
  expect(lines).toHaveLength(8)
  const run = asking(async ask => {
    const body = JSON.stringify({
      model: MODEL,
      stream: true,
      messages: [{ role: 'user', content: 'Name the tides.' }],
    })
    const spoken = JSON.stringify({ model: 'larkspur-audio/lark-tts-2', input: 'The tide.' })
    const texts = [
      await ask('/v1/files'),
      await ask('/v1/chat/completions', { method: 'POST', body }),
      await ask('/v1/audio/speech', { method: 'POST', body: spoken }),
    ]
    return Promise.all(texts.map(response => response.text()))
  })
  const runner = createFlowRunner({ name: 'client', options: { fixtures: 'empty', with: { files: FILES } }, run })
  for (const line of lines) {
    const [own] = checkOwnFaults({ faults: [new Function(`return (${line})`)()] }, 'Failed')
    const { item } = own!
    const { fired } = await runner.run(['fault' in item ? { ...item, fault: { nth: 1, ...item.fault } } : item])
    expect([line, [...fired]]).toEqual([line, [0]])
  }
  await runner.dispose()
})
