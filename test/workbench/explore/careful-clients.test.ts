/** Careful clients beside clients with one defect: their waits, their results, and how they read answers. */
import { expect, test } from 'vitest'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { failedLineOf } from '../../../src/workbench/explore/plan/classes.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { formOf } from '../../setup/send-to.ts'
import { findingsOf } from './findings-of.ts'
import {
  ask,
  type Batch,
  batchOf,
  brokenBy,
  complete,
  first503,
  MODELS,
  must,
  pollBatch,
  type Run,
  rowsIn,
  status503,
  type Token,
  uploadLines,
} from './small-clients.ts'

test('a client that fails over to another model need not wait', { tags: 'slow' }, async () => {
  const failOver: Run = async context => {
    for (const model of MODELS) {
      const { value } = await complete(context, model, 'The ferry')
      if (value !== undefined) return { model, value }
    }
    throw new Error('no model answers')
  }
  expect(await brokenBy(failOver, [first503('createCompletion')])).toEqual([])
  const goOn: Run = async context => {
    const answers = [await failOver(context), await complete(context, MODELS[0], 'The storm')]
    return answers
  }
  expect(await brokenBy(goOn, [first503('createCompletion')])).toEqual([])
  const hurry: Run = async context => {
    const answers = [await complete(context, MODELS[0], 'The ferry'), await complete(context, MODELS[0], 'The storm')]
    return answers.map(({ value, status }) => value ?? { error: status })
  }
  expect(await brokenBy(hurry, [first503('createCompletion')])).toEqual(['honoursRetryAfter'])
})

test('each of two tasks with one request waits as long as its own answer asks', async () => {
  const twoTasks = (wait: (asked: number) => number): Run => {
    const read = async (context: FlowContext) => {
      for (let i = 0; i < 6; i++) {
        const { value, wait: asked } = await ask(context, 'GET', '/payment/config')
        if (value !== undefined) return value
        await context.sleep(wait(Math.max(asked, 2_000)))
      }
      throw new Error('no limit')
    }
    return context => Promise.all([read(context), read(context)])
  }
  const plan: Plan = [
    first503('getPaymentConfig'),
    { fault: { on: 'getPaymentConfig', nth: 2, fault: { kind: 'rateLimit', retryAfter: '20s' } } },
  ]
  const [careful, hasty] = [twoTasks(asked => asked), twoTasks(() => 2_000)]
  expect(await brokenBy(careful, plan)).toEqual([])
  expect(await brokenBy(hasty, plan)).toEqual(['honoursRetryAfter'])
})

test('a task may send what a request of another task may not yet', async () => {
  const twoMachines: Run = async context => {
    const bring = async (name: string) => {
      for (let i = 0; i < 5; i++) {
        const { value: list, wait: listWait } = await ask(context, 'GET', '/v1/hosted')
        const { value, wait } = list === undefined ? { value: undefined, wait: listWait } : await make(name)
        if (value !== undefined) return value
        await context.sleep(Math.max(wait, 2_000))
      }
      throw new Error(`no machine ${name}`)
    }
    const make = (name: string) => ask(context, 'POST', '/v1/hosted', { name, plan_id: 'small' })
    return Promise.all([bring('a'), bring('b')])
  }
  const limited = { kind: 'rateLimit', retryAfter: '20s' } as const
  const plan: Plan = [first503('listHosted'), { fault: { on: 'createHosted', nth: 1, fault: limited } }]
  expect(await brokenBy(twoMachines, plan)).toEqual([])
})

test('the first request of a task is not an early retry of another task', { tags: 'slow' }, async () => {
  const twoLists = (wait: (asked: number) => number): Run => {
    const read = async (context: FlowContext, path: string) => {
      for (let i = 0; i < 6; i++) {
        const { value, wait: asked } = await ask(context, 'GET', path)
        if (value !== undefined) return value
        await context.sleep(wait(Math.max(asked, 2_000)))
      }
      throw new Error(`no ${path}`)
    }
    const task = async (context: FlowContext) => [await read(context, '/v1/batches'), await read(context, '/v1/files')]
    return context => Promise.all([task(context), task(context)])
  }
  const limited = { kind: 'rateLimit', retryAfter: '20s' } as const
  const plan: Plan = [first503('listBatches'), { fault: { on: 'listFiles', nth: 1, fault: limited } }]
  const careful = twoLists(asked => asked)
  expect(await brokenBy(careful, plan)).toEqual([])
  const refused: Plan = [
    { fault: { on: 'listBatches', nth: 1, fault: { kind: 'status', status: 403 } } },
    { fault: { on: 'listBatches', nth: 2, fault: limited } },
  ]
  expect(await brokenBy(careful, refused)).toEqual([])
  const hasty = twoLists(() => 3_000)
  expect(await brokenBy(hasty, plan)).toEqual(['honoursRetryAfter'])
})

test('a task that polls has to wait, however often it polls without faults', async () => {
  const poll = async (context: FlowContext) => {
    for (let i = 0; i < 8; i++) {
      await ask(context, 'GET', '/v1/files')
      await context.sleep(3_000)
    }
  }
  const polls: Run = context => Promise.all([poll(context), poll(context)])
  const plan: Plan = [{ fault: { on: 'listFiles', nth: 5, fault: { kind: 'rateLimit', retryAfter: '20s' } } }]
  expect(await brokenBy(polls, plan)).toContain('honoursRetryAfter')
})

class Survey {
  readonly #texts: unknown[] = []

  add(text: unknown): void {
    this.#texts.push(text)
  }

  get texts(): readonly unknown[] {
    return [...this.#texts]
  }
}

test('a result is read through the getters of its class', async () => {
  const survey: Run = async context => {
    const result = new Survey()
    for (const prompt of ['Rain?', 'Snow?']) {
      const { value } = await complete(context, MODELS[0], prompt)
      if (value !== undefined) result.add((value as { choices: [{ text: string }] }).choices[0].text)
      else await context.sleep(5_000)
    }
    return result
  }
  expect(await brokenBy(survey, [first503('createCompletion')])).toEqual(['noSilentLoss'])
})

test('a number that became NaN is another result', { tags: 'slow' }, async () => {
  const sum: Run = async context => {
    const { value } = await complete(context, MODELS[0], 'Rain?')
    const { usage } = value as { usage: Record<string, number> }
    return { tokens: Object.values(usage).reduce((total, one) => total + (one * 1 || Number(one)), 0) }
  }
  const fields = { kind: 'variation', form: 'fields' } as const
  const plan = [{ fault: { on: 'createCompletion', nth: 1, for: '24h', fault: fields } }] as Plan
  expect(await brokenBy(sum, plan)).toEqual(['acceptsVariations'])
})

test('a client of few operations may send a completion once, and is uneven if it deletes once', {
  tags: 'slow',
}, async () => {
  const patient = async (context: FlowContext, method: string, path: string) => {
    for (let i = 0; i < 6; i++) {
      const { value, wait } = await ask(context, method, path)
      if (value !== undefined) return value
      await context.sleep(Math.max(wait, 5_000))
    }
    throw new Error(`${path}: no answer`)
  }
  const readThen =
    (act: (context: FlowContext, token?: string) => Promise<unknown>): Run =>
    async context => {
      await patient(context, 'GET', '/payment/config')
      const tokens = (await patient(context, 'GET', '/v1/api-tokens')) as Token[]
      await act(context, tokens.find(({ name }) => name === 'continuous integration')?.token_id)
    }
  const completeOnce = readThen(context =>
    must(context, 'POST', '/v1/completions', { model: MODELS[0], prompt: 'Rain?', max_tokens: 4 }),
  )
  // After a crash, the token can be gone.
  const deleteOnce = readThen(async (context, token) => {
    if (token !== undefined) await must(context, 'DELETE', `/v1/api-tokens/${token}`)
  })
  // More than half of the faults end it, so it does not survive faults.
  const pollOnce = readThen(async context => {
    for (let polls = 0; polls < 3; polls++) await must(context, 'GET', '/v1/models')
  })
  const options = { fixtures: 'default' } as const
  const classes = ['status503', 'reset', 'refused', 'html', 'empty', 'truncated'] as const
  expect((await findingsOf(completeOnce, options, classes)).invariants).toEqual([])
  expect((await findingsOf(pollOnce, options, classes)).invariants).toEqual([])
  expect((await findingsOf(deleteOnce, options, classes)).invariants).toEqual(['recovers'])
})

/** Returns a WAV file of silence: 24,000 samples of 16 bits a second. */
function silence(seconds: number): File {
  const header = Buffer.alloc(44)
  const bytes = seconds * 48_000
  header.write('RIFF')
  header.writeUInt32LE(36 + bytes, 4)
  header.write('WAVEfmt ', 8)
  for (const [at, value] of [16, 0x10001, 24_000, 48_000, 0x100002].entries()) header.writeUInt32LE(value, 16 + 4 * at)
  header.write('data', 36)
  header.writeUInt32LE(bytes, 40)
  return new File([header, new Uint8Array(bytes)], 'a.wav')
}

test('uploads of different files to one path are different questions', async () => {
  const hear =
    (tells: (name: string) => boolean): Run =>
    async context => {
      const heard: Record<string, string> = {}
      const lost = []
      for (const [name, seconds] of [
        ['tide', 2],
        ['gull', 4],
      ] as const) {
        const form = formOf({ model: 'larkspur-audio/lark-scribe-turbo', file: silence(seconds) })
        const { status, wait, value } = await ask(context, 'POST', '/v1/audio/transcriptions', form)
        if (value !== undefined) heard[name] = (value as { text: string }).text
        else if (tells(name)) lost.push({ chapter: name, because: `HTTP ${status}` })
        await context.sleep(wait)
      }
      return { heard, lost }
    }
  const [careful, careless] = [hear(() => true), hear(name => name === 'gull')]
  expect(await brokenBy(careful, [first503('createTranscription')])).toEqual([])
  expect(await brokenBy(careless, [first503('createTranscription')])).toEqual(['noSilentLoss'])
})

test('a form with other fields need not wait for a rejected one', { tags: 'slow' }, async () => {
  const edit =
    (words: string): Run =>
    async context => {
      const send = async (description: string) => {
        for (let i = 0; i < 3; i++) {
          const path = '/v1/voices/voice_k7RtWq2mXb4Hn9ZpGam4zyNb/edit'
          const { value, wait } = await ask(context, 'POST', path, formOf({ description }))
          if (value !== undefined) return
          if (i < 2) await context.sleep(Math.max(wait, 40_000))
        }
        throw new Error('not edited')
      }
      await send('new words').catch(async error => {
        await send(words)
        throw error
      })
      return 'edited'
    }
  const plan = [1, 2, 3].map(nth => ({ fault: { on: 'editVoice', nth, fault: status503 } })) as unknown as Plan
  expect(await brokenBy(edit('old words'), plan, { fixtures: 'default' })).toEqual([])
  expect(await brokenBy(edit('new words'), plan, { fixtures: 'default' })).toEqual(['honoursRetryAfter'])
})

test('two counts tell of a loss if they part in one record', { tags: 'slow' }, async () => {
  const askRows =
    (toResult: (rows: readonly { row: number; tokens: number; text: string }[]) => unknown): Run =>
    async context => {
      const rows = []
      for (const row of [3, 4, 5]) {
        const { value, wait } = await complete(context, MODELS[0], `Row ${row}`)
        const { choices, usage } = (value ?? {}) as {
          choices?: [{ text: string }]
          usage?: { completion_tokens: number }
        }
        rows.push({ row, tokens: usage?.completion_tokens ?? 0, text: choices?.[0].text ?? '' })
        await context.sleep(wait)
      }
      return toResult(rows)
    }
  const careful = askRows(rows => {
    const texts = rows.map(({ text }) => text).filter(text => text !== '')
    return { rows: { asked: rows.length, answered: texts.length }, texts }
  })
  const careless = askRows(rows => rows)
  expect(await brokenBy(careful, [first503('createCompletion')])).toEqual([])
  expect(await brokenBy(careless, [first503('createCompletion')])).toEqual(['noSilentLoss'])
})

test('counts by model do not tell what was asked and answered', { tags: 'slow' }, async () => {
  const countByModel: Run = async context => {
    const counts: Record<string, number> = {}
    const texts: string[] = []
    for (const [i, model] of [...MODELS, ...MODELS].entries()) {
      const { value, wait } = await complete(context, model, `Port ${i}`)
      const answer = value as { model: string; choices: [{ text: string }] } | undefined
      if (answer !== undefined) {
        counts[answer.model] = (counts[answer.model] ?? 0) + 1
        texts.push(answer.choices[0].text)
      }
      await context.sleep(wait)
    }
    return { counts, texts }
  }
  expect(await brokenBy(countByModel, [first503('createCompletion')])).toEqual(['noSilentLoss'])
})

test('a client joins the rows of a second batch with those of the first one', { tags: 'slow' }, async () => {
  const words = ['ebb', 'flood', 'slack', 'spring']
  const explain =
    (isCareful: boolean): Run =>
    async context => {
      const runLines = async (asked: readonly string[]) => {
        const lines = asked.map((word, i) => [`line-${i}`, `Explain ${word}.`])
        const input = await uploadLines(context, Object.fromEntries(lines))
        const created = await must<Batch>(context, 'POST', '/v1/batches', batchOf(input))
        const { output_file_id } = await pollBatch(context, created, 'completed')
        return rowsIn(context, output_file_id)
      }
      const texts: string[] = []
      let asked: readonly string[] = words
      for (let round = 0; round < 2 && asked.length > 0; round++) {
        for (const { custom_id, response } of await runLines(asked)) {
          const at = Number(custom_id.slice(5))
          texts[isCareful ? words.indexOf(asked[at]!) : at] = response.body.choices[0].text
        }
        asked = words.filter((_, i) => texts[i] === undefined)
      }
      return words.map((word, i) => ({ word, text: texts[i] ?? '' }))
    }
  for (const lines of [2, words.length]) {
    const plan: Plan = [{ fault: { ...failedLineOf(lines), name: 'line' } }]
    expect(await brokenBy(explain(true), plan)).toEqual([])
    expect(await brokenBy(explain(false), plan)).toEqual(['noSilentLoss'])
  }
})

test('a stream ends early after more than its first events', { tags: 'slow' }, async () => {
  const read =
    (isWhole: (text: string, pieces: number) => boolean): Run =>
    async context => {
      const messages = [{ role: 'user', content: 'Name ten ports.' }]
      const body = JSON.stringify({ model: MODELS[0], messages, max_tokens: 30, stream: true })
      const headers = { authorization: `Bearer ${context.token}`, 'content-type': 'application/json' }
      for (let i = 0; i < 3; i++) {
        const answer = await context.fetch(`${context.url}/v1/chat/completions`, { method: 'POST', headers, body })
        const text = await answer.text()
        const pieces = [...text.matchAll(/"content":("[^"]*")/g)].map(([, piece]) => JSON.parse(piece!) as string)
        if (isWhole(text, pieces.length)) return pieces.join('')
        await context.sleep(5_000)
      }
      throw new Error('no whole answer')
    }
  const toDone = read(text => text.includes('[DONE]'))
  const someWords = read((_, pieces) => pieces > 6)
  expect((await findingsOf(toDone, {}, ['streamEnd'])).invariants).toEqual([])
  expect((await findingsOf(someWords, {}, ['streamEnd'])).invariants).toEqual(['noSilentLoss'])
})

test('a body that comes slowly can be read in pieces', async () => {
  const read: Run = async ({ fetch, url, token }) => {
    const signal = AbortSignal.timeout(30_000)
    const answer = await fetch(`${url}/v1/files?limit=2`, { headers: { authorization: `Bearer ${token}` }, signal })
    let text = ''
    for await (const piece of answer.body!) text += new TextDecoder().decode(piece)
    return text.length
  }
  const plan: Plan = [{ fault: { on: 'listFiles', nth: 1, fault: { kind: 'slowBody', bytesPerSecond: 50 } } }]
  expect(await brokenBy(read, plan)).toEqual([])
})
