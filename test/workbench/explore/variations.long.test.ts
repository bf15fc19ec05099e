/** Variations: forms of answers that act on a whole run, and clients that read or do not read them. */

import { describe, expect, test } from 'vitest'
import { flow } from '../../../src/workbench/explore/declare-flow.ts'
import { explore } from '../../../src/workbench/explore/explore-flow.ts'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { batchFile, batchLine, rowsOf } from '../../setup/batches.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const CHAT = { model: MODEL, max_tokens: 30, messages: [{ role: 'user', content: 'Name the tides.' }] }

type Ask = (path: string, init?: RequestInit) => Promise<Response>

async function variationsOf(run: (ask: Ask, context: FlowContext) => Promise<unknown>) {
  const client = flow('client', { fixtures: 'empty' }, async context => {
    const { fetch, url, token } = context
    const headers = { authorization: `Bearer ${token}` }
    return run((path, init) => fetch(url + path, { ...init, headers, signal: AbortSignal.timeout(60_000) }), context)
  })
  const { matrix, findings, runsOf } = await explore(client, { faults: 'singles', classes: ['variations'] })
  const cells = matrix.filter(cell => cell.class.startsWith('variation '))
  const found = findings.filter(({ invariant }) => invariant === 'acceptsVariations')
  return { runsOf, found, outcomes: Object.fromEntries(cells.map(cell => [cell.class.slice(10), cell])) }
}

const stream = (ask: Ask) =>
  ask('/v1/chat/completions', { method: 'POST', body: JSON.stringify({ ...CHAT, stream: true }) })

/** Reads a stream by its blank lines, as its format asks for. */
async function readEvents(response: Response): Promise<{ choices: { delta: { content?: string } }[] }[]> {
  const blocks = (await response.text()).split('\n\n')
  const data = blocks.filter(block => block.startsWith('data: {')).map(block => JSON.parse(block.slice(6)))
  return data
}

describe('a reader of streams', () => {
  test('that is careful accepts each form, in one run each', async () => {
    const { found, outcomes } = await variationsOf(async ask => {
      const events = await readEvents(await stream(ask))
      return events.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    })
    expect(found).toEqual([])
    for (const form of ['comments', 'usage', 'pieces', 'fields', 'keys']) {
      expect([form, outcomes[form]]).toEqual([form, expect.objectContaining({ survived: 1, notReached: 0 })])
    }
    expect(Object.keys(outcomes)).toHaveLength(5)
  })

  test('that returns functions, new ones in each run, is not accused', async () => {
    const { found } = await variationsOf(async ask => {
      const events = await readEvents(await stream(ask))
      return { text: events.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), stop() {} }
    })
    expect(found).toEqual([])
  })

  test('that prints the time that it took, as a test command does, is not accused', async () => {
    let runs = 0
    const { found } = await variationsOf(async ask => {
      const events = await readEvents(await stream(ask))
      return `${events[0]!.choices[0]!.delta.content}\nok 1 (${++runs}.5ms)`
    })
    expect(found).toEqual([])
  })

  test('that takes each event for one with choices is found', async () => {
    const { found, outcomes } = await variationsOf(async ask => {
      const events = await readEvents(await stream(ask))
      return events.map(({ choices }) => choices[0]!.delta.content ?? '').join('')
    })
    expect(outcomes).toMatchObject({ usage: { found: 1 }, comments: { survived: 1 } })
    const [{ words, plan, shrunk }] = found as [(typeof found)[number]]
    expect(words).toMatch(/^The client threw 'TypeError: .*, because request 1 \(createChatCompletion, 200\)/)
    expect(plan).toMatchObject([
      { fault: { on: ['createChatCompletion'], fault: { kind: 'variation', form: 'usage' } } },
    ])
    // A whole run has nothing to shrink.
    expect(shrunk).toBeUndefined()
  })

  test('that takes each read for whole events is found, also if it swallows the rest', async () => {
    const { found, outcomes } = await variationsOf(async ask => {
      let text = ''
      const decoder = new TextDecoder()
      for await (const bytes of (await stream(ask)).body!) {
        for (const [, content] of decoder.decode(bytes).matchAll(/"content":"([^"]*)"/g)) text += content
      }
      return { text }
    })
    expect(outcomes).toMatchObject({ pieces: { found: 1 }, comments: { survived: 1 } })
    expect(found[0]!.words).toContain('had another result')
  })
})

describe('a reader of answers', () => {
  test('that returns them as they come accepts more fields and another order', async () => {
    const { found, outcomes } = await variationsOf(async ask => {
      const raw = await (await ask('/v1/batches')).text()
      const parsed = (await (await ask('/v1/files')).json()) as object
      return { raw, bytes: raw.length, parsed, map: new Map([['parsed', parsed]]) }
    })
    expect(found).toEqual([])
    expect(outcomes).toMatchObject({ fields: { survived: 1 }, keys: { survived: 1 } })
  })

  test('that refuses fields it does not know is found', async () => {
    const { found } = await variationsOf(async ask => {
      const page = (await (await ask('/v1/batches')).json()) as object
      const unknown = Object.keys(page).filter(key => !/^(object|data|first_id|last_id|has_more)$/.test(key))
      if (unknown.length > 0) throw new Error(`unknown fields: ${unknown.join()}`)
      return page
    })
    expect(found.map(({ plan }) => plan)).toMatchObject([[{ fault: { fault: { form: 'fields' } } }]])
  })

  test('of a limit that takes Retry-After for a number is found', async () => {
    const { found, outcomes } = await variationsOf(async (ask, { sim, sleep }) => {
      sim.cluster.rateLimit.set(0)
      const refused = await ask('/v1/chat/completions', { method: 'POST', body: JSON.stringify(CHAT) })
      const wait = Number(refused.headers.get('retry-after')) * 1000
      await sleep(wait)
      return 'waited'
    })
    expect(outcomes).toMatchObject({ retryDate: { found: 1 } })
    expect(found[0]!.words).toContain('RangeError')
  })
})

describe('a reader of batches', () => {
  const questions = ['Tide', 'Ebb', 'Flood', 'Swell', 'Surf']
  const batch = async (asks: Ask, sleep: FlowContext['sleep']) => {
    const ask: Ask = async (...request) => {
      const response = await asks(...request)
      if (response.ok) return response
      throw new Error(`${request[0]}: ${response.status}`)
    }
    const lines = questions.map((content, i) => {
      const body = { model: MODEL, max_tokens: 12, messages: [{ role: 'user', content }] }
      return JSON.stringify(batchLine(`q${i}`, body))
    })
    const form = { method: 'POST', body: batchFile(lines.join('\n')) }
    const { id } = (await (await ask('/v1/files', form)).json()) as { id: string }
    const work = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' }
    const created = await (await ask('/v1/batches', { method: 'POST', body: JSON.stringify(work) })).json()
    let record = created as { id: string; status: string; output_file_id: string }
    while (!['completed', 'failed', 'expired', 'cancelled'].includes(record.status)) {
      await sleep(60_000)
      record = (await (await ask(`/v1/batches/${record.id}`)).json()) as typeof record
    }
    const rows = rowsOf(await (await ask(`/v1/files/${record.output_file_id}/content`)).text())
    return rows.map(row => ({
      id: row.custom_id as string,
      text: row.response.body.choices[0].message.content as string,
    }))
  }

  test('that pairs rows by their ids accepts another order', async () => {
    const { found, outcomes } = await variationsOf(async (ask, { sleep }) => batch(ask, sleep))
    expect(found).toEqual([])
    expect(outcomes).toMatchObject({ rows: { survived: 1 }, pieces: { survived: 1 } })
  })

  test('that pairs rows by their position is found', async () => {
    const { outcomes } = await variationsOf(async (ask, { sleep }) => {
      const rows = await batch(ask, sleep)
      return questions.map((question, i) => ({ question, text: rows[i]!.text }))
    })
    expect(outcomes).toMatchObject({ rows: { found: 1 } })
  })
})
