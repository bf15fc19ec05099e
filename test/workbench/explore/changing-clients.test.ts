/** Careful clients beside clients with one defect: what they create, change, delete and set back. */
import { describe, expect, test } from 'vitest'
import type { FlowContext, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import { failedLineOf } from '../../../src/workbench/explore/plan/classes.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { batchFile } from '../../setup/batches.ts'
import { formOf, sendTo } from '../../setup/send-to.ts'
import { findingsOf } from './findings-of.ts'
import {
  always503,
  ask,
  type Batch,
  batchOf,
  brokenBy,
  complete,
  type Deployment,
  first503,
  MODELS,
  must,
  pollBatch,
  type Run,
  rowsIn,
  runnerOf,
  status503,
  type Token,
  uploadLines,
} from './small-clients.ts'

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

test('the token that was not deleted is named', async () => {
  let old: string | undefined
  const rotate: Run = async context => {
    const tokens = await must<Token[]>(context, 'GET', '/v1/api-tokens')
    await must<Token>(context, 'POST', '/v1/api-tokens', { name: 'ci 2' })
    old = tokens.find(({ name }) => name === 'continuous integration')?.token_id
    const { wait } = await ask(context, 'DELETE', `/v1/api-tokens/${old}`)
    await context.sleep(wait)
    return { rotated: true }
  }
  const { findings } = await findingsOf(rotate, { fixtures: 'default' }, ['status503'])
  const said = findings.map(({ words }) => words).join()
  expect(said).toContain(`but token ${old} was not deleted. The client went on`)
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
      const body = batchOf(await uploadLines(context, { a: 'Hi' }), { metadata: { tag: 'facts-7' } })
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
      const form = formOf({ name: 'One day voice', files: new File([new Uint8Array(3000)], 'a.wav') })
      const { voice_id: voice } = await must<{ voice_id: string }>(context, 'POST', '/v1/voices/add', form)
      const { value } = await complete(context, MODELS[0], 'Lights out')
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
  const broken = (...client: Parameters<typeof maintain>) =>
    brokenBy(maintain(...client), [first503('createCompletion')], { fixtures: 'default' })
  expect(await broken(true, () => 'no smoke test')).toEqual([])
  expect(await broken(false, name => `${name} is still under maintenance`)).toEqual([])
  expect(await broken(false, () => 'no smoke test')).toEqual(['cleansUpOnThrow'])
})

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

describe('a client that tries to change two settings, of which one is refused,', () => {
  const change =
    (show: (limit: boolean, topup: boolean) => unknown): Run =>
    async context => {
      const limit = await ask(context, 'POST', '/payment/config', { limit: 900 })
      const topup = await ask(context, 'POST', '/payment/topup', { amount: 30_000, threshold: 7_000, enabled: true })
      return show(limit.status === 200, topup.status === 200)
    }
  const refused: Plan = [first503('setTopup')]
  const namesOf = (limit: boolean, topup: boolean) => [...(limit ? ['limit'] : []), ...(topup ? ['topup'] : [])]

  test.each<[form: string, show: (limit: boolean, topup: boolean) => unknown]>([
    ['two booleans', (limit, topup) => [limit, topup]],
    ['one boolean', (limit, topup) => limit && topup],
    [
      'a boolean under a name of its own',
      (limit, topup) => ({ limit: { confirmed: limit }, topup: { confirmed: topup } }),
    ],
    ['a shorter list', (limit, topup) => ({ applied: namesOf(limit, topup) })],
    [
      'a line for each',
      (limit, topup) =>
        namesOf(limit, topup)
          .map(name => `✓ ${name}`)
          .join('\n'),
    ],
    ['another word', (limit, topup) => ({ limit: limit ? 'gesetzt' : 'offen', topup: topup ? 'gesetzt' : 'offen' })],
  ])('says so by %s', { tags: 'slow' }, async (_, show) => {
    expect(await brokenBy(change(show), refused)).toEqual([])
  })

  test.each<[form: string, show: (limit: boolean, topup: boolean) => unknown]>([
    ['says what it always says', () => ({ applied: ['limit', 'topup'] })],
    ['says nothing', (_, topup) => ({ topup: topup ? 'set' : undefined })],
    ['counts its tries', (_, topup) => ({ applied: 2, tries: topup ? 1 : 3 })],
  ])('and %s is found', { tags: 'slow' }, async (_, show) => {
    expect(await brokenBy(change(show), refused)).toEqual(['doneAsSaid'])
  })

  test('reads back what holds now', { tags: 'slow' }, async () => {
    const path = '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc'
    const rename: Run = async context => {
      await ask(context, 'PATCH', path, { name: 'labelling' })
      return { name: (await must<{ name: string }>(context, 'GET', path)).name }
    }
    const limit: Run = async context => {
      await ask(context, 'POST', '/payment/config', { limit: 900 })
      return { limit: (await must<{ limit: number }>(context, 'GET', '/payment/config')).limit }
    }
    const options = { fixtures: 'default' } as const
    expect(await brokenBy(rename, [first503('renameHosted')], options)).toEqual([])
    expect(await brokenBy(limit, [first503('setPaymentConfig')], options)).toEqual([])
  })
})

test('the id of a line that failed, and the code of its error, tell of the loss', { tags: 'slow' }, async () => {
  type Failed = readonly { id: string; code: string | undefined }[]
  const answer =
    (show: (answered: Record<string, string>, failed: Failed) => unknown): Run =>
    async context => {
      const input = await uploadLines(context, { k1: 'Explain k1.', k2: 'Explain k2.', k3: 'Explain k3.' })
      const created = await must<Batch>(context, 'POST', '/v1/batches', batchOf(input))
      const batch = await pollBatch(context, created, 'completed')
      const done = await rowsIn(context, batch.output_file_id)
      const failed = await rowsIn(context, batch.error_file_id)
      return show(
        Object.fromEntries(done.map(row => [row.custom_id, row.response.body.choices[0].text])),
        failed.map(({ custom_id, error }) => ({ id: custom_id, code: error?.code })),
      )
    }
  const broken = (show: Parameters<typeof answer>[0]) =>
    brokenBy(answer(show), [{ fault: { ...failedLineOf(3), name: 'line' } }])
  expect(await broken((answered, failed) => ({ answered, resubmit: failed.map(({ id }) => id) }))).toEqual([])
  expect(await broken((answered, failed) => ({ answered, open: failed.map(({ code }) => code) }))).toEqual([])
  expect(await broken(answered => ({ answered, resubmit: [] }))).toEqual(['noSilentLoss'])
})

test('the errors of an AggregateError name what goes on', { tags: 'slow' }, async () => {
  const quiz =
    (isCareful: boolean): Run =>
    async context => {
      const spec = { model_name: 'acme/quiz', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
      const { deploy_id } = await must<Deployment>(context, 'POST', '/deploy/llm', spec)
      const { status } = await ask(context, 'DELETE', `/deploy/${deploy_id}`)
      const left = new Error(isCareful ? `${deploy_id} goes on` : 'something goes on')
      if (status !== 200) throw new AggregateError([new Error(`DELETE: ${status}`), left], 'no clean end')
      return 'done'
    }
  const refused: Plan = [first503('deleteDeployment')]
  expect(await brokenBy(quiz(true), refused)).toEqual([])
  expect(await brokenBy(quiz(false), refused)).toEqual(['cleansUpOnThrow'])
})

test('a client with a deadline can say that a deployment was not ready when it last looked', {
  tags: 'slow',
}, async () => {
  let subject = ''
  const handOver =
    (says: boolean): Run =>
    async context => {
      const spec = { model_name: 'acme/hand-over', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
      const { deploy_id } = await must<Deployment>(context, 'POST', '/deploy/llm', spec)
      subject = deploy_id
      let state = 'starting'
      for (const until = context.now() + 640_000; context.now() < until; await context.sleep(70_000)) {
        const { status } = await must<Deployment>(context, 'GET', `/deploy/${deploy_id}`)
        state = { running: 'ready', failed: 'broken' }[status] ?? state
        if (state !== 'starting') break
      }
      return { deploy_id, ...(says && { state }) }
    }
  await brokenBy(handOver(true), [])
  const command = { verb: 'deployment.crash', args: { times: 20 }, target: subject } as const
  const fails: Plan = [{ command, after: { kind: 'deployment.deploying', subject }, passes: false }]
  expect(await brokenBy(handOver(true), fails)).toEqual([])
  expect(await brokenBy(handOver(false), fails)).toEqual(['readsEnd'])
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
    const runner = runnerOf(run)
    await runner.run([])
    const { broken } = await runner.run([{ crash: 2 }])
    return broken.map(({ invariant, maySurface }) => [invariant, maySurface])
  }
  expect(await reasonsOf(spend(-1))).toEqual([])
  expect(await reasonsOf(spend())).toEqual([['idempotentRestart', expect.stringMatching('the old value of a setting')]])
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

test('a client that changes the details of a model looks at each answer', { tags: 'slow' }, async () => {
  const describe =
    (isCareful: boolean): Run =>
    async context => {
      const set = async (details: object) => {
        for (let i = 0; i < 4; i++) {
          const { status } = await ask(context, 'POST', '/models/acme/assistant/meta', details)
          if (status === 200 || !isCareful) return
          await context.sleep(60_000)
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

test('a restarted client may put the lines that failed into a second batch', { tags: 'slow' }, async () => {
  const explain =
    (looks: boolean): Run =>
    async context => {
      const roundOf = async (round: string, words: readonly string[]) => {
        const { data } = await must<{ data: readonly Batch[] }>(context, 'GET', '/v1/batches')
        let batch = data.find(({ metadata }) => looks && metadata?.round === round)
        if (batch === undefined) {
          const id = await uploadLines(context, Object.fromEntries(words.map(word => [word, `Explain ${word}.`])))
          batch = await must<Batch>(context, 'POST', '/v1/batches', batchOf(id, { metadata: { round } }))
        }
        const { output_file_id } = await pollBatch(context, batch, 'completed')
        return (await rowsIn(context, output_file_id)).map(({ custom_id }) => custom_id)
      }
      const words = ['ebb', 'flood', 'slack', 'spring']
      const done = await roundOf('first', words)
      const left = words.filter(word => !done.includes(word))
      return [...done, ...(left.length > 0 ? await roundOf('second', left) : [])].sort()
    }
  const plan: Plan = [{ crash: 5 }, { fault: { ...failedLineOf(4), name: 'line' } }]
  expect(await brokenBy(explain(true), plan)).toEqual([])
  expect(await brokenBy(explain(false), plan)).toContain('idempotentRestart')
})

test('a sample of statuses may lack one that was passed, but a stale status is a loss', { tags: 'slow' }, async () => {
  const name = 'acme/stopwatch'
  const start = async (context: FlowContext) => {
    await ask(context, 'POST', '/deploy/llm', { model_name: name, gpu: 'L40S-48GB', hub: { repo: 'acme/chat-8b' } })
    const all = await must<Deployment[]>(context, 'GET', '/deploy/list')
    return all.find(({ model_name }) => model_name === name)!
  }
  const watch: Run = async context => {
    const seen: string[] = []
    const { deploy_id } = await start(context)
    while (seen.at(-1) !== 'running') {
      const { status } = await must<Deployment>(context, 'GET', `/deploy/${deploy_id}`)
      if (seen.at(-1) !== status) seen.push(status)
      await context.sleep(30_000)
    }
    return { deploy_id, seen }
  }
  const lost = (on: string) => [{ fault: { on, nth: 1, fault: { kind: 'hang', effect: 'done' } } }] satisfies Plan
  expect(await brokenBy(watch, lost('createLlmDeployment'))).toEqual([])
  const look =
    (isStopped: boolean): Run =>
    async context => {
      const { deploy_id, status } = await start(context)
      await context.sleep(3_600_000)
      if (isStopped) await must(context, 'POST', `/deploy/${deploy_id}/stop`)
      await context.sleep(60_000)
      const last = await ask(context, 'GET', `/deploy/${deploy_id}`)
      return { deploy_id, status: (last.value as Deployment | undefined)?.status ?? status }
    }
  for (const isStopped of [false, true])
    expect(await brokenBy(look(isStopped), lost('getDeployment'))).toEqual(['noSilentLoss'])
})

test('each of several readings of one amount counts, and a poll has only the last one', { tags: 'slow' }, async () => {
  const read = async (context: FlowContext) => {
    const usage = await ask(context, 'GET', '/payment/usage?from=2026.01')
    await context.sleep(usage.wait)
    return (usage.value as { months: [{ total_cost: number }] } | undefined)?.months[0].total_cost
  }
  const readDaily =
    (fallBack: (day: number, cents: number) => unknown, tries = 1): Run =>
    async context => {
      const days: unknown[] = []
      let cents = 0
      for (let day = 1; day <= 3; day++) {
        await context.sleep(86_400_000)
        let now: number | undefined
        for (let i = 0; i < tries && now === undefined; i++) now = await read(context)
        days.push(now === undefined ? fallBack(day, cents) : { day, cents: now })
        cents = now ?? cents
      }
      return days
    }
  const poll: Run = async context => {
    let cents = 0
    for (let day = 1; day <= 3; day++) {
      await context.sleep(86_400_000)
      cents = (await read(context)) ?? cents
    }
    return { cents }
  }
  const tell = (day: number) => ({ day, error: 'no answer' })
  const repeat = (day: number, cents: number) => ({ day, cents })
  const options = { fixtures: 'default' } as const
  for (const nth of [1, 2]) {
    const plan = [{ fault: { on: 'getUsage', nth, fault: status503 } }] satisfies Plan
    expect(await brokenBy(readDaily(tell), plan, options)).toEqual([])
    expect(await brokenBy(readDaily(repeat, 2), plan, options)).toEqual([])
    expect(await brokenBy(poll, plan, options)).toEqual([])
    expect(await brokenBy(readDaily(repeat), plan, options)).toEqual(['noSilentLoss'])
  }
})

test('a client that throws sets back the upper bound of an autoscaler', { tags: 'slow' }, async () => {
  const path = '/deploy/2cZeTxVFN7tKxCCh'
  const raise =
    (isCareful: boolean, reason = 'no answer'): Run =>
    async context => {
      const bound = (max_instances: number) =>
        must(context, 'PUT', path, { settings: { min_instances: 1, max_instances } })
      await bound(4)
      const { value } = await complete(context, MODELS[0], 'Plan')
      if (value === undefined && !isCareful) throw new Error(reason)
      await bound(2)
      if (value === undefined) throw new Error(reason)
      return value
    }
  const options = { fixtures: 'default' } as const
  const plan = [first503('createCompletion')]
  expect(await brokenBy(raise(true), plan, options)).toEqual([])
  expect(await brokenBy(raise(false, `${path} keeps its bounds`), plan, options)).toEqual([])
  expect(await brokenBy(raise(false), plan, options)).toEqual(['cleansUpOnThrow'])
})

test('a second batch of an earlier start is in place of the one that failed', { tags: 'slow' }, async () => {
  let failed = ''
  const explain: Run = async context => {
    for (const round of ['first', 'second']) {
      const { data } = await must<{ data: readonly Batch[] }>(context, 'GET', '/v1/batches')
      let batch = data.find(({ metadata }) => metadata?.round === round)
      if (batch === undefined) {
        const id = await uploadLines(context, { ebb: 'Explain ebb.' })
        batch = await must<Batch>(context, 'POST', '/v1/batches', batchOf(id, { metadata: { round } }))
        failed ||= batch.id
      }
      const { status, output_file_id } = await pollBatch(context, batch, 'completed', 'failed')
      if (status === 'failed') continue
      const [row] = await rowsIn(context, output_file_id)
      return row!.response.body.choices[0].text
    }
    return 'no answer'
  }
  expect(await brokenBy(explain, [])).toEqual([])
  const after = { kind: 'batch.created', subject: failed } as const
  const plan: Plan = [{ command: { verb: 'batch.fail', target: failed }, after, passes: false }, { crash: 8 }]
  expect(await brokenBy(explain, plan)).toEqual([])
})

describe('a client that deletes what was there before it', { tags: 'slow' }, () => {
  const ASSISTANT = '2cZeTxVFN7tKxCCh'
  const list = (context: FlowContext) => must<Deployment[]>(context, 'GET', '/deploy/list')
  const broken = (run: Run, plan: Plan, more: FlowOptions = {}) => brokenBy(run, plan, { fixtures: 'default', ...more })

  test('breaks doneAsSaid if it takes it for its own', async () => {
    /** Creates and deletes a deployment. If the create has no answer, it looks for its deployment in the list. */
    const tryOut =
      (isMine: (one: Deployment) => boolean, result: (id: string) => unknown): Run =>
      async context => {
        const body = { model_name: 'acme/tryout', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
        const { value } = await ask<Deployment>(context, 'POST', '/deploy/llm', body)
        const id = value?.deploy_id ?? (await list(context)).find(isMine)?.deploy_id
        if (id === undefined) throw new Error('No deployment was created')
        await must(context, 'DELETE', `/deploy/${id}`)
        return result(id)
      }
    const isOwn = (one: Deployment) => one.model_name === 'acme/tryout'
    const runs = (one: Deployment) => one.status === 'running'
    const done = () => 'tried'
    const plan = [first503('createLlmDeployment')]
    expect(await broken(tryOut(isOwn, done), plan)).toEqual([])
    expect(await broken(tryOut(runs, done), plan)).toEqual(['doneAsSaid'])
    const byId = (id: string) => ({ id })
    expect(await broken(tryOut(runs, byId), plan)).toEqual(['doneAsSaid'])
  })

  test('may delete what has failed, or say which one it deleted or how many', async () => {
    const reap =
      (isOld: (one: Deployment) => boolean, result: (ids: string[]) => unknown): Run =>
      async context => {
        const { status } = await ask(context, 'GET', '/v1/models')
        if (status !== 200) await context.sleep(600_000)
        const olds = (await list(context)).filter(one => status !== 200 && isOld(one))
        for (const { deploy_id } of olds) await must(context, 'DELETE', `/deploy/${deploy_id}`)
        await must(context, 'POST', '/v1/api-tokens', { name: 'reaped' })
        return result(olds.map(({ deploy_id }) => deploy_id))
      }
    const first = (one: Deployment) => one.deploy_id === ASSISTANT
    const plan = [first503('listServedModels')]
    const [asList, asCount] = [(ids: string[]) => ({ ids }), ({ length }: string[]) => ({ length })]
    const asText = ([id = 'nothing']: string[]) => `reaped ${id}`
    for (const tells of [asList, asCount, asText]) expect(await broken(reap(first, tells), plan)).toEqual([])
    const [silent, asRetries] = [() => 'reaped', ({ length }: string[]) => ({ retries: length })]
    for (const hides of [silent, asRetries]) expect(await broken(reap(first, hides), plan)).toEqual(['doneAsSaid'])
    expect(await broken(reap(first, silent), plan, { tells: () => true })).toEqual([])
    const isOver = ({ status }: Deployment) => status === 'failed' || status === 'stopped'
    for (const verb of ['deployment.fail', 'deployment.stop']) {
      const over = { command: { verb, target: ASSISTANT }, after: { kind: 'start' } } satisfies Plan[number]
      expect(await broken(reap(isOver, silent), [...plan, over])).toEqual([])
    }
  })

  test('breaks doneAsSaid if it takes what runs in place of what has failed', async () => {
    const clean =
      (usual: string): Run =>
      async context => {
        const read = (query: string) => ask<Deployment[]>(context, 'GET', `/deploy/list${query}`)
        const { value: found = [] } = await read(`?status=${usual}`)
        const others = (await list(context)).filter(({ status, type }) => status === 'running' && type === 'llm')
        const one = found.filter(({ type }) => type === 'llm').at(-1) ?? others[0]
        if (one !== undefined) await must(context, 'DELETE', `/deploy/${one.deploy_id}`)
        return 'cleaned'
      }
    const plan: Plan = [{ fault: { on: 'listDeployments', nth: 1, fault: { kind: 'status', status: 403 } } }]
    expect(await broken(clean('failed'), plan)).toEqual(['doneAsSaid'])
    expect(await broken(clean('running'), plan)).toEqual([])
  })

  test('may delete its own one to make it again', async () => {
    const renew: Run = async context => {
      const { status } = await ask(context, 'GET', '/v1/models')
      await must(context, 'POST', '/v1/api-tokens', { name: 'renewed' })
      if (status === 200) return 'served'
      const body = { model_name: 'acme/assistant', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
      await must(context, 'DELETE', `/deploy/${ASSISTANT}`)
      await must(context, 'POST', '/deploy/llm', body)
      return 'served'
    }
    expect(await broken(renew, [first503('listServedModels')])).not.toContain('doneAsSaid')
  })
})

test('a client that stores what it was answered stores it whole, or says in the file what is missing', {
  tags: 'slow',
}, async () => {
  type Read = (context: FlowContext) => Promise<string>
  const archive =
    (read: Read): Run =>
    async context => {
      const form = batchFile(await read(context), 'archive.jsonl')
      return { archived: (await must<{ filename: string }>(context, 'POST', '/v1/files', form)).filename }
    }
  const download: Read = async context =>
    (await sendTo(context, 'GET /v1/files/file_q7RmXc2VtPz9LbHdW4NsKyGe/content')).text()
  const isWhole = (text: string) => text.split('\n').every(line => line === '' || line.endsWith('}'))
  const orTells: Read = async context => {
    const text = await download(context)
    return text !== '' && isWhole(text) ? text : JSON.stringify({ error: 'no answer' })
  }
  const twice: Read = async context => {
    const text = await download(context)
    return text === '' ? download(context) : text
  }
  const rows =
    (row: (text: string | undefined) => object): Read =>
    async context => {
      const { value } = await complete(context, MODELS[0], 'Tide')
      return JSON.stringify({ prompt: 'Tide', ...row(value as string | undefined) })
    }
  const failing = [first503('createCompletion')]
  const careless = rows(text => ({ text: text ?? '', failed: false, error: null }))
  expect(await brokenBy(archive(careless), failing)).toEqual(['doneAsSaid'])
  const careful = rows(text => ({ text: text ?? null, ok: text !== undefined }))
  expect(await brokenBy(archive(careful), failing)).toEqual([])
  const options = { fixtures: 'default' } as const
  for (const kind of ['empty', 'garbled'] as const) {
    const plan = [{ fault: { on: 'getFileContent', nth: 1, fault: { kind } } }] satisfies Plan
    expect(await brokenBy(archive(download), plan, options)).toEqual(['doneAsSaid'])
    expect(await brokenBy(archive(orTells), plan, options)).toEqual([])
    if (kind === 'empty') expect(await brokenBy(archive(twice), plan, options)).toEqual([])
  }
})

test('a client that throws need not set back what it has deleted, or names', { tags: 'slow' }, async () => {
  const publish =
    (reason: string): Run =>
    async context => {
      const source = { type: 'modelhub', modelhub_url: 'https://models.example/acme/gulls' }
      const adapter = { base_model: 'acme/assistant', lora_name: 'gulls', private: true, source }
      const show = (isPublic: boolean) => must(context, 'POST', '/models/acme%2Fgulls/publicity', { public: isPublic })
      await must(context, 'POST', '/v1/lora/create', adapter)
      await context.sleep(60_000)
      await show(true)
      const { status } = await ask(context, 'GET', '/models/lora/list')
      if (status === 200) await show(false)
      if ((await ask(context, 'DELETE', '/v1/lora/gulls')).status !== 200) throw new Error(reason)
      if (status !== 200) throw new Error('no list')
      return 'tried'
    }
  const options = { fixtures: 'default' } as const
  const refused = first503('listLoraModels')
  expect(await brokenBy(publish('no list'), [refused], options)).toEqual([])
  const kept = [refused, first503('deleteLora')]
  expect(await brokenBy(publish('the adapter acme/gulls may be left'), kept, options)).toEqual([])
  expect(await brokenBy(publish('no list'), kept, options)).toContain('cleansUpOnThrow')
})

test('a machine that was never started need not be stopped', { tags: 'slow' }, async () => {
  const path = '/v1/hosted/inst_djvv7xQqcTZpad3Hiy2HQWs2'
  const runNightly =
    (stops: (state: string) => boolean): Run =>
    async context => {
      await ask(context, 'POST', `${path}/start`)
      await context.sleep(3_600_000)
      const { state } = await must<{ state: string }>(context, 'GET', path)
      if (stops(state)) await ask(context, 'POST', `${path}/stop`)
      return 'at rest'
    }
  const options = { fixtures: 'default' } as const
  const isCareful = (state: string) => state !== 'stopped'
  expect(await brokenBy(runNightly(isCareful), [first503('startHosted')], options)).toEqual([])
  expect(await brokenBy(runNightly(isCareful), [first503('stopHosted')], options)).toEqual(['doneAsSaid'])
})

test('a client that sets a description back says if it could not', { tags: 'slow' }, async () => {
  const borrow =
    (path: string, isCareful: boolean): Run =>
    async context => {
      const { description } = await must<{ description: string }>(context, 'GET', path)
      const describe = async (description: string) => {
        for (let tries = 0; tries < 3; tries++) {
          const { status, wait } = await ask(context, 'PATCH', path, { description })
          if (status === 200) return
          await context.sleep(wait || 1_000)
        }
        throw new Error(`${path} has another description than '${description}'`)
      }
      await describe('in use')
      await describe(description).catch((error: Error) => {
        if (isCareful) throw error
      })
      return 'restored'
    }
  const path = '/v1/lora/assistant-support-tone'
  const found = async (isCareful: boolean) =>
    (await findingsOf(borrow(path, isCareful), { fixtures: 'default' }, ['status503'])).invariants
  expect(await found(true)).toEqual([])
  expect(await found(false)).toEqual(['doneAsSaid'])
})

test('a client that starts again finds in a list that its work is done', async () => {
  type Voice = { voice_id: string; name: string }
  const rename =
    (done: (voice: string) => string): Run =>
    async context => {
      const { voices } = await must<{ voices: Voice[] }>(context, 'GET', '/v1/voices')
      const lines: string[] = []
      for (const { voice_id, name: old } of voices.slice(0, 2)) {
        const name = old.toUpperCase()
        const form = new FormData()
        form.set('name', name)
        if (old !== name) await must(context, 'POST', `/v1/voices/${voice_id}/edit`, form)
        const isNew = old !== name && (await must<Voice>(context, 'GET', `/v1/voices/${voice_id}`)).name === name
        lines.push(isNew ? `✓ ${old} → ${name}` : done(name))
      }
      return lines
    }
  const broken = (done: (voice: string) => string, crash: number) =>
    brokenBy(rename(done), [{ crash }], { fixtures: 'default' })
  for (const crash of [4, 5]) {
    expect(await broken(name => `= ${name}`, crash)).toEqual([])
    expect(await broken(() => '', crash)).toEqual(['noSilentLoss'])
    expect(await broken(name => `${name} →`, crash)).toEqual(['noSilentLoss'])
  }
})

test('a client that cancels a batch too late reads how it ended', { tags: 'slow' }, async () => {
  type Listed = { id: string; status: string; metadata: { team?: string }; request_counts: { completed: number } }
  const cancel =
    (isCareful: boolean): Run =>
    async context => {
      let list = await ask<{ data: Listed[] }>(context, 'GET', '/v1/batches')
      for (; list.value === undefined; await context.sleep(30_000)) list = await ask(context, 'GET', '/v1/batches')
      const { id } = list.value.data.find(({ metadata }) => metadata.team === 'shop')!
      const { value, status } = await ask<Listed>(context, 'POST', `/v1/batches/${id}/cancel`)
      let batch = value
      while (batch === undefined ? isCareful : batch.status === 'cancelling') {
        await context.sleep(status === 200 ? 30_000 : 1_000)
        batch = await must<Listed>(context, 'GET', `/v1/batches/${id}`)
      }
      return { shop: batch && `${id}: ${batch.status}, ${batch.request_counts.completed} lines done` }
    }
  const plan: Plan = [{ fault: { on: 'listBatches', nth: 1, fault: { kind: 'hang' } } }]
  expect(await brokenBy(cancel(true), plan, { fixtures: 'default' })).toEqual([])
  expect(await brokenBy(cancel(false), plan, { fixtures: 'default' })).toEqual(['noSilentLoss', 'doneAsSaid'])
})

test('a client that starts again counts what it deletes itself', { tags: 'slow' }, async () => {
  type Stored = { id: string; filename: string; bytes: number }
  const prune =
    (isCareful: boolean): Run =>
    async context => {
      const { data } = await must<{ data: Stored[] }>(context, 'GET', '/v1/files?purpose=batch_output')
      const stats = { freed: 0, removed: [] as string[] }
      for (const { id, filename, bytes } of data.toReversed()) {
        let { status, wait } = await ask(context, 'DELETE', `/v1/files/${id}`)
        const isFirst = status === 200
        for (; status === 503; { status, wait } = await ask(context, 'DELETE', `/v1/files/${id}`))
          await context.sleep(wait)
        if (isFirst || isCareful) stats.freed += bytes
        if (isFirst || isCareful) stats.removed.push(filename)
      }
      return stats
    }
  const lastAnswer = { fault: { on: 'deleteFile', nth: 2, fault: { ...status503, effect: 'done' } } } as const
  const broken = async (isCareful: boolean, plan: Plan) => {
    const runner = runnerOf(prune(isCareful), { fixtures: 'default' })
    await runner.run([])
    Object.assign(runner.learned ?? {}, { isSettled: true })
    return (await runner.run(plan)).broken.map(({ invariant }) => invariant)
  }
  expect(await broken(true, [{ crash: 2 }, lastAnswer])).toEqual([])
  expect(await broken(false, [{ fault: { ...lastAnswer.fault, nth: 1 } }])).toEqual(['noSilentLoss'])
})
