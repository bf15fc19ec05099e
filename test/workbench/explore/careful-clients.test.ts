/** Careful clients beside clients with one defect, each in one run with a plan of faults. */
import { expect, test } from 'vitest'
import type { FlowContext, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import { failedLineOf } from '../../../src/workbench/explore/plan/classes.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'
import { findingsOf } from './findings-of.ts'

type Run = (context: FlowContext) => Promise<unknown>

/** Returns the names of the invariants that a client breaks in a run with a plan. */
async function brokenBy(run: Run, plan: Plan, options: FlowOptions = {}): Promise<string[]> {
  const runner = createFlowRunner({ name: 'client', options: { fixtures: 'empty', seed: 1, ...options }, run })
  try {
    expect((await runner.run([])).broken).toEqual([])
    return (await runner.run(plan)).broken.map(({ invariant }) => invariant)
  } finally {
    await runner.dispose()
  }
}

type Answer = { readonly status: number; readonly wait: number; readonly value: unknown }

/** Sends one request. The status is 0 and the value undefined if it got no answer. */
async function ask({ fetch, url, token }: FlowContext, method: string, path: string, body?: unknown): Promise<Answer> {
  const isForm = body instanceof FormData
  const headers = { authorization: `Bearer ${token}`, ...(!isForm && { 'content-type': 'application/json' }) }
  const sent = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }
  const init = { method, headers, signal: AbortSignal.timeout(30_000), ...sent }
  const answer = await fetch(url + path, init).catch(() => undefined)
  const value: unknown = answer?.ok ? await answer.json().catch(() => undefined) : undefined
  return { status: answer?.status ?? 0, wait: Number(answer?.headers.get('retry-after') ?? 0) * 1000, value }
}

/** Sends one request, and throws if it was not answered with a 2xx. */
async function must<T>(context: FlowContext, method: string, path: string, body?: unknown): Promise<T> {
  const { status, value } = await ask(context, method, path, body)
  if (value === undefined) throw new Error(`${method}: ${status}`)
  return value as T
}

const status503 = { kind: 'status', status: 503 } as const
const always503 = (on: string, nth = 1) => ({ fault: { on, nth, for: '60s', fault: status503 } }) as Plan[number]
const first503 = (on: string) => ({ fault: { on, nth: 1, fault: status503 } }) as Plan[number]

const complete = (context: FlowContext, model: string, prompt: string) =>
  ask(context, 'POST', '/v1/completions', { model, prompt, max_tokens: 4 })
const MODELS = ['aurora-labs/aurora-8b-instruct', 'harbor-ai/harbor-12b-instruct'] as const

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
  expect(
    await brokenBy(
      twoTasks(asked => asked),
      plan,
    ),
  ).toEqual([])
  expect(
    await brokenBy(
      twoTasks(() => 2_000),
      plan,
    ),
  ).toEqual(['honoursRetryAfter'])
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

type Token = { token_id: string; name: string }

test('a client that deletes more than usual has made no less', { tags: 'slow' }, async () => {
  type File = { id: string; purpose: string }
  const clear =
    (remakes: boolean): Run =>
    async context => {
      const list = () => ask(context, 'GET', '/v1/files')
      let { value } = await list()
      if (value === undefined) {
        // Meanwhile, a batch of the world ends and makes two files more.
        await context.sleep(360_000)
        value = (await list()).value
      }
      const files = (value as { data: File[] }).data.filter(({ purpose }) => purpose === 'batch_output')
      for (const { id } of files) {
        await must(context, 'DELETE', `/v1/files/${id}`)
        const { status } = await ask(context, 'GET', `/v1/files/${id}`)
        if (status !== 404) throw new Error(`${id} is left`)
      }
      if (!remakes) return { deleted: files.map(({ id }) => id) }
      const { status } = await ask(context, 'POST', '/v1/api-tokens', { name: 'new' })
      if (status !== 200) await context.sleep(1_000)
      return 'cleared, and a token made'
    }
  const options = { fixtures: 'default' } as const
  expect(await brokenBy(clear(false), [first503('listFiles')], options)).toEqual([])
  expect(await brokenBy(clear(true), [first503('listFiles'), first503('createApiToken')], options)).toEqual([
    'doneAsSaid',
  ])
})

test('a client that takes back what it made has made less than usual', async () => {
  const make: Run = async context => {
    const { token_id: id } = await must<Token>(context, 'POST', '/v1/api-tokens', { name: 'new' })
    const { value } = await ask(context, 'GET', '/v1/models')
    if (value === undefined) await must(context, 'DELETE', `/v1/api-tokens/${id}`)
    return 'a token is made'
  }
  expect(await brokenBy(make, [first503('listServedModels')])).toEqual(['doneAsSaid'])
})

test('a token that was made once is not a double if the old one was not deleted', async () => {
  const rotate: Run = async context => {
    const tokens = await must<Token[]>(context, 'GET', '/v1/api-tokens')
    const fresh = await must<Token>(context, 'POST', '/v1/api-tokens', { name: 'ci 2' })
    const old = tokens.find(({ name }) => name === 'continuous integration')
    const { status } = await ask(context, 'DELETE', `/v1/api-tokens/${old?.token_id}`)
    if (status !== 200) throw new Error(`${fresh.token_id} is new, and ${old?.token_id} is not revoked`)
    return { active: fresh.token_id }
  }
  expect(await brokenBy(rotate, [first503('deleteApiToken')], { fixtures: 'default' })).toEqual([])
})

test('two equal machines by design are not doubles if their deletes fail', async () => {
  const twoMachines: Run = async context => {
    const make = (name: string) =>
      must<{ instance_id: string }>(context, 'POST', '/v1/hosted', { name, plan_id: 'small' })
    const ids = [(await make('a')).instance_id, (await make('b')).instance_id]
    const ends = []
    for (const id of ids) ends.push(await ask(context, 'DELETE', `/v1/hosted/${id}`))
    if (ends.some(({ status }) => status !== 200)) throw new Error(`left: ${ids.join(', ')}`)
    return 'both were made and deleted'
  }
  expect(await brokenBy(twoMachines, [always503('deleteHosted')])).toEqual([])
})

test('a client that cannot look for its batch may name it by its metadata', async () => {
  const runBatch =
    (name: string): Run =>
    async context => {
      const form = new FormData()
      form.set('purpose', 'batch')
      const request = { model: MODELS[0], prompt: 'Hi', max_tokens: 4 }
      const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/completions', body: request })
      form.set('file', new Blob([line]), 'lines.jsonl')
      const { id } = await must<{ id: string }>(context, 'POST', '/v1/files', form)
      const metadata = { tag: 'facts-7' }
      const body = { input_file_id: id, endpoint: '/v1/completions', completion_window: '24h', metadata }
      const { value } = await ask(context, 'POST', '/v1/batches', body)
      if (value !== undefined) return value
      await context.sleep(6_000)
      const { value: list } = await ask(context, 'GET', '/v1/batches')
      if (list === undefined) throw new Error(`the batch ${name} may run`)
      return list
    }
  const plan: Plan = [
    { fault: { on: 'createBatch', fault: { ...status503, effect: 'done' } } },
    always503('listBatches'),
  ]
  expect(await brokenBy(runBatch('with the tag facts-7'), plan)).toEqual([])
  expect(await brokenBy(runBatch('of today'), plan)).toEqual(['noLeak'])
})

test('a client that throws deletes a voice, and sets back a limit, as it does without faults', async () => {
  const speak =
    (isCareful: boolean): Run =>
    async context => {
      const form = new FormData()
      form.set('name', 'One day voice')
      form.append('files', new Blob([new Uint8Array(3000)]), 'a.wav')
      const { voice_id: voice } = await must<{ voice_id: string }>(context, 'POST', '/v1/voices/add', form)
      const request = { model: MODELS[0], prompt: 'Lights out', max_tokens: 4 }
      const { value } = await ask(context, 'POST', '/v1/completions', request)
      if (value === undefined && !isCareful) throw new Error('no answer')
      const { status } = await ask(context, 'DELETE', `/v1/voices/${voice}`)
      if (status !== 200) throw new Error(`${voice} is left`)
      if (value === undefined) throw new Error('no answer')
      return value
    }
  expect(await brokenBy(speak(true), [first503('createCompletion')])).toEqual([])
  expect(await brokenBy(speak(true), [first503('deleteVoice')])).toEqual([])
  expect(await brokenBy(speak(false), [first503('createCompletion')])).toEqual(['cleansUpOnThrow'])
  const spend =
    (isCareful: boolean): Run =>
    async context => {
      const { limit } = await must<{ limit: number }>(context, 'GET', '/payment/config')
      await must(context, 'POST', '/payment/config', { limit: 400 })
      const { value } = await complete(context, MODELS[0], 'Plan')
      if (value === undefined && !isCareful) throw new Error('no answer')
      await must(context, 'POST', '/payment/config', { limit })
      if (value === undefined) throw new Error('no answer')
      return value
    }
  expect(await brokenBy(spend(true), [first503('createCompletion')])).toEqual([])
  expect(await brokenBy(spend(false), [first503('createCompletion')])).toEqual(['cleansUpOnThrow'])
})

/** A stopped and a running machine of the fixture `default`. */
const MACHINES = ['inst_djvv7xQqcTZpad3Hiy2HQWs2', 'inst_HmSomZNCU5EAVUqwFpxpN9vc'] as const

test('each of two machines that were there before the client has a name of its own', { tags: 'slow' }, async () => {
  const renameBoth =
    (tries: number, isAtOnce: boolean): Run =>
    async context => {
      const rename = async (id: string, name: string) => {
        for (let i = 0; i < tries; i++) {
          const { status, wait } = await ask(context, 'PATCH', `/v1/hosted/${id}`, { name })
          await context.sleep(Math.max(wait, 60_000))
          if (status === 200) return
        }
      }
      const [first, second] = MACHINES
      // Warms the connection. Nothing of it is used.
      await ask(context, 'GET', '/v1/models')
      const one = rename(first, 'alpha')
      if (!isAtOnce) await one
      await Promise.all([one, rename(second, 'beta')])
      return { renamed: ['alpha', 'beta'] }
    }
  const [plan, options] = [[first503('renameHosted')], { fixtures: 'default' } as const]
  expect(await brokenBy(renameBoth(4, true), [first503('listServedModels'), ...plan], options)).toEqual([])
  expect(await brokenBy(renameBoth(1, false), plan, options)).toEqual(['doneAsSaid'])
})

test('a client that throws gives a machine that was there before it its old name, or says the name', {
  tags: 'slow',
}, async () => {
  const maintain =
    (isSetBack: boolean, words: (name: string) => string): Run =>
    async context => {
      const path = `/v1/hosted/${MACHINES[1]}`
      const { name } = await must<{ name: string }>(context, 'GET', path)
      await must(context, 'PATCH', path, { name: `${name} (maintenance)` })
      const { value } = await complete(context, MODELS[0], 'Smoke?')
      if (value === undefined && !isSetBack) throw new Error(words(name))
      await must(context, 'PATCH', path, { name })
      if (value === undefined) throw new Error(words(name))
      return { name, value }
    }
  const [plan, options] = [[first503('createCompletion')], { fixtures: 'default' } as const]
  expect(
    await brokenBy(
      maintain(true, () => 'no smoke test'),
      plan,
      options,
    ),
  ).toEqual([])
  expect(
    await brokenBy(
      maintain(false, name => `${name} is still under maintenance`),
      plan,
      options,
    ),
  ).toEqual([])
  expect(
    await brokenBy(
      maintain(false, () => 'no smoke test'),
      plan,
      options,
    ),
  ).toEqual(['cleansUpOnThrow'])
})

type Deployment = { deploy_id: string; model_name: string; status: string }

test('a client that starts a deployment reads whether it started, and how it ended', { tags: 'slow' }, async () => {
  const start =
    (isCareful: boolean): Run =>
    async context => {
      const list = await must<Deployment[]>(context, 'GET', '/deploy/list')
      const id = list.find(({ model_name }) => model_name === 'acme/summarizer')?.deploy_id
      const { status: answered } = await ask(context, 'POST', `/deploy/${id}/start`)
      if (isCareful && answered !== 200) throw new Error(`not started: ${answered}`)
      for (let polls = 0; polls < 30; polls++) {
        const { status } = await must<Deployment>(context, 'GET', `/deploy/${id}`)
        if (isCareful && status === 'stopped') throw new Error(`${id} is stopped`)
        if (status === 'running' && polls > 20) break
        await context.sleep(30_000)
      }
      return { ready: id }
    }
  const refused: Plan = [first503('startDeployment')]
  const subject = 'ZULBVvLkUPftB8Mo'
  const stop = { verb: 'deployment.stop', target: subject } as const
  const stopped: Plan = [{ command: stop, after: { kind: 'deployment.running', subject }, passes: false }]
  const options = { fixtures: 'default' } as const
  expect(await brokenBy(start(true), refused, options)).toEqual([])
  expect(await brokenBy(start(true), stopped, options)).toEqual([])
  expect(await brokenBy(start(false), refused, options)).toEqual(['doneAsSaid', 'readsEnd'])
  expect(await brokenBy(start(false), stopped, options)).toEqual(['readsEnd'])
})

test('a client may look after each of its deletes whether a deployment is gone', { tags: 'slow' }, async () => {
  const remove =
    (looks: number): Run =>
    async context => {
      const path = '/deploy/ZULBVvLkUPftB8Mo'
      for (let tries = 0; tries < 9; tries++) {
        await ask(context, 'DELETE', path)
        for (let i = 0; i < looks; i++) {
          await context.sleep(12_000)
          const { status } = await must<Deployment>(context, 'GET', path)
          if (status === 'deleted') return { deleted: path }
        }
      }
      throw new Error(`${path} is left`)
    }
  const [plan, options] = [[always503('deleteDeployment')], { fixtures: 'default' } as const]
  expect(await brokenBy(remove(1), plan, options)).toEqual([])
  expect(await brokenBy(remove(4), plan, options)).toEqual(['readsEnd'])
})

test('a client may return the limit that is set, and may wait for days', async () => {
  const raise: Run = async context => {
    const read = async () => (await must<{ rate_limit: number }>(context, 'GET', '/v1/me/rate_limit')).rate_limit
    const before = await read()
    const body = { rate_limit: before + 50, reason: 'Sale' }
    const { status } = await ask(context, 'POST', '/v1/me/rate_limit/request', body)
    if (status !== 200 && status !== 403) throw new Error(`request: ${status}`)
    await context.sleep(30 * 3_600_000)
    return { before, after: await read() }
  }
  const refused: Plan = [{ fault: { on: 'requestRateLimits', fault: { kind: 'status', status: 403 } } }]
  expect(await brokenBy(raise, refused)).toEqual([])
  expect(await brokenBy(raise, [{ crash: 3 }])).toEqual([])
})

test('a setting that a restarted client takes for the old one is on the card, and not a finding', async () => {
  const spend =
    (limitBefore?: number): Run =>
    async context => {
      const { limit } = await must<{ limit: number }>(context, 'GET', '/payment/config')
      await must(context, 'POST', '/payment/config', { limit: 400 })
      const { value } = await complete(context, MODELS[0], 'Plan')
      await must(context, 'POST', '/payment/config', { limit: limitBefore ?? limit })
      return value
    }
  const reasonsOf = async (run: Run) => {
    const runner = createFlowRunner({ name: 'client', options: { fixtures: 'empty' }, run })
    await runner.run([])
    const { broken } = await runner.run([{ crash: 2 }])
    return broken.map(({ invariant, maySurface }) => [invariant, maySurface])
  }
  expect(await reasonsOf(spend(-1))).toEqual([])
  expect(await reasonsOf(spend())).toEqual([['idempotentRestart', expect.stringMatching('the old value of a setting')]])
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
        const form = new FormData()
        form.append('model', 'larkspur-audio/lark-scribe-turbo')
        form.append('file', silence(seconds))
        const { status, wait, value } = await ask(context, 'POST', '/v1/audio/transcriptions', form)
        if (value !== undefined) heard[name] = (value as { text: string }).text
        else if (tells(name)) lost.push({ chapter: name, because: `HTTP ${status}` })
        await context.sleep(wait)
      }
      return { heard, lost }
    }
  expect(
    await brokenBy(
      hear(() => true),
      [first503('createTranscription')],
    ),
  ).toEqual([])
  expect(
    await brokenBy(
      hear(name => name === 'gull'),
      [first503('createTranscription')],
    ),
  ).toEqual(['noSilentLoss'])
})

test('a form with other fields need not wait for a rejected one', { tags: 'slow' }, async () => {
  const edit =
    (words: string): Run =>
    async context => {
      const send = async (description: string) => {
        for (let i = 0; i < 3; i++) {
          const form = new FormData()
          form.set('description', description)
          const path = '/v1/voices/voice_k7RtWq2mXb4Hn9ZpGam4zyNb/edit'
          const { value, wait } = await ask(context, 'POST', path, form)
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

type Machine = { id: string; name: string; state: string; price_per_hour: number }

test('a restarted client that rents another machine does not return the one that failed', {
  tags: 'slow',
}, async () => {
  let failed = ''
  const rent =
    (isCareful: boolean): Run =>
    async context => {
      const machines = await must<Machine[]>(context, 'GET', '/v1/hosted')
      const ours = machines.find(({ name, state }) => name === 'job' && !(isCareful && state === 'failed'))
      const make = () => must<{ instance_id: string }>(context, 'POST', '/v1/hosted', { name: 'job', plan_id: 'small' })
      const id = ours?.id ?? (await make()).instance_id
      failed ||= id
      for (let polls = 0; polls < 60; polls++) {
        const machine = await must<Machine>(context, 'GET', `/v1/hosted/${id}`)
        if (machine.state === 'running' || (machine.state === 'failed' && !isCareful)) {
          if (machine.state === 'running') await must(context, 'DELETE', `/v1/hosted/${id}`)
          return { price: machine.price_per_hour }
        }
        if (machine.state === 'failed') throw new Error(`${id} failed`)
        await context.sleep(10_000)
      }
      throw new Error(`${id} does not start`)
    }
  expect(await brokenBy(rent(true), [])).toEqual([])
  const crash = { verb: 'hosted.crash', target: failed } as const
  const after = { kind: 'hosted.running', subject: failed } as const
  // Its request 8 is the first one that shows the end.
  const plan: Plan = [{ command: crash, after, passes: false }, { crash: 8 }]
  expect(await brokenBy(rent(true), plan)).toEqual([])
  expect(await brokenBy(rent(false), plan)).toEqual(['noSilentLoss'])
})

test('a client joins the rows of a second batch with those of the first one', { tags: 'slow' }, async () => {
  const words = ['ebb', 'flood', 'slack', 'spring']
  const explain =
    (isCareful: boolean): Run =>
    async context => {
      const runLines = async (asked: readonly string[]) => {
        const form = new FormData()
        form.set('purpose', 'batch')
        const toLine = (word: string, i: number) => {
          const request = { model: MODELS[1], prompt: `Explain ${word}.`, max_tokens: 8 }
          return JSON.stringify({ custom_id: `line-${i}`, method: 'POST', url: '/v1/completions', body: request })
        }
        form.set('file', new Blob([asked.map(toLine).join('\n')]), 'lines.jsonl')
        const { id: input } = await must<{ id: string }>(context, 'POST', '/v1/files', form)
        const body = { input_file_id: input, endpoint: '/v1/completions', completion_window: '24h' }
        const { id } = await must<{ id: string }>(context, 'POST', '/v1/batches', body)
        const read = () => must<{ status: string; output_file_id: string }>(context, 'GET', `/v1/batches/${id}`)
        let batch = await read()
        while (batch.status !== 'completed') {
          await context.sleep(600_000)
          batch = await read()
        }
        const headers = { authorization: `Bearer ${context.token}` }
        const answer = await context.fetch(`${context.url}/v1/files/${batch.output_file_id}/content`, { headers })
        const rows = (await answer.text()).trim().split('\n')
        return rows.map(
          row => JSON.parse(row) as { custom_id: string; response: { body: { choices: [{ text: string }] } } },
        )
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

test('a client that changes the details of a model looks at each answer', { tags: 'slow' }, async () => {
  const describe =
    (isCareful: boolean): Run =>
    async ({ fetch, url, token, sleep }) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const set = async (details: object) => {
        const body = JSON.stringify(details)
        for (let i = 0; i < 4; i++) {
          const signal = AbortSignal.timeout(30_000)
          const sent = fetch(`${url}/models/acme/assistant/meta`, { method: 'POST', headers, body, signal })
          const answer = await sent.catch(() => undefined)
          if (answer?.ok || !isCareful) return
          await sleep(60_000)
        }
        throw new Error('not set')
      }
      await Promise.all([set({ description: 'Answers the help desk.' }), set({ readme: '# Assistant' })])
      return 'described'
    }
  const classes = ['status503', 'reset'] as const
  expect((await findingsOf(describe(true), { fixtures: 'default' }, classes)).invariants).toEqual([])
  expect((await findingsOf(describe(false), { fixtures: 'default' }, classes)).invariants).toEqual(['doneAsSaid'])
})
