/** Clients that lose numbers, serve stale ones, or mangle what came whole in the end, each beside one that does not. */

import { expect, test } from 'vitest'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { sendTo } from '../../setup/send-to.ts'
import { findingsOf } from './findings-of.ts'
import { ask } from './small-clients.ts'

/** Reads a path as JSON; undefined if it was not answered whole. Then it waits. */
async function read<T>(context: FlowContext, path: string, body?: unknown): Promise<T | undefined> {
  const { value } = await ask<T>(context, body === undefined ? 'GET' : 'POST', path, body)
  if (value === undefined) await context.sleep(30_000)
  return value
}

type Usage = { months: [{ total_cost: number }] }
type Files = { data: { id: string; bytes: number }[]; has_more: boolean; last_id: string }

/** The cents of November and December; undefined for a month that could not be read. */
const readMonths = async (context: FlowContext) => {
  const cents = async (month: string) =>
    (await read<Usage>(context, `/payment/usage?from=${month}`))?.months[0].total_cost
  return [await cents('2025.11'), await cents('2025.12')] as const
}
type Cents = number | undefined

const dollars = (cents: Cents) => ((cents ?? 0) / 100).toFixed(2)
const inDefault = { fixtures: 'default' } as const

test.each<[string, (a: Cents, b: Cents) => unknown]>([
  ['a number as text', a => `${a ?? 0}`],
  ['a text of dollars in a record', (a, b) => [{ usd: dollars(a) }, { usd: dollars(b) }]],
  ['a sentence', a => `In November: $${dollars(a)}`],
  ['a line in a list', a => ({ code: 0, lines: [`cost: ${a ?? 0} cents`] })],
  [
    'a CSV with its total',
    (a, b) => `month;usd\nnov;${dollars(a)}\ndec;${dollars(b)}\ntotal;${dollars((a ?? 0) + (b ?? 0))}`,
  ],
  ['a text of JSON', (a, b) => JSON.stringify({ a: a ?? 0, b: b ?? 0 })],
  ['an empty CSV', a => (a === undefined ? '' : `month;usd\nnov;${dollars(a)}`)],
  ['a negative difference', (a, b) => ({ growth: (b ?? 0) - (a ?? 0) })],
])('%s with 0 or nothing in place of a number is a loss', { tags: 'slow' }, async (_, join) => {
  const { invariants } = await findingsOf(async context => join(...(await readMonths(context))), inDefault)
  expect(invariants).toEqual(['noSilentLoss'])
})

test.each<[string, (a: Cents, b: Cents) => unknown]>([
  ['words', (a, b) => `nov;${a ?? 'n/a'}\ndec;${b ?? 'n/a'}`],
  [
    'a count of what is missing',
    (a, b) => `nov ${a ?? 0}, dec ${b ?? 0}, missing: ${[a, b].filter(one => !one).length}`,
  ],
  ['a part of all', (a, b) => `${[a, b].filter(one => one).length} of 2 months: ${(a ?? 0) + (b ?? 0)} cents`],
  ['a negative number', (a, b) => [a ?? -1, b ?? -1]],
  ['a mark', (a, b) => `nov ${a ?? '?'} dec ${b ?? '?'}`],
])('%s in a text with numbers says what is missing', { tags: 'slow' }, async (_, join) => {
  const { invariants, card } = await findingsOf(async context => join(...(await readMonths(context))), inDefault)
  expect(invariants).toEqual([])
  expect(card.said.length).toBeGreaterThan(0)
})

test('a number in a text that differs by itself is not lost', { tags: 'slow' }, async () => {
  const timed = async (context: FlowContext) => {
    const start = context.now()
    for (let rounds = 1; rounds < 9; rounds++) {
      const usage = await read<Usage>(context, '/payment/usage?from=2025.12')
      await read(context, '/payment/checklist')
      const age = Math.round((context.now() - start) / 1000)
      if (usage) return `Cost: ${usage.months[0].total_cost} at ${new Date(context.now()).toISOString()} (${age + 2})`
    }
    throw new Error('no usage')
  }
  expect((await findingsOf(timed, inDefault)).invariants).toEqual([])
})

test.each<[string, (first: number, last: number, isStale: boolean, asOf: string) => unknown, string[]]>([
  ['a fraction', (_, last) => ({ recent: last }), ['noSilentLoss']],
  ['a difference', (first, last) => ({ spent: last - first }), ['noSilentLoss']],
  ['a fraction with its time', (_, last, __, asOf) => ({ recent: last, asOf }), []],
  ['a text with its time', (_, last, __, asOf) => `Spent ${last} cents by ${asOf}`, []],
  ['a fraction that is marked', (_, last, isStale) => ({ recent: last, isStale }), []],
])('an earlier answer in place of one that failed: %s', { tags: 'slow' }, async (_, join, expected) => {
  const cached = async (context: FlowContext) => {
    const readRecent = async () => (await read<{ recent: number }>(context, '/payment/checklist'))?.recent
    const first = await readRecent()
    if (first === undefined) throw new Error('no answer')
    const times = [context.now()]
    await context.sleep(40_000)
    const last = await readRecent()
    if (last !== undefined) times.push(context.now())
    return join(first, last ?? first, last === undefined, new Date(times.at(-1)!).toISOString())
  }
  expect((await findingsOf(cached, inDefault)).invariants).toEqual(expected)
})

test('a status that no answer has may say that the answer is missing', { tags: 'slow' }, async () => {
  const stopped = async (context: FlowContext) => {
    const answer = await read<{ status: string }>(context, '/deploy/2cZeTxVFN7tKxCCh')
    return { assistant: answer?.status ?? 'stopped' }
  }
  const { invariants, card } = await findingsOf(stopped, inDefault, ['status503'])
  expect({ invariants, said: card.said }).toEqual({ invariants: [], said: [] })
  expect(card.unclear).toMatchObject([{ place: 'assistant' }])
})

/** Reads a stream up to `[DONE]`, again if it was cut. `keeps`: what a cut stream gave is kept. */
const tell = (keeps: boolean) => async (context: FlowContext) => {
  const messages = [{ role: 'user', content: 'A story, please.' }]
  const body = { model: 'brightmoor/moor-9b-it', stream: true, max_tokens: 30, messages }
  let text = ''
  for (let attempt = 0; attempt < 6; attempt++) {
    if (!keeps) text = ''
    try {
      const signal = AbortSignal.timeout(60_000)
      const answer = await sendTo(context, 'POST /v1/chat/completions', body, { signal })
      let rest = ''
      for await (const part of answer.ok ? answer.body!.pipeThrough(new TextDecoderStream()) : []) {
        const lines = (rest + part).split('\n')
        rest = lines.pop()!
        for (const line of lines.filter(one => one.startsWith('data: '))) {
          if (line === 'data: [DONE]') return { story: text }
          text += (JSON.parse(line.slice(6)) as Delta).choices[0]?.delta.content ?? ''
        }
      }
    } catch {}
    await context.sleep(30_000)
  }
  throw new Error('no story')
}
type Delta = { choices: { delta: { content?: string } }[] }

/** Reads all pages, from the start if one failed. `keeps`: the rows of the failed attempt are kept. */
const list = (keeps: boolean, join: (file: Files['data'][number]) => unknown) => async (context: FlowContext) => {
  let rows: unknown[] = []
  for (let attempt = 0; attempt < 6; attempt++) {
    if (!keeps) rows = []
    for (let after = ''; ; ) {
      const page = await read<Files>(context, `/v1/files?limit=2${after}`)
      if (page === undefined) break
      rows.push(...page.data.map(join))
      if (!page.has_more) return { rows }
      after = `&after=${page.last_id}`
    }
  }
  throw new Error('no list')
}

/** Asks for a tool. `parse` reads its arguments, which an attempt that was cut has begun. */
const callTool = (keeps: boolean) => async (context: FlowContext) => {
  const parameters = { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] }
  const tools = [{ type: 'function', function: { name: 'book_berth', description: 'Book a berth', parameters } }]
  const messages = [{ role: 'user', content: 'Book a berth in Riga' }]
  let text = ''
  for (let attempt = 0; attempt < 6; attempt++) {
    const { model } = { model: 'harbor-ai/harbor-12b-instruct' }
    const answer = await read<Called>(context, '/v1/chat/completions', { model, tools, messages })
    if (!keeps) text = ''
    text += answer === undefined ? '{"po' : answer.choices[0].message.tool_calls[0].function.arguments
    if (answer === undefined) continue
    try {
      return [{ tool: 'book_berth', input: JSON.parse(text) as unknown }]
    } catch {
      return [{ tool: 'book_berth', input: {} }]
    }
  }
  throw new Error('no call')
}
type Called = { choices: [{ message: { tool_calls: [{ function: { arguments: string } }] } }] }

test.each<[string, (keeps: boolean) => (context: FlowContext) => Promise<unknown>, string]>([
  ['half of a text before all of it', tell, 'a part of it before all of it is there'],
  ['a row twice', keeps => list(keeps, ({ id }) => id), "a second 'file_"],
  ['a record twice', keeps => list(keeps, ({ id, bytes }) => ({ id, bytes })), "a second '{"],
  ['nothing in place of arguments', callTool, 'nothing is there'],
])('what a retry mangles is a loss, although it was answered whole: %s', { tags: 'slow' }, async (_, client, words) => {
  const classes = ['status503', 'latency', 'truncated', 'streamEnd'] as const
  const mangled = await findingsOf(client(true), inDefault, classes)
  expect(mangled.invariants).toEqual(['noSilentLoss'])
  expect(mangled.findings[0]!.words).toContain(words)
  expect(mangled.findings[0]!.words).toContain('A later request was answered whole.')
  expect((await findingsOf(client(false), inDefault, classes)).invariants).toEqual([])
})

test('an item that moved up is named as one of the result', { tags: 'slow' }, async () => {
  const skipping = async (context: FlowContext) => {
    const names = ['aurora-labs/aurora-3b-instruct', 'aurora-labs/aurora-8b-instruct', 'harbor-ai/harbor-12b-instruct']
    const found: string[] = []
    for (const name of names) {
      const model = await read<{ model_name: string; max_tokens: number }>(context, `/models/${name}`)
      if (model) found.push(`${model.model_name}=${model.max_tokens}`)
    }
    return found
  }
  const { findings } = await findingsOf(skipping, {}, ['status503'])
  expect(findings[0]!.words).toContain('another item of the result is there in place of')
})

test('the work of the judge grows with the length of a result, not with its square', { tags: 'slow' }, async () => {
  const { exec } = RegExp.prototype
  const workFor = async (rows: number) => {
    const table = Array.from({ length: rows }, (_, i) => `${i};row ${i};${i * 3.5}`)
    const client = async (context: FlowContext) => [...table, dollars((await readMonths(context))[0])]
    let calls = 0
    RegExp.prototype.exec = function (text) {
      calls++
      return exec.call(this, text)
    }
    try {
      expect((await findingsOf(client, inDefault, ['status503'])).invariants).toEqual(['noSilentLoss'])
    } finally {
      RegExp.prototype.exec = exec
    }
    return calls
  }
  const [few, many] = [await workFor(50), await workFor(200)]
  expect(many).toBeLessThan(6 * few)
})

const MODEL = 'brightmoor/moor-9b-it'
type Completion = { choices: [{ text: string }]; usage: { completion_tokens: number } }
const complete = (context: FlowContext, prompt: string, max_tokens: number, model = MODEL) =>
  read<Completion>(context, '/v1/completions', { model, prompt, max_tokens })
const lost = ['noSilentLoss']

test('an amount in place of 0 does not count what is missing', { tags: 'slow' }, async () => {
  const report =
    (isTold: boolean) =>
    async (context: FlowContext): Promise<object> => {
      const [, december] = await readMonths(context)
      if (december !== undefined) return { fee: 0, december }
      return isTold ? { fee: 0, december: 0, missing: ['december'] } : { fee: 12.5, december: 1_250 }
    }
  expect((await findingsOf(report(true), inDefault)).invariants).toEqual([])
  expect((await findingsOf(report(false), inDefault)).invariants).toEqual(lost)
})

test('a version that the client made up in a text is a loss', { tags: 'slow' }, async () => {
  const pin =
    (fallback: string) =>
    async (context: FlowContext): Promise<string> => {
      const versions = await read<{ version: string }[]>(context, '/models/acme/assistant/versions')
      return `acme/assistant@${versions?.at(-1)?.version.slice(0, 12) ?? fallback}`
    }
  expect((await findingsOf(pin('unknown'), inDefault)).invariants).toEqual([])
  expect((await findingsOf(pin('11b0bbc38780'), inDefault)).invariants).toEqual(lost)
})

test('the beginning of an answer is no other answer, even if a smaller one was asked for', {
  tags: 'slow',
}, async () => {
  const ask =
    (prompt: string) =>
    async (context: FlowContext): Promise<object> => {
      const answer = (await complete(context, 'The tide', 40)) ?? (await complete(context, prompt, 20))
      return { text: answer?.choices[0].text ?? 'no answer' }
    }
  expect((await findingsOf(ask('In few words: the tide'), {}, ['status503'])).invariants).toEqual([])
  expect((await findingsOf(ask('The tide'), {}, ['status503'])).invariants).toEqual(lost)
})

test('the answer of another model makes up for a loss if it was asked the same', {
  tags: 'slow',
}, async () => {
  const race =
    (second: string) =>
    async (context: FlowContext): Promise<object> => {
      const asked = [complete(context, 'The ferry', 30), complete(context, second, 30, 'harbor-ai/harbor-24b-instruct')]
      const [one, other] = await Promise.all(asked)
      return { text: (one ?? other)!.choices[0].text }
    }
  const broken = async (second: string) =>
    (await findingsOf(race(second), {}, ['status503'])).findings.map(({ signature }) => signature)
  expect(await broken('The ferry')).not.toContain('noSilentLoss@createCompletion/ok')
  expect(await broken('The quay')).toContain('noSilentLoss@createCompletion/ok')
})

test('a client that starts again asks for what was under way, or says that it does not know', {
  tags: 'slow',
}, async () => {
  let begun = new Map<string, string | undefined>()
  const answer =
    (isCareful: boolean) =>
    async (context: FlowContext): Promise<object> => {
      if (context.sim.requests.length === 0) begun = new Map()
      for (const prompt of ['The tide', 'The quay', 'The lamp']) {
        if (begun.has(prompt) && !(isCareful && begun.get(prompt) === undefined)) continue
        begun.set(prompt, undefined)
        for (let tries = 0; tries < 3 && begun.get(prompt) === undefined; tries++)
          begun.set(prompt, (await complete(context, prompt, 12))?.choices[0].text)
      }
      const missing = [...begun].flatMap(([prompt, text]) => (text === undefined ? [prompt] : []))
      const texts = Object.fromEntries([...begun].filter(([, text]) => text !== undefined))
      return isCareful ? { texts, missing } : texts
    }
  expect((await findingsOf(answer(true), {}, ['status503'])).invariants).toEqual([])
  const { findings } = await findingsOf(answer(false), {}, ['status503'])
  expect(findings.map(({ signature }) => signature)).toEqual([
    'noSilentLoss@createCompletion/ok',
    'noSilentLoss@createCompletion/crash',
  ])
})

test('the answer of another model does not make up for a number that is lost', { tags: 'slow' }, async () => {
  const compare =
    (missing: null | number) =>
    async (context: FlowContext): Promise<object> => {
      const models = [MODEL, 'harbor-ai/harbor-24b-instruct']
      const answers = await Promise.all(models.map(model => complete(context, 'The ferry', 30, model)))
      const [a, b] = answers.map(answer => answer?.choices[0].text.length ?? missing)
      return { a, b }
    }
  const broken = async (missing: null | number) =>
    (await findingsOf(compare(missing), {}, ['status503'])).findings.map(({ signature }) => signature)
  expect(await broken(0)).toContain('noSilentLoss@createCompletion/ok')
})

test('an answer beside the label of another question is a loss, and a row in another place is not', {
  tags: 'slow',
}, async () => {
  const PROMPTS = ['tide', 'quay', 'lamp']
  type Row = { prompt: string; text: string }
  /** Asks with two workers. The rows come in the order of the answers. */
  const askAll = async (context: FlowContext): Promise<Row[]> => {
    const queue = [...PROMPTS]
    const rows: Row[] = []
    const work = async () => {
      for (let prompt = queue.shift(); prompt !== undefined; prompt = queue.shift()) {
        let text: string | undefined
        for (let tries = 0; tries < 5 && text === undefined; tries++)
          text = (await complete(context, prompt, 20))?.choices[0].text
        if (text === undefined) throw new Error(`no answer about ${prompt}`)
        rows.push({ prompt, text })
      }
    }
    await Promise.all([work(), work()])
    return rows
  }
  const broken = async (join: (rows: readonly Row[]) => unknown) =>
    (await findingsOf(async context => join(await askAll(context)), {}, ['status503'])).invariants
  expect(await broken(rows => rows)).toEqual([])
  expect(await broken(rows => rows.map(({ text }) => text))).toEqual([])
  expect(await broken(rows => Object.fromEntries(rows.map(({ prompt, text }) => [prompt, text])))).toEqual([])
  expect(await broken(rows => PROMPTS.map((prompt, i) => ({ prompt, text: rows[i]!.text })))).toEqual(lost)
  expect(await broken(rows => Object.fromEntries(PROMPTS.map((prompt, i) => [prompt, rows[i]!.text])))).toEqual(lost)
  const best = (rows: readonly Row[]) => ({ ...rows[0], all: rows.map(({ prompt }) => prompt).sort() })
  expect(await broken(best)).toEqual([])
})
