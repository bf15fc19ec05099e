/** Clients that lose answers and say so, each beside one that does not: in many forms of results. */

import { expect, test } from 'vitest'
import * as z from 'zod'
import { endpoint, recordTable } from '../../../src/index.ts'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { batchFile, batchLine, rowsOf, startBatch } from '../../setup/batches.ts'
import { askTo, sendTo } from '../../setup/send-to.ts'
import { findingsOf } from './findings-of.ts'

const CHAT = 'POST /v1/chat/completions'
const MODEL = 'aurora-labs/aurora-8b-instruct'
const QUESTIONS = ['tides', 'winds', 'rocks']

type Ask = (question: string) => Promise<string>

/** Asks once, and throws unless the answer has a text. */
const askWith =
  (context: FlowContext): Ask =>
  async question => {
    const body = { model: MODEL, max_tokens: 16, messages: [{ role: 'user', content: question }] }
    const answer = await sendTo(context, CHAT, body, { signal: AbortSignal.timeout(45_000) })
    if (!answer.ok) await context.sleep(1_000 * Number(answer.headers.get('retry-after') ?? 1))
    const { choices } = (await answer.json()) as { choices: [{ message: { content: string } }] }
    return choices[0].message.content
  }

/** Asks all questions. Returns the answers by question, and the questions without one. */
async function askAll(ask: Ask) {
  const answers = new Map<string, string>()
  const lost: string[] = []
  for (const question of QUESTIONS) {
    try {
      answers.set(question, await ask(question))
    } catch {
      lost.push(question)
    }
  }
  return { answers, lost, all: QUESTIONS.map(q => ({ q, a: answers.get(q) })) }
}

type Answered = Awaited<ReturnType<typeof askAll>>

test.each<[string, (answered: Answered) => unknown]>([
  ['errors in pairs', ({ all }) => all.map(({ a }) => (a === undefined ? [new Error('status 503'), null] : [null, a]))],
  ['two kinds of records', ({ all }) => all.map(({ q, a }) => (a ? { q, a } : { q, reason: 'no answer' }))],
  ['two counts that part', ({ answers }) => ({ expected: 3, got: answers.size, texts: [...answers.values()] })],
  ['a share', ({ answers }) => ({ text: [...answers.values()].join('\n'), coverage: answers.size / 3 })],
  ['a dash in a text', ({ all }) => all.map(({ q, a }) => `- ${q}: ${a ?? '—'}`).join('\n')],
  ['a set of open questions', ({ answers, lost }) => ({ answers, todo: new Set(lost) })],
  [
    'two maps',
    ({ answers, lost }) => [Object.fromEntries(answers), Object.fromEntries(lost.map(q => [q, { code: 503 }]))],
  ],
  ['two lists of questions', ({ answers, lost }) => ({ ...Object.fromEntries(answers), asked: QUESTIONS, open: lost })],
  ['a list of problems', ({ answers, lost }) => ({ answers, errors: lost.map(q => ({ q, code: 'E_NONE' })) })],
  ['a flag in another language', ({ all }) => all.map(({ a }) => ({ antwort: a ?? '', missing: a === undefined }))],
  ['null in the list', ({ all }) => all.map(({ a }) => a ?? null)],
  ['null in a map', ({ all }) => Object.fromEntries(all.map(({ q, a }) => [q, a ?? null]))],
  ['a status', ({ all }) => all.map(({ q, a }) => ({ q, a: a ?? '', status: a === undefined ? 503 : 200 }))],
  ['a status of nothing', ({ all }) => all.map(({ q, a }) => ({ q, a: a ?? '', status: a === undefined ? 0 : 200 }))],
  ['a negative number', ({ all }) => all.map(({ a }) => a?.length ?? -1)],
  ['no number', ({ all }) => all.map(({ q, a }) => ({ q, letters: Number(a?.length) }))],
  ['a sign', ({ all }) => all.map(({ q, a }) => (a ? `✓ ${q}: ${a}` : `✗ ${q}`))],
  ['a sentence', ({ answers }) => ({ texts: [...answers.values()], note: `${answers.size} of 3 answers` })],
  [
    'a failure in place of a list',
    ({ answers, lost }) => ({ a: lost.length > 0 ? 'unavailable' : [...answers.values()] }),
  ],
  ['a dash in place of a number', ({ all }) => all.map(({ q, a }) => ({ q, letters: a?.length ?? '–' }))],
  ['a text of JSON', ({ all }) => JSON.stringify(all.map(({ q, a }) => (a ? { q, a } : { q, e: 'status 503' })))],
])('%s says what is missing', { tags: 'slow' }, async (_, join) => {
  const { invariants, card } = await findingsOf(async context => join(await askAll(askWith(context))))
  expect(invariants).toEqual([])
  expect(card.said.length).toBeGreaterThan(0)
})

test.each<[string, (answered: Answered) => unknown]>([
  ['the question in place of the answer', ({ all }) => all.map(({ q, a }) => [q, a ?? q])],
  ['a shorter list with its length', ({ answers }) => ({ got: answers.size, texts: [...answers.values()] })],
  ['a blank in a text', ({ all }) => all.map(({ q, a }) => `- ${q}: ${a ?? ''}`).join('\n')],
  ['a log of what was asked', ({ answers }) => ({ answers, log: QUESTIONS.map(q => `asked ${q}`) })],
  ['a word in place of a list', ({ answers, lost }) => ({ a: lost.length > 0 ? 'tides' : [...answers.values()] })],
  ['a sum', ({ answers }) => ({ letters: [...answers.values()].join('').length })],
  ['a count of retries', ({ all, lost }) => ({ texts: all.map(({ a }) => a ?? ''), retries: lost.length })],
  ['an error of another line', ({ all }) => all.map(({ q, a }) => ({ q, a, error: a || q !== 'rocks' ? null : 'no' }))],
  ['null in a record', ({ all: [first] }) => ({ kind: 'sea', text: first?.a ?? null })],
  ['a canned status', ({ all }) => all.map(({ q, a }) => ({ q, a: a ?? '', status: 200 }))],
  ['a canned text', ({ all }) => all.map(({ a }) => a ?? 'How can I help you today?')],
])('%s does not', { tags: 'slow' }, async (_, join) => {
  expect((await findingsOf(async context => join(await askAll(askWith(context))))).invariants).toEqual(['noSilentLoss'])
})

test.each<[string, (answered: Answered) => unknown]>([
  ['of one flag', ({ answers }) => [...answers.values(), { ok: true }]],
  ['of a record after records', ({ answers }) => [...Array.from(answers, ([q, a]) => ({ q, a })), { complete: true }]],
  [
    'after sections',
    ({ answers }) => [...Array.from(answers, ([q, a]) => ({ q, rows: [{ a, bytes: 12 }] })), { complete: true }],
  ],
  [
    'with a count and a time',
    ({ answers }) => {
      const footer = { complete: true, count: answers.size, finishedAt: new Date(9e11 + answers.size).toISOString() }
      return [...answers.values(), footer]
    },
  ],
])('an entry at the end of a list says nothing if it only moved: %s', { tags: 'slow' }, async (_, join) => {
  const { invariants, card } = await findingsOf(async context => join(await askAll(askWith(context))))
  expect({ invariants, said: card.said }).toEqual({ invariants: ['noSilentLoss'], said: [] })
})

test.each<[string, (answered: Answered) => unknown]>([
  ['a flag', ({ answers, lost }) => [...answers.values(), { ok: lost.length === 0 }]],
  ['a count', ({ answers, lost }) => [...answers.values(), { missing: lost.length }]],
  ['words', ({ answers, lost }) => [...answers.values(), lost.length === 0 ? 'done' : 'not all were answered']],
  ['a word after a text', ({ answers, lost }) => [`${[...answers.values()].join(' ')}${lost[0] ? 'partial' : 'done'}`]],
])('an entry at the end of a list that differs says what is missing: %s', { tags: 'slow' }, async (_, join) => {
  const { invariants, card } = await findingsOf(async context => join(await askAll(askWith(context))))
  expect(invariants).toEqual([])
  expect(card.said.length).toBeGreaterThan(0)
})

test('what remains of a text says nothing', { tags: 'slow' }, async () => {
  const joined = async (context: FlowContext) => [
    `${[...(await askAll(askWith(context))).answers.values()].join('')}done`,
  ]
  const onlyOne = async (context: FlowContext) => [`${await askWith(context)('tides').catch(() => '')}done`]
  for (const client of [joined, onlyOne]) {
    const { invariants, card } = await findingsOf(client)
    expect({ invariants, said: card.said }).toEqual({ invariants: ['noSilentLoss'], said: [] })
  }
})

test('a number that only an answer can have is lost like a text, and one that moved up says nothing', {
  tags: 'slow',
}, async () => {
  const embed = (says: boolean, filler?: 0) => async (context: FlowContext) => {
    const numbers: number[] = []
    for (const input of QUESTIONS) {
      const body = { model: 'aurora-labs/aurora-embed-large', input, dimensions: 32 }
      const answer = await sendTo(context, 'POST /v1/embeddings', body)
      const { data } = (await answer.json().catch(() => ({}))) as { data?: [{ embedding: number[] }] }
      if (!answer.ok) await context.sleep(1_000 * Number(answer.headers.get('retry-after') ?? 1))
      const number = data?.[0].embedding[0] ?? filler
      if (number !== undefined) numbers.push(number)
    }
    const rows = numbers.map((number, i) => ({ title: QUESTIONS[i], number }))
    return says ? { rows, missing: QUESTIONS.length - numbers.length } : { rows }
  }
  expect(await findingsOf(embed(false))).toMatchObject({ invariants: ['noSilentLoss'], card: { said: [] } })
  expect(await findingsOf(embed(true))).toMatchObject({ invariants: [], card: { said: [{ place: 'missing' }] } })
  const { findings } = await findingsOf(embed(false, 0))
  expect(findings[0]!.words).toMatch(/rows\[0\].number: 0 is there in place of '-?0\.\d+'/)
})

test('a line of a batch that failed is lost, unless the result names it', { tags: 'slow' }, async () => {
  const ask = (isCareful: boolean) => async (context: FlowContext) => {
    const get = async (path: string) => {
      for (;;) {
        const answer = await sendTo(context, `GET ${path}`, undefined, { signal: AbortSignal.timeout(45_000) })
        if (answer.ok) return answer.text()
        await context.sleep(30_000)
      }
    }
    const lines = QUESTIONS.map(content =>
      batchLine(content, { model: MODEL, messages: [{ role: 'user', content }], max_tokens: 12 }),
    )
    const batch = await startBatch(context, lines)
    for (let attempt = 0; attempt < 60; attempt++) {
      await context.sleep(60_000)
      const { status, output_file_id } = JSON.parse(await get(`/v1/batches/${batch.id}`))
      if (status !== 'completed') continue
      const rows = rowsOf(await get(`/v1/files/${output_file_id}/content`))
      const entries = rows.map(row => [row.custom_id, row.response.body.choices[0].message.content])
      const texts = Object.fromEntries(entries)
      const missing = QUESTIONS.filter(question => !(question in texts))
      return { batch: batch.id, texts, ...(isCareful && { missing }) }
    }
    throw new Error(`the batch ${batch.id} does not end`)
  }
  const lossesOf = async (isCareful: boolean) => {
    const { invariants, card } = await findingsOf(ask(isCareful), {}, ['latency'])
    return { isLost: invariants.includes('noSilentLoss'), said: card.said.map(({ place }) => place) }
  }
  expect(await lossesOf(false)).toEqual({ isLost: true, said: [] })
  expect(await lossesOf(true)).toEqual({ isLost: false, said: ['missing[0]'] })
})

test('a file of text that came garbled is lost, although it has no fields', { tags: 'slow' }, async () => {
  const download = async (context: FlowContext) => {
    const file = await sendTo(context, 'POST /v1/files', batchFile('a line of text\nanother one\n'))
    const { id } = (await file.json()) as { id: string }
    const content = await sendTo(context, `GET /v1/files/${id}/content`)
    if (!content.ok) throw new Error(`status ${content.status}`)
    return { id, text: await content.text() }
  }
  expect((await findingsOf(download, {}, ['garbled'])).invariants).toContain('noSilentLoss')
})

test('the text of a refusal in place of an answer does not tell of a loss', async () => {
  const unchecked = async (context: FlowContext) => {
    const body = { model: MODEL, max_tokens: 16, messages: [{ role: 'user', content: 'tides' }] }
    const answer = await sendTo(context, CHAT, body)
    const { choices, error } = (await answer.json()) as { choices?: [Choice]; error?: { message: string } }
    return { answer: choices?.[0].message.content ?? error?.message, error: null }
  }
  type Choice = { message: { content: string } }
  expect((await findingsOf(unchecked, {}, ['status503'])).invariants).toEqual(['noSilentLoss'])
})

test('tells and tellsBy say what no rule can know', { tags: 'slow' }, async () => {
  const canPay = async (context: FlowContext) => {
    const { all } = await askAll(askWith(context))
    return { texts: all.map(({ a }) => a ?? ''), canPay: all.every(({ a }) => a !== undefined) }
  }
  const open = await findingsOf(canPay)
  expect(open).toMatchObject({ invariants: [], card: { unclear: [{ place: 'canPay' }] } })
  const tells = (result: unknown) => !(result as { canPay: boolean }).canPay
  expect(await findingsOf(canPay, { tells })).toMatchObject({ invariants: [], card: { unclear: [] } })
  expect((await findingsOf(canPay, { tells: () => false })).invariants).toEqual(['noSilentLoss'])
  const prints = async (context: FlowContext) => {
    const { answers, lost } = await askAll(askWith(context))
    if (lost.length > 0) console.log(`${lost.length} answers are missing`)
    return [...answers.values()]
  }
  expect((await findingsOf(prints)).invariants).toEqual(['noSilentLoss'])
  expect((await findingsOf(prints, { tellsBy: 'output' })).invariants).toEqual([])
})

test('another whole answer is as good as the first one', async () => {
  const again = async (context: FlowContext) => {
    const ask = askWith(context)
    for (let attempt = 0; ; attempt++) {
      try {
        return { text: await ask(attempt === 0 ? 'tides' : `tides, attempt ${attempt}`) }
      } catch {
        if (attempt === 8) throw new Error('no answer')
        await context.sleep(1_000 * 2 ** attempt)
      }
    }
  }
  expect((await findingsOf(again)).invariants).toEqual([])
})

test('a client that sends an answer back with its new fields is asked another question', { tags: 'slow' }, async () => {
  const agent = (echo: (message: { content: string }) => object) => async (context: FlowContext) => {
    const messages: object[] = []
    const texts: string[] = []
    for (const content of QUESTIONS) {
      messages.push({ role: 'user', content })
      const answer = await sendTo(context, CHAT, { model: MODEL, max_tokens: 16, messages })
      if (!answer.ok) throw new Error(`no answer: ${answer.status}`)
      const { choices } = (await answer.json()) as { choices: [{ message: { content: string } }] }
      messages.push(echo(choices[0].message))
      texts.push(choices[0].message.content)
    }
    return texts
  }
  const sameMessage = agent(message => message)
  expect((await findingsOf(sameMessage, {}, ['variations'])).invariants).toEqual([])
  const counts = agent(message => ({ role: 'assistant', content: `${Object.keys(message).length}` }))
  expect((await findingsOf(counts, {}, ['variations'])).invariants).toEqual(['acceptsVariations'])
})

test('grades: a crash is a finding, giving up is one where the client is uneven, or if the flow asks for it', async () => {
  const failFast = async (context: FlowContext) => {
    const text = await askWith(context)('tides').catch(cause => {
      throw new Error('no answer', { cause })
    })
    return { text }
  }
  const { invariants, card } = await findingsOf(failFast)
  expect(invariants).toEqual([])
  expect(card.passing).toMatchObject({ usual: 1, gaveUp: 3, crash: 0 })
  expect((await findingsOf(failFast, { invariants: { recovers: 'always' } })).invariants).toEqual(['recovers'])
  const crashes = await findingsOf(async context => (await askWith(context)('tides')).trim(), {}, ['status503'])
  expect(crashes.invariants).toEqual(['recovers'])
})

test('an error that names an adapter by its name says what is left', { tags: 'slow' }, async () => {
  const adapt = (error: string) => async (context: FlowContext) => {
    const source = { type: 'modelhub', modelhub_url: 'https://models.example/acme/gulls' }
    const body = { base_model: 'acme/assistant', lora_name: 'gulls', source, private: true }
    const { status } = await askTo(context, 'POST /v1/lora/create', body)
    if (status !== 200 && status !== 409) throw new Error('no adapter')
    await context.sleep(120_000)
    const { ok } = await sendTo(context, 'DELETE /v1/lora/gulls')
    if (!ok) throw new Error(error)
    return 'deleted'
  }
  const named = await findingsOf(adapt('the adapter gulls is left'), { fixtures: 'default' }, ['status503'])
  expect(named.invariants).toEqual([])
  const unnamed = await findingsOf(adapt('an adapter is left'), { fixtures: 'default' }, ['status503'])
  expect(unnamed.invariants).toEqual(['cleansUpOnThrow'])
})

test.each([
  [undefined, false],
  ['usd', true],
] as const)('a record of an own table with the price %s that is left is a leak: %s', async (usdPerHour, isLeak) => {
  const Note = z.object({ id: z.string(), status: z.enum(['ON', 'OFF']), usd: z.number() })
  const notes = recordTable({
    kind: 'note',
    record: Note,
    key: 'id',
    status: 'status',
    ended: ['OFF'],
    ...(usdPerHour && { usdPerHour }),
  })
  const createNote = endpoint({
    ...{ route: 'POST /notes', summary: 'Create a note', roles: ['create note'], returns: Note },
    handle: ({ world }) => {
      const records = world.records(notes)
      return records.put({ id: records.newId('note'), status: 'ON', usd: 2 })
    },
  })
  const forget = async ({ fetch, url, token }: FlowContext) => {
    const init = {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(30_000),
    }
    if (!(await fetch(`${url}/notes`, init)).ok) throw new Error('no note')
    return 'noted'
  }
  const { invariants } = await findingsOf(forget, { endpoints: { createNote } }, ['latency'])
  expect(invariants.includes('noLeak')).toBe(isLeak)
})
