/** noLeak and cleansUpOnThrow: each thing that a client leaves behind is reported by one of them. */
import { expect, test } from 'vitest'
import { SECOND } from '../../../../src/kernel/duration.ts'
import type { FaultRule } from '../../../../src/simulator/faults/rules.ts'
import { awaitBatch, call, createBatch, MODEL, onlyWords, upload, violationsOf } from '../../clients.ts'
import { type Client, observe } from '../../observe.ts'

const deployAndReturn: Client = async context => {
  const { deploy_id } = await call(context, 'POST', '/deploy/llm', MODEL)
  return { deploy_id }
}

test('a deployment that the result names is not a leak', async () => {
  const observation = await observe(deployAndReturn)
  expect(observation.created).toMatchObject([{ kind: 'deployment', isAlive: true }])
  expect(violationsOf('noLeak', observation)).toEqual([])
  expect(violationsOf('cleansUpOnThrow', observation)).toEqual([])
})

test('a deployment that the result does not name is a leak, with its id, cost and time', async () => {
  const observation = await observe(
    async context => {
      await context.sleep(90_000)
      await call(context, 'POST', '/deploy/llm', MODEL)
      return 'deployed'
    },
    { recovery: '1h' },
  )
  const id = observation.created[0]!.id
  expect(onlyWords('noLeak', observation)).toMatch(
    new RegExp(
      `^The deployment ${id} \\(running\\) goes on: \\$\\d+\\.\\d\\d until the run was judged, 1h after the client ended, \\$[\\d.]+ a day from there\\. Request 1 \\(createLlmDeployment, 200\\) ` +
        'created it 1m 30s after the start\\. The client returned without naming it in its result\\.$',
    ),
  )
  const [violation] = violationsOf('noLeak', observation)
  expect(violation).toMatchObject({ operation: 'createLlmDeployment', subject: id })
  const kinds = violation!.evidence.map(({ kind }) => kind)
  expect(new Set(kinds)).toEqual(new Set(['request', 'entry', 'posting']))
})

test('a deployment whose id the client never read is a leak, also if the client threw', async () => {
  const observation = await observe(deployAndReturn, {
    faults: [{ on: 'createLlmDeployment', fault: { kind: 'reset', effect: 'done' } }],
  })
  expect(observation.end.kind).toBe('threw')
  expect(onlyWords('noLeak', observation)).toMatch(/The client threw without having read its id\.$/)
  expect(violationsOf('cleansUpOnThrow', observation)).toEqual([])
})

const waitWithoutCleanup: Client = async context => {
  const { deploy_id } = await call(context, 'POST', '/deploy/llm', MODEL)
  await call(context, 'GET', `/deploy/${deploy_id}`).catch(() => {
    throw new Error('the poll failed')
  })
  return { deploy_id }
}

const FAILING_POLL = { on: 'getDeployment', fault: { kind: 'status', status: 503 } } as const

test('a client that throws and knew the id did not clean up, which is not a second leak', async () => {
  const observation = await observe(waitWithoutCleanup, { faults: [FAILING_POLL] })
  const id = observation.created[0]!.id
  expect(onlyWords('cleansUpOnThrow', observation)).toMatch(
    new RegExp(
      `^The client threw 'the poll failed' after 0s and did not delete what it had created\\. The deployment ${id} \\(\\w+\\) has ` +
        'cost \\$\\d+\\.\\d+ until the run was judged, 15m after the client ended, \\$[\\d.]+ a day from there, and the error does not name it\\. Its last request about it was request 2 ' +
        '\\(getDeployment, 503\\)\\.$',
    ),
  )
  expect(violationsOf('noLeak', observation)).toEqual([])
})

test('an error that names the id hands the deployment over', async () => {
  const client: Client = async context => {
    const { deploy_id } = await call(context, 'POST', '/deploy/llm', MODEL)
    throw Object.assign(new Error('gave up'), { deploy_id })
  }
  expect(violationsOf('cleansUpOnThrow', await observe(client))).toEqual([])
})

test('a client that deletes its deployment before it throws has cleaned up', async () => {
  const client: Client = async context => {
    const { deploy_id } = await call(context, 'POST', '/deploy/llm', MODEL)
    await call(context, 'DELETE', `/deploy/${deploy_id}`)
    throw new Error('gave up')
  }
  expect(violationsOf('cleansUpOnThrow', await observe(client))).toEqual([])
})

test('a charged batch whose end was not read is left behind; one whose end was read is not', async () => {
  const start: Client = async context => {
    await createBatch(context, await upload(context, ['How is tea made?']))
    return 'later'
  }
  const left = await observe(start, { recovery: '26h' })
  expect(left.created[0]).toMatchObject({ status: 'completed', isAlive: false })
  expect(onlyWords('noLeak', left)).toMatch(/^The batch \S+ \(completed\) was charged, and its end was not read: /)
  const read = await observe(async context => {
    await awaitBatch(context, await createBatch(context, await upload(context, ['How is tea made?'])))
    return 'done'
  })
  expect(violationsOf('noLeak', read)).toEqual([])
})

test('while a client waits, what it knows is not a leak, but what it does not know is', async () => {
  const create = (fault: FaultRule[]) =>
    observe(
      async context => {
        await call(context, 'POST', '/deploy/llm', MODEL).catch(() => undefined)
        await call(context, 'GET', '/v1/models')
      },
      { faults: [{ on: 'GET /v1/models', fault: { kind: 'hang' } }, ...fault], settings: { settles: 60 * SECOND } },
    )
  const known = await create([])
  expect(violationsOf('noLeak', known)).toEqual([])
  expect(onlyWords('settles', known)).toContain(`Meanwhile ${known.created[0]!.id} cost $`)
  const unknown = await create([{ on: 'createLlmDeployment', fault: { kind: 'reset', effect: 'done' } }])
  expect(onlyWords('noLeak', unknown)).toMatch(/The client waits without having read its id\.$/)
})

/** The deployment acme/assistant and the hosted instance nightly-evaluation, which is stopped. */
const [ASSISTANT, MACHINE] = ['2cZeTxVFN7tKxCCh', 'inst_djvv7xQqcTZpad3Hiy2HQWs2']
const FAILING_CHAT = { on: 'createChatCompletion', fault: { kind: 'status', status: 503 } } as const

/** Changes something for one chat, and changes it back behind it, or also if the chat fails. */
const around =
  (change: Client, back: Client, isCareful: boolean, error = 'no answer'): Client =>
  async context => {
    await change(context)
    try {
      const body = { model: 'acme/assistant', max_tokens: 3, messages: [{ role: 'user', content: 'Hello' }] }
      await call(context, 'POST', '/v1/chat/completions', body)
    } catch (cause) {
      if (isCareful) await back(context)
      throw new Error(error, { cause })
    }
    await back(context)
    return 'done'
  }
const resize =
  (min: number, max = 2, id = ASSISTANT): Client =>
  context =>
    call(context, 'PUT', `/deploy/${id}`, { settings: { min_instances: min, max_instances: max } })
const order =
  (verb: string): Client =>
  async context => {
    await call(context, 'POST', `/v1/hosted/${MACHINE}/${verb}`)
    await context.sleep(600_000)
  }

async function wordsOfThrow(change: Client, back: Client, isCareful = false, error?: string): Promise<string[]> {
  const client = around(change, back, isCareful, error)
  const base = await observe(client, { fixtures: 'default' })
  expect(base.end).toEqual({ kind: 'returned', result: 'done' })
  const observation = await observe(client, { fixtures: 'default', faults: [FAILING_CHAT], base })
  expect(observation.end.kind).toBe('threw')
  expect(violationsOf('noLeak', observation)).toEqual([])
  return violationsOf('cleansUpOnThrow', observation).map(({ words }) => words)
}

test('a client that throws and leaves raised what it sets back without faults has not cleaned up', {
  tags: 'slow',
}, async () => {
  expect(await wordsOfThrow(resize(2), resize(1))).toEqual([
    "The client threw 'no answer' after 0s and did not set back what it had raised. 2cZeTxVFN7tKxCCh costs $8.80 an " +
      'hour in place of $4.40, and the error does not name it. Its last request about it was request 1 ' +
      '(updateDeployment, 200).',
  ])
  expect(await wordsOfThrow(order('start'), order('stop'))).toEqual([
    expect.stringMatching(/inst_\w+ costs \$\S+ an hour in place of \$0\.00, .* was request 1 \(startHosted, 200\)\.$/),
  ])
})

test.each<[string, Client, Client, boolean?, string?]>([
  ['sets it back', resize(2), resize(1), true],
  ['stops it again', order('start'), order('stop'), true],
  ['names its id', resize(2), resize(1), false, `no answer, and ${ASSISTANT} has two instances`],
  ['names its model', resize(2), resize(1), false, 'no answer, and acme/assistant has two instances'],
  ['leaves it raised without faults, too', resize(1), resize(2)],
  ['lowers what it raises without faults', resize(1, 1), resize(1, 2)],
])('a client that throws and %s has cleaned up', { tags: 'slow' }, async (_, change, back, isCareful, error) => {
  expect(await wordsOfThrow(change, back, isCareful, error)).toEqual([])
})

test('a client that was to lower a deployment, and throws before that, has raised nothing', async () => {
  const TWO = 'twoInstances1234'
  const settings = { min_instances: 2, max_instances: 2 }
  const deployments = [{ deploy_id: TWO, model_name: 'acme/two', gpu: 'L4-24GB' as const, settings }]
  const options = { fixtures: 'default', with: { deployments } } as const
  const client = around(resize(2, 3, TWO), resize(1, 3, TWO), false)
  const base = await observe(client, options)
  const observation = await observe(client, { ...options, faults: [FAILING_CHAT], base })
  expect(base.ratesBefore.get(TWO)).toBe(2 * base.sim.world.ledger.meters.rateOf(TWO))
  expect(violationsOf('cleansUpOnThrow', observation)).toEqual([])
})
