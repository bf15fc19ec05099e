/** noDouble and idempotentRestart: work is done once, also after a lost answer or a crash. */
import { describe, expect, test } from 'vitest'
import type { Simulator } from '../../../../src/simulator/simulator-interface.ts'
import { awaitBatch, call, createBatch, MODEL, onlyWords, upload, violationsOf } from '../../clients.ts'
import { type Client, observe } from '../../observe.ts'

const QUESTIONS = ['How is tea made?']

describe('noDouble', () => {
  /** Creates again after a failure, without a look. Each upload has another id. */
  const careless: Client = async context => {
    const run = async () => awaitBatch(context, await createBatch(context, await upload(context, QUESTIONS)))
    return run().catch(run)
  }
  const lost = [{ on: 'createBatch', nth: 1, fault: { kind: 'reset', effect: 'done' } }] as const

  test('a create that is repeated after its answer was lost breaks it', async () => {
    const base = await observe(careless)
    expect(violationsOf('noDouble', base)).toEqual([])
    const observation = await observe(careless, { base, faults: lost })
    const [first, second] = observation.created.map(({ id }) => id)
    expect(onlyWords('noDouble', observation)).toMatch(
      new RegExp(
        `^Equal creates took effect 2 times: ${first} and ${second}\\. Request 2 \\(createBatch, connection failed\\) ` +
          'created the first batch, and request 4 \\(createBatch, 200\\) another one .+ after the start, for .+ so far\\.$',
      ),
    )
    expect(violationsOf('noDouble', observation)[0]).toMatchObject({ operation: 'createBatch', subject: second })
  })

  test('a batch that is cancelled before it is charged does not count', async () => {
    const base = await observe(careless)
    const tidy: Client = async context => {
      const run = async () => createBatch(context, await upload(context, QUESTIONS))
      const id = await run().catch(async () => {
        const { data } = await call(context, 'GET', '/v1/batches')
        await call(context, 'POST', `/v1/batches/${data[0].id}/cancel`)
        return run()
      })
      return awaitBatch(context, id)
    }
    expect(violationsOf('noDouble', await observe(tidy, { base, faults: lost }))).toEqual([])
  })

  test('deployments of the same work under two names count, those of the base run do not', async () => {
    const twoNames: Client = async context => {
      const deploy = (model_name: string) => call(context, 'POST', '/deploy/llm', { ...MODEL, model_name })
      return [await deploy('acme/one').catch(() => deploy('acme/two'))]
    }
    const base = await observe(twoNames)
    const faults = [{ on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } }] as const
    const observation = await observe(twoNames, { base, faults })
    expect(onlyWords('noDouble', observation)).toContain('Equal creates took effect 2 times')
    const both: Client = async context =>
      Promise.all(['a', 'b'].map(n => call(context, 'POST', '/deploy/llm', { ...MODEL, model_name: `acme/${n}` })))
    expect(violationsOf('noDouble', await observe(both, { base: await observe(both) }))).toEqual([])
  })
})

describe('idempotentRestart', () => {
  const forgetful: Client = async context =>
    awaitBatch(context, await createBatch(context, await upload(context, QUESTIONS)))
  const mindful: Client = async context => {
    const { data } = await call(context, 'GET', '/v1/batches')
    const id = data[0]?.id ?? (await createBatch(context, await upload(context, QUESTIONS)))
    return awaitBatch(context, id)
  }

  test('a client that looks for its batch continues it', { tags: 'slow' }, async () => {
    const base = await observe(mindful)
    for (let crash = 1; crash <= base.requests.length; crash++) {
      const observation = await observe(mindful, { base, crash })
      expect(observation.crashes).toBe(1)
      expect(violationsOf('idempotentRestart', observation)).toEqual([])
    }
  })

  test('a client that starts from the beginning does the work twice', async () => {
    const base = await observe(forgetful)
    const observation = await observe(forgetful, { base, crash: 2 })
    const [first, second] = observation.created.map(({ id }) => id)
    expect(onlyWords('idempotentRestart', observation)).toMatch(
      new RegExp(
        `^The batch ${first} \\(\\w+\\) was created by request 2 \\(createBatch, no answer\\) before the crash, 0s after the ` +
          `first start\\. The restarted client created ${second} by request 4 \\(createBatch, 200\\)\\. The batch has cost`,
      ),
    )
    expect(violationsOf('noLeak', observation)).toEqual([])
    expect(violationsOf('noDouble', observation)).toEqual([])
  })

  test('a client that cannot start again ends otherwise than in the base run', async () => {
    const client: Client = async context => call(context, 'POST', '/deploy/llm', MODEL)
    const observation = await observe(client, { base: await observe(client), crash: 1 })
    const words = violationsOf('idempotentRestart', observation).map(violation => violation.words)
    expect(words).toHaveLength(2)
    expect(words[0]).toContain('The restarted client did not take it over.')
    expect(words[1]).toBe(
      "Without faults, the client returns. After the crash and a new start it threw 'POST /deploy/llm: 409'; it had " +
        'been refused request 2 (createLlmDeployment, 409).',
    )
  })

  test('a restarted client that cannot stop what it took over, and says so, has not forgotten it', async () => {
    const order = { name: 'bench', plan_id: 'small' }
    const client: Client = async context => {
      const [known] = await call(context, 'GET', '/v1/hosted')
      const id = known?.id ?? (await call(context, 'POST', '/v1/hosted', order)).instance_id
      await context.sleep(60_000)
      await call(context, 'GET', `/v1/hosted/${id}`)
      await call(context, 'POST', `/v1/hosted/${id}/stop`, {}).catch(() => {
        throw new Error(`cannot stop ${id}`)
      })
      return 'stopped'
    }
    const faults = [{ on: 'stopHosted', times: 1, fault: { kind: 'status', status: 403 } }] as const
    const observation = await observe(client, { base: await observe(client), crash: 3, faults })
    expect(observation).toMatchObject({ crashes: 1, end: { kind: 'threw' }, created: [{ isAlive: true }] })
    expect(violationsOf('idempotentRestart', observation)).toEqual([])
  })

  /** Takes over its deployment, asks one question, and deletes it, unless `keeps` or the question fails. */
  const asking =
    (keeps: (starts: number) => boolean): Client =>
    async context => {
      const known = await call(context, 'GET', '/deploy/list')
      const { deploy_id } = known[0] ?? (await call(context, 'POST', '/deploy/llm', MODEL))
      for (;;) {
        const { status } = await call(context, 'GET', `/deploy/${deploy_id}`)
        if (status === 'running') break
        await context.sleep(20_000)
      }
      const messages = [{ role: 'user', content: 'Why?' }]
      const answer = await call(context, 'POST', '/v1/chat/completions', { model: MODEL.model_name, messages })
      if (!keeps(known.length)) await call(context, 'DELETE', `/deploy/${deploy_id}`)
      return answer.choices[0].message.content
    }

  test('a restarted client that used a deployment, and threw without deleting it, is a case of cleansUpOnThrow', async () => {
    const client = asking(() => false)
    const faults = [{ on: 'createChatCompletion', nth: 1, fault: { kind: 'status', status: 503 } }] as const
    const observation = await observe(client, { base: await observe(client), crash: 3, faults })
    expect(observation).toMatchObject({ crashes: 1, end: { kind: 'threw' }, created: [{ status: 'running' }] })
    expect(violationsOf('idempotentRestart', observation)).toEqual([])
    expect(violationsOf('cleansUpOnThrow', observation)).toHaveLength(1)
  })

  test('of a restarted client that used a deployment and kept it, the words say so', async () => {
    const observation = await observe(
      asking(known => known > 0),
      { base: await observe(asking(() => false)), crash: 3 },
    )
    expect(observation).toMatchObject({ crashes: 1, end: { kind: 'returned' }, created: [{ status: 'running' }] })
    expect(onlyWords('idempotentRestart', observation)).toContain(
      ' The restarted client had read its id, and did not end it. The deployment has cost',
    )
  })

  test('a restarted client whose first start had given up may give up, too', async () => {
    const client: Client = async context => {
      const { data } = await call(context, 'GET', '/v1/batches')
      const id = data[0]?.id ?? (await createBatch(context, await upload(context, QUESTIONS)))
      try {
        const { status } = await call(context, 'GET', `/v1/batches/${id}`)
        if (status === 'cancelled' || status === 'cancelling') throw new Error('the batch is cancelled')
      } catch (error) {
        if (data.length > 0) throw error
        await call(context, 'POST', `/v1/batches/${id}/cancel`)
        await call(context, 'GET', '/v1/models')
        throw error
      }
      return awaitBatch(context, id)
    }
    const faults = [{ on: 'getBatch', nth: 1, fault: { kind: 'status', status: 403 } }] as const
    const base = await observe(client)
    const observation = await observe(client, { base, crash: 6, faults })
    expect(observation).toMatchObject({ crashes: 1, end: { kind: 'threw' }, created: [{ status: 'cancelled' }] })
    expect(violationsOf('idempotentRestart', observation)).toEqual([])
  })

  test('after a failure of the world, a restarted client may end otherwise', async () => {
    const client: Client = async context => call(context, 'POST', '/deploy/llm', MODEL)
    const prepare = (sim: Simulator) => void sim.cluster.hub.down()
    const observation = await observe(client, { base: await observe(client), crash: 1, prepare })
    expect(observation.end.kind).toBe('threw')
    expect(onlyWords('idempotentRestart', observation)).toContain('The restarted client did not take it over.')
  })

  test.each(['expire', 'fail', 'cancel', 'stall'] as const)(
    'a restarted client may end otherwise if its batch got another end: %s',
    { tags: 'slow' },
    async end => {
      const client: Client = async context => {
        const { data } = await call(context, 'GET', '/v1/batches')
        const id = data[0]?.id ?? (await createBatch(context, await upload(context, QUESTIONS)))
        // As another user of the account, or an operator of the service, does it.
        if (data.length > 0) context.sim.cluster.batch(id)[end]()
        for (;;) {
          const { status } = await call(context, 'GET', `/v1/batches/${id}`)
          if (status === 'completed') return id
          if (['expired', 'failed', 'cancelled'].includes(status)) throw new Error(`batch ${id}: ${status}`)
          await context.sleep(600_000)
        }
      }
      const observation = await observe(client, { base: await observe(client), crash: 3 })
      expect(observation).toMatchObject({ crashes: 1, end: { kind: 'threw' } })
      expect(violationsOf('idempotentRestart', observation)).toEqual([])
    },
  )

  test('after another user lowered a limit, a restarted client may end otherwise, but still takes over what it has', async () => {
    const client: Client = async context => call(context, 'POST', '/deploy/llm', MODEL)
    const prepare = (sim: Simulator) => void sim.cluster.limit.set('L4-24GB', 0)
    const observation = await observe(client, { base: await observe(client), crash: 1, prepare })
    expect(observation.end.kind).toBe('threw')
    expect(onlyWords('idempotentRestart', observation)).toContain('The restarted client did not take it over.')
  })
})
