/** What a result tells of a loss, and in which form: careful clients beside clients with one defect. */

import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { FlowContext, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import type { FaultClassName } from '../../../src/workbench/explore/plan/classes.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { describeCard } from '../../../src/workbench/explore/report/card-words.ts'
import { sendTo } from '../../setup/send-to.ts'
import { findingsOf } from './findings-of.ts'
import { ask, brokenBy as brokenByPlan, type Run } from './small-clients.ts'

/** Returns the names of the invariants that single faults of a few classes break. */
async function brokenBy(run: Run, classes: readonly FaultClassName[] = ['status503'], options: FlowOptions = {}) {
  return (await findingsOf(run, options, classes)).invariants
}

/** Sends one request, and waits as long as a refusal asks. Returns undefined if it got no whole answer. */
async function askOnce<T>(context: FlowContext, path: string, body?: unknown): Promise<T | undefined> {
  const { value, wait } = await ask<T>(context, body === undefined ? 'GET' : 'POST', path, body)
  if (value === undefined) await context.sleep(wait)
  return value
}

/** Sends a request up to four times. */
async function insist<T>(context: FlowContext, path: string, body?: unknown): Promise<T> {
  for (let i = 0; i < 4; i++) {
    const value = await askOnce<T>(context, path, body)
    if (value !== undefined) return value
    await context.sleep(5_000 * 2 ** i)
  }
  throw new Error(`no answer of ${path}`)
}

type Entries = readonly { readonly id: string }[]

test('a label that equals a constant of the protocol is the own word of the client', { tags: 'slow' }, async () => {
  const readNames: Run = async context => {
    const idsOf = ({ data }: { readonly data: Entries }) => data.map(({ id }) => id).sort()
    // The service does not know this path.
    await askOnce(context, '/v1/models-of-mine')
    const list = await askOnce<{ readonly data: Entries }>(context, '/v1/models')
    if (list !== undefined) return { names: idsOf(list), via: 'list' }
    return { names: idsOf(await insist(context, '/aggregator/models')), via: 'aggregator' }
  }
  expect(await brokenBy(readNames)).toEqual([])
  // A status of the service counts, and a made-up one tells nothing.
  const readStatus: Run = async context => {
    const running = await askOnce<readonly { readonly status: string }[]>(context, '/deploy/list?status=running')
    return { status: running?.[0]?.status ?? 'offline' }
  }
  expect(await brokenBy(readStatus, ['status503'], { fixtures: 'default' })).toEqual(['noSilentLoss'])
})

const MODEL = 'aurora-labs/aurora-8b-instruct'
const WORDS = ['reef', 'cove']

/** Asks once for a line about a word. */
const describe = async (context: FlowContext, word: string) => {
  const body = { model: MODEL, prompt: `A ${word} is`, max_tokens: 14 }
  return (await askOnce<{ choices: [{ text: string }] }>(context, '/v1/completions', body))?.choices[0].text
}

test('a result that is a text of JSON tells as its value does', { tags: 'slow' }, async () => {
  const printed =
    (isCareful: boolean): Run =>
    async context => {
      const answers: Record<string, string> = {}
      const missing: string[] = []
      for (const word of WORDS) {
        const text = await describe(context, word)
        if (text === undefined) missing.push(word)
        else answers[word] = text
      }
      return JSON.stringify(isCareful ? { answers, missing } : { answers })
    }
  expect(await brokenBy(printed(true))).toEqual([])
  expect(await brokenBy(printed(false))).toEqual(['noSilentLoss'])
})

test('another status in place of 200 tells', { tags: 'slow' }, async () => {
  const statuses =
    (partial: number): Run =>
    async context => {
      const texts = await Promise.all(WORDS.map(word => describe(context, word)))
      const body = texts.map(text => (text === undefined ? { status: 503, text: '' } : { status: 200, text }))
      return { status: texts.includes(undefined) ? partial : 200, body }
    }
  expect(await brokenBy(statuses(207))).toEqual([])
  expect(await brokenBy(statuses(200))).toEqual([])
  const overall =
    (partial: number): Run =>
    async context => {
      const texts = await Promise.all(WORDS.map(word => describe(context, word)))
      return { status: texts.includes(undefined) ? partial : 200, texts: texts.map(text => text ?? '') }
    }
  expect(await brokenBy(overall(207))).toEqual([])
  expect(await brokenBy(overall(200))).toEqual(['noSilentLoss'])
})

test('a class with private fields is read as JSON or as an iterable', { tags: 'slow' }, async () => {
  class Listed {
    readonly #entries = new Map<string, unknown>()
    put(word: string, entry: unknown) {
      this.#entries.set(word, entry)
    }
    *[Symbol.iterator]() {
      yield* this.#entries
    }
  }
  class Written extends Listed {
    toJSON() {
      return Object.fromEntries(this)
    }
  }
  const gloss =
    (Glossary: typeof Listed, missing: unknown): Run =>
    async context => {
      const glossary = new Glossary()
      for (const word of WORDS) glossary.put(word, (await describe(context, word)) ?? missing)
      return glossary
    }
  for (const Glossary of [Listed, Written]) {
    expect(await brokenBy(gloss(Glossary, { error: 'no answer' }))).toEqual([])
    expect(await brokenBy(gloss(Glossary, ''))).toEqual(['noSilentLoss'])
  }
})

/** Returns the names of the invariants that a client breaks if each answer has another form. */
async function brokenByForm(run: Run, form: 'fields' | 'rows' | 'keys'): Promise<string[]> {
  const on = ['getModel', 'getFileContent']
  const plan: Plan = [{ fault: { on, nth: 1, for: '100d', fault: { kind: 'variation', form } } }]
  return brokenByPlan(run, plan, { fixtures: 'default' })
}

test('rows in another order have another digest', { tags: 'slow' }, async () => {
  const digest =
    (read: (text: string) => string): Run =>
    async context => {
      const list = await sendTo(context, 'GET /v1/files?limit=100')
      const { data } = (await list.json()) as { data: { id: string; purpose: string; bytes: number }[] }
      const { id } = data.find(({ purpose, bytes }) => purpose === 'batch_output' && bytes > 0)!
      const text = await (await sendTo(context, `GET /v1/files/${id}/content`)).text()
      return { file: read(text) }
    }
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  expect(await brokenByForm(digest(sha256), 'rows')).toEqual([])
  const withItsName = digest(text => `sha256 ${sha256(text)}`)
  expect(await brokenByForm(withItsName, 'rows')).toEqual([])
  const firstId = (text: string) => String((JSON.parse(text.split('\n')[0]!) as { custom_id: string }).custom_id)
  expect(await brokenByForm(digest(firstId), 'rows')).toEqual(['acceptsVariations'])
})

test('JSON in a line of text may have more fields', { tags: 'slow' }, async () => {
  const price =
    (write: (pricing: Record<string, unknown>) => string): Run =>
    async context => {
      const { pricing } = await insist<{ pricing: Record<string, unknown> }>(context, '/models/acme%2Fassistant')
      return `[info] done\nthe price: ${write(pricing)} in all`
    }
  expect(await brokenByForm(price(JSON.stringify), 'fields')).toEqual([])
  expect(await brokenByForm(price(JSON.stringify), 'keys')).toEqual([])
  const names = (pricing: Record<string, unknown>) => Object.keys(pricing).join(', ')
  expect(await brokenByForm(price(names), 'fields')).toEqual(['acceptsVariations'])
})

test('a stream falls silent after some of its text', { tags: 'slow' }, async () => {
  const read =
    (isWhole: (text: string, isSilent: boolean) => boolean): Run =>
    async ({ fetch, url, token, sleep }) => {
      const headers = { 'x-api-key': token, 'content-type': 'application/json' }
      const messages = [{ role: 'user', content: 'Where is the ferry?' }]
      const body = JSON.stringify({ model: MODEL, messages, stream: true, max_tokens: 24 })
      for (let i = 0; i < 4; i++) {
        const silence = new AbortController()
        const answer = await fetch(`${url}/vendor_a/v1/messages`, {
          method: 'POST',
          headers,
          body,
          signal: silence.signal,
        })
        const timer = setTimeout(() => silence.abort(), 60_000)
        let text = ''
        const whole = async () => {
          for await (const piece of answer.body!) text += new TextDecoder().decode(piece)
        }
        const isSilent = await whole().then(
          () => false,
          () => true,
        )
        clearTimeout(timer)
        const words = [...text.matchAll(/"text":("[^"]*")/g)].map(([, word]) => JSON.parse(word!) as string).join('')
        if (answer.ok && words !== '' && isWhole(text, isSilent)) return words
        await sleep(10_000)
      }
      throw new Error('no whole answer')
    }
  const toTheStop = read(text => text.includes('message_stop'))
  const toTheSilence = read(() => true)
  expect(await brokenBy(toTheStop, ['streamSilence'])).toEqual([])
  expect(await brokenBy(toTheSilence, ['streamSilence'])).toEqual(['noSilentLoss'])
})

test('a setting is put back to what it was, not to a guess', { tags: 'slow' }, async () => {
  interface Bounds {
    readonly min_instances: number
    readonly max_instances: number
  }
  const raise =
    (old: (read: () => Promise<Bounds | undefined>) => Promise<Bounds & { note?: string }>): Run =>
    async context => {
      const all = await insist<{ deploy_id: string; model_name: string }[]>(context, '/deploy/list?status=running')
      const path = `/deploy/${all.find(({ model_name }) => model_name === 'acme/assistant')!.deploy_id}`
      const read = async () => (await askOnce<{ settings: Bounds }>(context, path))?.settings
      const { note = '', ...before } = await old(read)
      const set = async (settings: Bounds) => {
        for (let i = 0; i < 4; i++) {
          const answer = await sendTo(context, `PUT ${path}`, { settings })
          if (answer.ok) return
          await context.sleep(30_000)
        }
        throw new Error(`the bounds of ${path} are not ${JSON.stringify(settings)}`)
      }
      await set({ ...before, max_instances: before.max_instances + 1 })
      await context.sleep(3_600_000)
      await set(before)
      return { after: await insist<{ settings: Bounds }>(context, path).then(() => 'read back'), note }
    }
  const pick = ({ min_instances, max_instances }: Bounds) => ({ min_instances, max_instances })
  const repeat = raise(async read => {
    for (let i = 0; i < 4; i++) {
      const bounds = await read()
      if (bounds !== undefined) return pick(bounds)
    }
    throw new Error('the bounds are unknown')
  })
  const guess = (note?: string) =>
    raise(async read => {
      const bounds = await read()
      return bounds === undefined ? { min_instances: 1, max_instances: 1, ...(note && { note }) } : pick(bounds)
    })
  const world = { fixtures: 'default' } as const
  expect(await brokenBy(repeat, ['status503'], world)).toEqual([])
  expect(await brokenBy(guess('the old bounds are unknown'), ['status503'], world)).toEqual([])
  expect(await brokenBy(guess(), ['status503'], world)).toEqual(['doneAsSaid'])
})

test('a client may stop at its budget, and says what it did not do', { tags: 'slow' }, async () => {
  const answerTopics =
    (isTold: boolean): Run =>
    async context => {
      const left = ['reefs', 'shoals', 'banks']
      const answered: unknown[] = []
      let [spent, stopped]: [number, string | null] = [0, null]
      while (left.length > 0 && stopped === null) {
        // What was not answered may have been paid, too.
        spent += 10
        if (spent > 30) stopped = 'the budget may be used up'
        else {
          const body = { model: MODEL, prompt: `Write about ${left[0]}.`, max_tokens: 20 }
          const answer = await askOnce<{ choices: readonly [{ text: string }] }>(context, '/v1/completions', body)
          if (answer !== undefined) answered.push({ topic: left.shift(), text: answer.choices[0].text })
          await context.sleep(5_000)
        }
      }
      return isTold ? { answered, not_done: left, stopped } : answered
    }
  const classes = ['status503', 'reset'] as const
  expect(await brokenBy(answerTopics(true), classes)).toEqual([])
  expect(await brokenBy(answerTopics(false), classes)).toEqual(['noSilentLoss'])
})

test('a state that says that rows are not readable tells of a loss', { tags: 'slow' }, async () => {
  const readFile =
    (state: string): Run =>
    async context => {
      const { data } = await insist<{ data: readonly { id: string; status: string }[] }>(context, '/v1/batches')
      const batch = data.find(({ status }) => status === 'completed')!
      const { id, output_file_id } = await insist<{ id: string; output_file_id: string }>(
        context,
        `/v1/batches/${batch.id}`,
      )
      const file = await askOnce<{ filename: string }>(context, `/v1/files/${output_file_id}`)
      return { id, state: file === undefined ? state : 'completed', name: file?.filename ?? null }
    }
  const options = { fixtures: 'default' }
  expect(await brokenBy(readFile('the file is not readable'), ['status503'], options)).toEqual([])
  expect(await brokenBy(readFile('completed'), ['status503'], options)).toEqual(['noSilentLoss'])
})

test('a sum of fields of answers is a loss under names that also speak of effort', { tags: 'slow' }, async () => {
  type Stats = { readonly requests: number; readonly total_time: number }
  const sumStats =
    (tells: boolean): Run =>
    async context => {
      const sums = { requests: 0, seconds: 0 }
      const unread: string[] = []
      const list = await insist<readonly { deploy_id: string; type: string }[]>(context, '/deploy/list')
      for (const { deploy_id } of list.filter(({ type }) => type === 'llm')) {
        const path = `/deploy/${deploy_id}/stats?from=1766880000&to=1767225600`
        const stats = await askOnce<Stats>(context, path)
        if (stats === undefined) unread.push(deploy_id)
        sums.requests += stats?.requests ?? 0
        sums.seconds += stats?.total_time ?? 0
      }
      return tells ? { ...sums, missing: unread } : sums
    }
  expect(await brokenBy(sumStats(true), ['status503'], { fixtures: 'default' })).toEqual([])
  expect(await brokenBy(sumStats(false), ['status503'], { fixtures: 'default' })).toEqual(['noSilentLoss'])
})

test('a field that is named for what was not read tells of a loss', { tags: 'slow' }, async () => {
  const readUsage =
    (name: string): Run =>
    async context => {
      const used: Record<string, number> = {}
      const unread: string[] = []
      const tokens = await insist<readonly { token_id: string; name: string }[]>(context, '/v1/api-tokens')
      for (const { token_id, name } of tokens.slice(0, 2)) {
        const path = `/payment/usage/${token_id}?from=2025.12`
        const usage = await askOnce<{ months: readonly { total_cost: number }[] }>(context, path)
        if (usage === undefined) unread.push(name)
        else used[name] = usage.months[0]!.total_cost
      }
      return { used, [name]: unread }
    }
  const options = { fixtures: 'default' }
  for (const name of ['unread', 'unanswered', 'not_read', 'notAnswered']) {
    expect(await brokenBy(readUsage(name), ['status503'], options)).toEqual([])
  }
  expect(await brokenBy(readUsage('tokens'), ['status503'], options)).toEqual(['noSilentLoss'])
})

test('a word of the client in place of a record tells of a loss', { tags: 'slow' }, async () => {
  const countLines =
    (missing: unknown): Run =>
    async context => {
      const lines: Record<string, unknown> = {}
      for (const [name, id] of [
        ['assistant', '2cZeTxVFN7tKxCCh'],
        ['translator', 'eiXSK9qwxLRa8e3E'],
      ] as const) {
        const logs = await askOnce<{ entries: unknown[] }>(context, `/v1/logs/query?deploy_id=${id}`)
        lines[name] = logs === undefined ? missing : { lines: logs.entries.length }
      }
      return lines
    }
  const options = { fixtures: 'default' }
  expect(await brokenBy(countLines('see the console'), ['status503'], options)).toEqual([])
  expect(await brokenBy(countLines({ lines: 0 }), ['status503'], options)).toEqual(['noSilentLoss'])
})

test('a word or a mark in place of a number or a text tells of a loss', { tags: 'slow' }, async () => {
  const readLimit =
    (missing: unknown): Run =>
    async context => {
      const limits = await askOnce<{ rate_limit: number }>(context, '/v1/me/rate_limit')
      return { account: 'acme', requests: limits?.rate_limit ?? missing }
    }
  for (const word of ['unbekannt', 'noch offen', '不明', 'none', 'GET /limits: HTTP 503'])
    expect(await brokenBy(readLimit(word))).toEqual([])
  for (const value of [0, 'NaN', 'None']) expect(await brokenBy(readLimit(value))).toEqual(['noSilentLoss'])
  const describeReef =
    (missing: string): Run =>
    async context => ({ reef: (await describe(context, 'reef')) ?? missing })
  for (const mark of ['—', '[…]', '(ausstehend)', 'wird nachgereicht', 'HTTP 503', 'pending'])
    expect(await brokenBy(describeReef(mark))).toEqual([])
  for (const text of ['A reef is a ridge.', 'undefined', '(null)']) {
    expect(await brokenBy(describeReef(text))).toEqual(['noSilentLoss'])
  }
})

test('everyday words of a failure in place of an answer tell of a loss', { tags: 'slow' }, async () => {
  const describeReef =
    (missing: string): Run =>
    async context => ({ reef: (await describe(context, 'reef')) ?? missing })
  for (const text of ['PROBLEM: the reef is away', 'There was trouble', 'Unable to read', 'Something went wrong'])
    expect(await brokenBy(describeReef(text))).toEqual([])
  for (const text of ['an unexpected answer (503)', 'dropped after 1 try', 'The request was rejected', 'not done'])
    expect(await brokenBy(describeReef(text))).toEqual([])
  for (const text of ['No problem, it is a reef', 'A reef without trouble is problem-free', 'Right or wrong, a reef'])
    expect(await brokenBy(describeReef(text))).toEqual(['noSilentLoss'])
})

test('a word of a failure in another language is in place of a status', { tags: 'slow' }, async () => {
  const readStatus =
    (missing: string): Run =>
    async context => {
      const running = await askOnce<readonly { readonly status: string }[]>(context, '/deploy/list?status=running')
      return { status: running?.[0]?.status ?? missing }
    }
  const options = { fixtures: 'default' }
  for (const word of ['unbekannt', 'desconocido', '不明', 'TBD', '❌']) {
    expect(await brokenBy(readStatus(word), ['status503'], options)).toEqual([])
  }
  expect(await brokenBy(readStatus('paused'), ['status503'], options)).toEqual(['noSilentLoss'])
})

test('null in place of a boolean says that it is not known', { tags: 'slow' }, async () => {
  const checkLimit: Run = async context => {
    const limit = (await askOnce<{ rate_limit: number }>(context, '/v1/me/rate_limit'))?.rate_limit ?? null
    return { within: limit === null ? null : limit > 10, limit }
  }
  expect(await brokenBy(checkLimit)).toEqual([])
  const copyFields: Run = async context => {
    const account = await askOnce<Record<string, unknown>>(context, '/payment/checklist')
    return { suspended: account?.suspended ?? null, topup_amount: account?.topup_amount ?? null }
  }
  expect(await brokenBy(copyFields, ['status503'], { fixtures: 'default' })).toEqual(['noSilentLoss'])
})

test('the last event of a list tells of those that did not follow', { tags: 'slow' }, async () => {
  const play =
    (last: object | undefined): Run =>
    async context => {
      const events: object[] = []
      for (const word of ['tide', 'quay', 'lamp']) {
        const text = await describe(context, word)
        if (text === undefined) return last === undefined ? events : [...events, { word, ...last }]
        events.push({ word, text })
      }
      return events
    }
  expect(await brokenBy(play({ gave_up: 'answered with 503' }))).toEqual([])
  expect(await brokenBy(play({ text: '' }))).toEqual(['noSilentLoss'])
  expect(await brokenBy(play(undefined))).toEqual(['noSilentLoss'])
})

test('a note about a retry does not tell of a loss', { tags: 'slow' }, async () => {
  const askTwice =
    (isCareful: boolean): Run =>
    async context => {
      const texts = [await describe(context, 'reef')]
      if (texts[0] === undefined) texts.push(await describe(context, 'reef'))
      const note = texts.length > 1 ? 'asked again' : ''
      return { text: texts.at(-1) ?? '', note, ...(isCareful && { missing: texts.at(-1) === undefined }) }
    }
  expect(await brokenBy(askTwice(true))).toEqual([])
  expect(await brokenBy(askTwice(false))).toEqual(['noSilentLoss'])
})

test('what a result says of a loss is not learned as noise, although another request had the answer', {
  tags: 'slow',
}, async () => {
  const known =
    (isCareful: boolean): Run =>
    async context => {
      const memory = new Map<string, string>()
      const texts: string[] = []
      const own: number[] = []
      for (const [at, word] of ['reef', 'cove', 'reef'].entries()) {
        const text = memory.get(word) ?? (await describe(context, word))
        if (text === undefined) own.push(at + 1)
        else memory.set(word, text)
        texts.push(text ?? `A ${word} is`)
      }
      return { texts, ...(isCareful && { own }) }
    }
  expect(await brokenBy(known(true))).toEqual([])
  expect(await brokenBy(known(false))).toEqual(['noSilentLoss'])
  const follow =
    (isCareful: boolean): Run =>
    async context => {
      const log: unknown[] = []
      for (const hour of [11, 17]) {
        const list = await askOnce<Entries>(context, '/deploy/list')
        log.push({
          hour,
          ids: list?.map(one => Object.values(one)[0]) ?? null,
          ...(isCareful && { why: list ? '' : 'no list' }),
        })
        await context.sleep(3_600_000)
      }
      return log
    }
  expect(await brokenBy(follow(true), ['status503'], { fixtures: 'default' })).toEqual([])
})

test('a sum below the rows tells of no loss by its place', { tags: 'slow' }, async () => {
  const index =
    (isCareful: boolean): Run =>
    async context => {
      const rows: string[] = []
      let pages = 0
      for (let after = ''; pages < 5; pages++) {
        const page = await askOnce<{ data: readonly { id: string; filename: string }[]; has_more: boolean }>(
          context,
          `/v1/files?limit=2${after}`,
        )
        if (page === undefined) break
        rows.push(...page.data.map(({ filename }) => filename))
        if (!page.has_more) return [...rows, `${rows.length} files on ${pages + 1} pages`]
        after = `&after=${page.data.at(-1)!.id}`
      }
      return [...rows, `${rows.length} files on ${pages} pages${isCareful ? ', more are not read' : ''}`]
    }
  expect(await brokenBy(index(true), ['status503'], { fixtures: 'default' })).toEqual([])
  expect(await brokenBy(index(false), ['status503'], { fixtures: 'default' })).toEqual(['noSilentLoss'])
})

test('a start after a crash lists its own work', { tags: 'slow' }, async () => {
  const remove: Run = async context => {
    const log: string[] = []
    const list = await insist<readonly { deploy_id: string; model_name: string; status: string }[]>(
      context,
      '/deploy/list',
    )
    for (const { deploy_id, model_name } of list.filter(({ status }) => status === 'failed')) {
      for (let status = ''; status !== 'deleted'; await context.sleep(5_000)) {
        await ask(context, 'DELETE', `/deploy/${deploy_id}`)
        status = (await insist<{ status: string }>(context, `/deploy/${deploy_id}`)).status
      }
      log.push(`removed deployment ${model_name}`)
    }
    return [...log, `deployments: ${list.length} looked at`]
  }
  const { findings } = await findingsOf(remove, { fixtures: 'default' }, ['status503'])
  expect(findings.map(({ signature }) => signature).filter(one => one.startsWith('noSilentLoss'))).toEqual([])
})

test('entries of one form are compared with that at their place', { tags: 'slow' }, async () => {
  const days: Run = async context => {
    const lines = ['Day 1: 3 of 4']
    const list = await askOnce<Entries>(context, '/deploy/list')
    return [...lines, `Day 2: ${list?.length ?? 8} of 9`]
  }
  expect(await brokenBy(days, ['status503'], { fixtures: 'default' })).toEqual([])
})

test('a calm label beside another number asks, and excuses null', { tags: 'slow' }, async () => {
  const guard =
    (unread: null | 0): Run =>
    async context => {
      const path = '/payment/usage?from=2025.12&to=2025.12'
      const usage = await askOnce<{ readonly months: readonly { readonly total_cost: number }[] }>(context, path)
      const cents = usage?.months.at(0)?.total_cost ?? unread
      return { decision: usage ? 'over the budget' : 'nothing to do', cents }
    }
  const judged = (unread: null | 0) => findingsOf(guard(unread), { fixtures: 'default' }, ['status503'])
  const { invariants, card } = await judged(0)
  expect([invariants, card.unclear.map(({ place }) => place)]).toEqual([[], ['decision']])
  expect((await judged(null)).card.unclear).toEqual([])
})

test('the card says that a loss cannot be seen', async () => {
  const speak =
    (show: (bytes: number) => unknown): Run =>
    async context => {
      const body = { model: 'larkspur-audio/lark-tts-2', input: 'The tide turns.', voice: 'alloy' }
      const answer = await sendTo(context, 'POST /v1/audio/speech', body)
      return show((await answer.arrayBuffer()).byteLength)
    }
  const blind = await findingsOf(
    speak(() => 'speech written'),
    { fixtures: 'default' },
    ['status503'],
  )
  expect(blind.invariants).toEqual([])
  expect(blind.card.unseen).toEqual([{ place: 'createSpeech', runs: 2, faults: ['status503', 'status503 for 60s'] }])
  const [verdict, ...lines] = describeCard(blind.card, 0)
  expect(verdict).toBe(
    '  It is not known whether this client has a problem: some answers cannot be seen in its result.',
  )
  expect(lines.join(' ')).toContain('it returned the same without the answer to createSpeech (2 runs:')
  const counted = await findingsOf(
    speak(bytes => `speech written: ${bytes} bytes`),
    { fixtures: 'default' },
  )
  expect(counted.card.unseen).toEqual([])
})
