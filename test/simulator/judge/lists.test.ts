/** Clients that read lists and files, cancel, and add words to their queries: what counts as a read of which thing. */
import { describe, expect, test } from 'vitest'
import type { SimulatorOptions } from '../../../src/index.ts'
import type { ConductRuleName } from '../../../src/simulator/judge/rules/conduct/index.ts'
import { createBatch } from './clients.ts'
import { type JudgedClient, type JudgedContext, NEW, runClients } from './judged.ts'

const ENDS = ['completed', 'failed', 'expired', 'cancelled']

/** Returns the words of what a client broke, with the names of the rules. */
async function findingsOf(client: JudgedClient, options?: SimulatorOptions): Promise<string[]> {
  const sim = await runClients([client], options)
  return sim.judge().findings.map(({ rule, words }) => `${rule}: ${words}`)
}

async function wordsOf(rule: ConductRuleName, client: JudgedClient, options?: SimulatorOptions): Promise<string[]> {
  const found = await findingsOf(client, options)
  return found.filter(words => words.startsWith(`${rule}: `))
}

async function createBatches(context: JudgedContext, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push(await createBatch(context))
  return ids
}

/** Creates batches, and reads a list every 15 s until each batch in it has ended. */
const pollingList =
  (batches: number, path: string): JudgedClient =>
  async context => {
    await createBatches(context, batches)
    for (;;) {
      await context.sleep(15_000)
      const { body } = await context.send('GET', path)
      if (body.data.every(({ status }: { status: string }) => ENDS.includes(status))) return
    }
  }

describe('readsEnd', () => {
  test('is kept by a client that polls its six batches with the list', async () => {
    expect(await findingsOf(pollingList(6, '/v1/batches'))).toEqual([])
    expect(await findingsOf(pollingList(1, '/v1/batches/?limit=1'))).toEqual([])
  })

  test('is broken if the page of the list has only some of the batches', async () => {
    const found = await wordsOf('readsEnd', async context => {
      const [, second] = await createBatches(context, 3)
      await context.sleep(600_000)
      await context.send('GET', '/v1/batches?limit=1')
      await context.send('GET', `/v1/batches?limit=1&after=${second}`)
    })
    expect(found).toEqual([expect.stringMatching(/\(completed\) ended .+ It never polled it after request \d+ \(cr/)])
  })

  test('takes a page of a list to have 20 batches, unless a parameter that it does not know may say more', {
    tags: 'slow',
  }, async () => {
    const listing =
      (query: string): JudgedClient =>
      async context => {
        await createBatches(context, 21)
        await context.sleep(600_000)
        await context.send('GET', `/v1/batches${query}`)
      }
    expect(await wordsOf('readsEnd', listing(''))).toHaveLength(1)
    expect(await wordsOf('readsEnd', listing('?limit=21'))).toEqual([])
    const names = { fields: { limit: 'size' } }
    expect(await wordsOf('readsEnd', listing('?size=21'), { names })).toEqual([])
  })

  test('counts the batches that a page had when it was read, not later ones', async () => {
    const found = await wordsOf('readsEnd', async context => {
      await createBatches(context, 1)
      await context.sleep(600_000)
      await context.send('GET', '/v1/batches?limit=1')
      await createBatches(context, 1)
    })
    expect(found).toEqual([])
  })

  test('is broken by a list that was read only before the end', async () => {
    const found = await wordsOf('readsEnd', async context => {
      await createBatches(context, 1)
      await context.send('GET', '/v1/batches')
      await context.sleep(600_000)
    })
    expect(found).toEqual([expect.stringMatching(/Its last poll was request \d+ \(listBatches, 200\), sent 0s after/)])
  })

  test.each([
    ['truncated', { kind: 'truncated' }],
    ['stale', { kind: 'stale', lag: '1h', reads: 'all' }],
  ] as const)('is broken if the list with the end is %s', async (_, fault) => {
    const options: SimulatorOptions = { faults: [{ on: 'listBatches', fault }] }
    const found = await wordsOf(
      'readsEnd',
      async context => {
        await createBatches(context, 1)
        await context.sleep(600_000)
        await context.send('GET', '/v1/batches')
      },
      options,
    )
    expect(found).toHaveLength(1)
  })

  test.each([
    ['keeps', 'batch_output'],
    ['breaks', 'batch'],
  ])('a client that reads a batch early, and later %s it with files of the purpose %s', async (verb, purpose) => {
    const found = await wordsOf('readsEnd', async context => {
      const [id] = await createBatches(context, 1)
      await context.send('GET', `/v1/batches/${id}`)
      await context.sleep(600_000)
      const { body } = await context.send('GET', `/v1/files?purpose=${purpose}`)
      for (const file of body.data) await context.send('GET', `/v1/files/${file.id}/content`)
    })
    expect(found).toHaveLength(verb === 'keeps' ? 0 : 1)
  })

  /** Reads a deployment once, then a list, and goes on until the account has ended the deployment. */
  const listing =
    (path: string): JudgedClient =>
    async ({ send, sleep, sim }) => {
      const { body } = await send('POST', '/deploy/llm', NEW)
      await send('GET', `/deploy/${body.deploy_id}`)
      await sleep(900_000)
      await send('GET', path)
      sim.funds.set(0)
      await sleep(60 * 3_600_000)
    }

  test('is kept by a client that has seen its deployment run in the list', async () => {
    expect(await wordsOf('readsEnd', listing('/deploy/list'))).toEqual([])
    expect(await wordsOf('readsEnd', listing('/deploy/list?status=deploying,%20running'))).toEqual([])
  })

  test('is broken if the list was asked for other statuses', async () => {
    expect(await wordsOf('readsEnd', listing('/deploy/list?status=initializing,failed'))).toEqual([
      expect.stringMatching(/\(stopped\) ended .+ Its last poll was request \d+ \(getDeployment, 200\), sent 0s/),
    ])
  })

  test('is kept by a client that reads the failure of its deployment in the list', async () => {
    const failing =
      (path: string): JudgedClient =>
      async ({ send, sleep }) => {
        const { body } = await send('POST', '/deploy/llm', { ...NEW, extra_args: ['--no-such-flag'] })
        await send('GET', `/deploy/${body.deploy_id}`)
        await sleep(3 * 3_600_000)
        await send('GET', path)
      }
    expect(await wordsOf('readsEnd', failing('/deploy/list'))).toEqual([])
    expect(await wordsOf('readsEnd', failing('/deploy/list?status=running'))).toHaveLength(1)
  })
})

describe('leavesNothingRunning', () => {
  const cancelling: JudgedClient = async context => {
    const [first] = await createBatches(context, 1)
    await context.sleep(5_000)
    await context.send('POST', `/v1/batches/${first}/cancel`)
  }

  test('is kept by a client whose cancel was accepted', async () => {
    expect(await findingsOf(cancelling)).toEqual([])
  })

  test('is broken if the cancel was refused', async () => {
    const options: SimulatorOptions = { faults: [{ on: 'cancelBatch', fault: { kind: 'status', status: 500 } }] }
    expect(await wordsOf('leavesNothingRunning', cancelling, options)).toEqual([
      expect.stringMatching(
        /\(in_progress\) goes on: .+ The last request about it was request \d+ \(cancelBatch, 500\)/,
      ),
    ])
  })

  test('is broken by the batch that the client did not cancel', async () => {
    const found = await wordsOf('leavesNothingRunning', async context => {
      await createBatches(context, 1)
      await cancelling(context)
    })
    expect(found).toEqual([expect.stringContaining('No later request names its id.')])
  })

  const renting =
    (isDeleted: boolean): JudgedClient =>
    async ({ send, sleep }) => {
      const image = 'registry.example/cuda-dev:12.8'
      const spec = {
        name: 'trial',
        gpu_config: '1xL4-24GB',
        container_image: image,
        cloud_init_user_data: '#cloud-config',
      }
      const { body } = await send('POST', '/v1/containers', spec)
      await sleep(1_800_000)
      if (isDeleted) await send('DELETE', `/v1/containers/${body.container_id}`)
    }

  test('is kept by a deployment that is parked, which costs nothing', async () => {
    const parking =
      (maxInstances: number): JudgedClient =>
      async ({ send, sleep }) => {
        const spec = { model_name: 'trial', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
        const { body } = await send('POST', '/deploy/llm', spec)
        await sleep(1_800_000)
        await send('PUT', `/deploy/${body.deploy_id}`, {
          settings: { min_instances: 0, max_instances: maxInstances },
        })
      }
    expect(await wordsOf('leavesNothingRunning', parking(1))).toHaveLength(1)
    expect(await wordsOf('leavesNothingRunning', parking(0))).toEqual([])
  })

  test('is kept by a container that shuts down', async () => {
    expect(await wordsOf('leavesNothingRunning', renting(false))).toHaveLength(1)
    expect(await wordsOf('leavesNothingRunning', renting(true))).toEqual([])
  })
})

describe('usesLists and pollsAtMost', () => {
  /** Reads paths in turn, `times` in all, with a pause in milliseconds. */
  const reading =
    (times: number, pause: number, ...paths: readonly ((id: string, i: number) => string)[]): JudgedClient =>
    async context => {
      const [id] = await createBatches(context, 1)
      await context.sleep(600_000)
      for (let i = 0; i < times; i++) {
        await context.send('GET', paths[i % paths.length]!(id!, i))
        await context.sleep(pause)
      }
    }
  const noisy = (id: string, i: number) => `/v1/batches/${id}?_=${i}`

  test('one thing with changing queries is one thing', async () => {
    expect(await wordsOf('usesLists', reading(8, 1_100, noisy))).toEqual([])
    expect(await wordsOf('pollsAtMost', reading(8, 1_100, noisy))).toEqual([])
  })

  test('things with queries are many things', async () => {
    const found = await wordsOf('usesLists', async context => {
      const ids = await createBatches(context, 5)
      for (const id of ids) await context.send('GET', `/v1/batches/${id}?_=1`)
      for (const id of ids) await context.send('GET', `/v1/batches/${id}/?_=2`)
    })
    expect(found).toEqual([expect.stringMatching(/^usesLists: The client read 5 things one by one with getBatch/)])
  })

  test.each([
    ['changing queries', [noisy]],
    ['a slash at the end', [(id: string) => `/v1/batches/${id}`, (id: string) => `/v1/batches/${id}/`]],
    ['escapes', [(id: string) => `/v1/batches/${id}`, (id: string) => `/v1/batches/${id.replace('_', '%5F')}`]],
    ['queries in another order', [() => '/v1/batches?limit=1&_=1', () => '/v1/batches?_=1&limit=1']],
  ])('fast polls of one thing with %s are polls of one thing', { tags: 'slow' }, async (_, paths) => {
    expect(await wordsOf('pollsAtMost', reading(20, 500, ...paths))).toEqual([
      expect.stringMatching(/^pollsAtMost: The client read \/v1\/batches(?:\/batch_\w+|\?limit=1) \d+ times within/),
    ])
  })

  test('the pages of a list are different things, unless nothing reads the parameter', async () => {
    const pages = (name: string) => reading(8, 0, (_, i) => `/v1/batches?${name}=${i + 1}`)
    expect(await wordsOf('pollsAtMost', pages('limit'))).toEqual([])
    expect(await wordsOf('pollsAtMost', pages('page'))).toHaveLength(1)
  })
})

describe('waits for a model that starts', () => {
  const waiting =
    (pauseAfter: (pause: number) => number): JudgedClient =>
    async ({ send, sleep }) => {
      const { body } = await send('POST', '/deploy/llm', NEW)
      let pause = 2_000
      while ((await send('POST', '/v1/inference/acme/new', { input: 'Tea.' })).status === 423) {
        await sleep(pause)
        pause = pauseAfter(pause)
      }
      await send('DELETE', `/deploy/${body.deploy_id}`)
    }

  test('with pauses that grow keep all rules', async () => {
    expect(await findingsOf(waiting(pause => Math.min(2 * pause, 30_000)))).toEqual([])
  })

  test('with equal pauses break backsOff alone', async () => {
    expect(await findingsOf(waiting(pause => pause))).toEqual([
      expect.stringMatching(/^backsOff: Request \d+ \(createInference, 423\) .+ with equal pauses of 2s\./),
    ])
  })

  test('for a model that does not exist break noRepeatedRefusal', async () => {
    const found = await wordsOf('noRepeatedRefusal', async ({ send, sleep }) => {
      for (const pause of [2_000, 4_000, 8_000]) {
        await send('POST', '/v1/inference/acme/none', { input: 'Tea.' })
        await sleep(pause)
      }
    })
    expect(found).toEqual([expect.stringMatching(/\(createInference, 404\).+ was refused/)])
  })
})
