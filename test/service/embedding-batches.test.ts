/** Batches of `/v1/embeddings`, which a policy of the profile allows. */
import { expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { batchLine, rowsOf } from '../setup/batches.ts'
import { sendTo } from '../setup/send-to.ts'

const MODEL = 'cedarline/cedar-embed-base'
const ENDPOINT = '/v1/embeddings' as const
const WITH_EMBEDDINGS = { profile: { policies: { batch_endpoints: 'with_embeddings' as const } } }

const line = (custom_id: string, body: object = {}) =>
  JSON.stringify(batchLine(custom_id, { model: MODEL, input: custom_id, ...body }, ENDPOINT))

interface Row {
  id: string
  custom_id: string
  response: { status_code: number; request_id: string; endpoint: string; body: Record<string, unknown> } | null
  error: { code: string; message: string } | null
}

function world(options: SimulatorOptions = WITH_EMBEDDINGS) {
  const sim = createSimulator({ fixtures: 'empty', seed: 1, check: true, ...options })
  const client = createClient(request => sim.fetch(request), { baseUrl: 'http://sim', token: sim.token })
  const send = (path: string, body: object) => sendTo(sim, `POST ${path}`, body)
  return {
    sim,
    client,
    send,
    /** Returns the answer to a live request for the same body. */
    live: async (body: object) => (await (await send(ENDPOINT, { model: MODEL, ...body })).json()) as object,
    async create(lines: readonly string[]) {
      const { id } = await client.uploadFile({ purpose: 'batch', file: lines.join('\n') })
      return send('/v1/batches', { input_file_id: id, endpoint: ENDPOINT, completion_window: '24h' })
    },
    read: async (file_id: string | null | undefined) => rowsOf<Row>(await client.getFileContent({ file_id: file_id! })),
    async completed(lines: readonly string[]) {
      const { id: batch_id } = (await (await this.create(lines)).json()) as { id: string }
      await sim.clock.until(async () => (await client.getBatch({ batch_id })).status === 'completed', { within: '25h' })
      return client.getBatch({ batch_id })
    },
    charged: () => -sim.ledger.entries().reduce((sum, one) => sum + (one.kind === 'tokens' ? one.microcents : 0), 0),
  }
}

test('a batch of embeddings is refused and nothing is created when the policy is documented', async () => {
  const here = world({})
  const refused = await here.create([line('one')])
  expect(refused.status).toBe(422)
  expect(await refused.json()).toEqual({
    detail: [
      {
        loc: ['body', 'endpoint'],
        msg: "Input should be '/v1/chat/completions' or '/v1/completions'",
        type: 'literal_error',
      },
    ],
  })
  expect((await here.client.listBatches({})).data).toEqual([])
})

test('a refusal of the endpoint of a batch lists all three when the policy is with_embeddings', async () => {
  const here = world()
  const refused = await here.send('/v1/batches', { endpoint: '/v1/images', completion_window: '1h', input_file_id: '' })
  expect(await refused.json()).toMatchObject({
    detail: [
      { msg: "Input should be '/v1/chat/completions', '/v1/completions' or '/v1/embeddings'" },
      { msg: "Input should be '24h'" },
    ],
  })
})

test('lines answer like live embeddings when the policy is with_embeddings', async () => {
  const bodies: Record<string, object> = {
    text: { input: 'A river in spring.' },
    list: { input: ['A river.', 'A hill.'], dimensions: 64, service_tier: 'priority' },
    tokens: { input: [[1, 2, 3], [4]] },
    base64: { input: 'A river in spring.', encoding_format: 'base64' },
  }
  const here = world()
  const batch = await here.completed(Object.entries(bodies).map(([id, body]) => line(id, body)))
  expect(batch).toMatchObject({ endpoint: ENDPOINT, request_counts: { total: 4, completed: 4, failed: 0 } })
  const rows = await here.read(batch.output_file_id)
  expect(rows).toHaveLength(4)
  for (const { id, custom_id, response, error } of rows) {
    expect([id, error]).toEqual([expect.stringMatching(/^batch_req_[A-Za-z0-9]+_\d{6}$/), null])
    expect(response).toEqual({
      status_code: 200,
      request_id: expect.stringMatching(/^req_/),
      endpoint: ENDPOINT,
      body: await here.live(bodies[custom_id]!),
    })
  }
  expect(await here.read(batch.error_file_id)).toEqual([])
})

test('prompt tokens are charged at the batch price when the lines have run', { tags: 'slow' }, async () => {
  const here = world()
  const batch = await here.completed(
    Array.from({ length: 40 }, (_, i) => line(`${i}`, { input: 'river '.repeat(200) })),
  )
  const batchCharge = here.charged()
  const rows = await here.read(batch.output_file_id)
  for (let i = 0; i < 40; i++) await here.live({ input: 'river '.repeat(200) })
  const { batchShare } = here.sim.world.profile.prices
  expect(rows).toHaveLength(40)
  expect(batchCharge).toBeGreaterThan(0)
  expect(batchCharge).toBeCloseTo((here.charged() - batchCharge) * batchShare, -2)
})

test('a line fails alone when its refusal is no 422, and the file fails when a body is invalid', async () => {
  const here = world()
  const batch = await here.completed([
    line('good'),
    line('wide', { dimensions: 769 }),
    line('long', { input: 'river '.repeat(600) }),
  ])
  expect(batch.request_counts).toEqual({ total: 3, completed: 1, failed: 2 })
  const errors = (await here.read(batch.error_file_id)).map(({ custom_id, error }) => [custom_id, error!.code])
  const expected = [
    ['long', '400'],
    ['wide', '400'],
  ]
  expect(errors.sort()).toEqual(expected)
  const { id: batch_id } = (await (await here.create([line('one', { input: [] })])).json()) as { id: string }
  await here.sim.clock.until(async () => (await here.client.getBatch({ batch_id })).status === 'failed')
  expect((await here.client.getBatch({ batch_id })).errors!.data).toMatchObject([
    { code: 'invalid_line', line: 0, param: '/v1/embeddings.body.input' },
  ])
})

test('a batch fails with unknown_model when its model does not have the task of the endpoint', async () => {
  const here = world()
  const { id: batch_id } = (await (
    await here.create([line('one', { model: 'aurora-labs/aurora-8b-instruct' })])
  ).json()) as { id: string }
  await here.sim.clock.until(async () => (await here.client.getBatch({ batch_id })).status === 'failed')
  expect((await here.client.getBatch({ batch_id })).errors!.data).toMatchObject([{ code: 'unknown_model' }])
})

test('the OpenAPI document lists the endpoints of the default policy', async () => {
  const answer = await world().sim.fetch('http://sim/openapi.json')
  const document = (await answer.json()) as { components: { schemas: Record<string, unknown> } }
  const enums = JSON.stringify(document).match(/"endpoint":\{[^{}]*\}/g)
  expect(enums).toContain('"endpoint":{"type":"string","enum":["/v1/chat/completions","/v1/completions"]}')
})

test.each(['validating', 'in_progress'] as const)(
  'a %s batch of a fixture runs when the policy allows its endpoint',
  async status => {
    const here = world({ ...WITH_EMBEDDINGS, with: fixtureBatch(status) })
    await here.sim.clock.until(
      async () => (await here.client.getBatch({ batch_id: 'batch_1' })).status === 'completed',
      {
        within: '25h',
      },
    )
    const { output_file_id, request_counts } = await here.client.getBatch({ batch_id: 'batch_1' })
    expect(request_counts).toEqual({ total: 2, completed: 2, failed: 0 })
    for (const { custom_id, response } of await here.read(output_file_id))
      expect(response!.body).toEqual(await here.live({ input: custom_id }))
  },
)

test('a completed batch of a fixture counts the invalid lines of its embeddings', async () => {
  const here = world({ ...WITH_EMBEDDINGS, with: fixtureBatch('completed') })
  const expected = { endpoint: ENDPOINT, request_counts: { total: 2, completed: 2, failed: 0 } }
  expect(await here.client.getBatch({ batch_id: 'batch_1' })).toMatchObject(expected)
  const invalid = { ...WITH_EMBEDDINGS, with: fixtureBatch('completed', [line('one', { input: [] })]) }
  expect(() => world(invalid)).toThrow(/batches: \$\[0\] \(batch_1\): its input file_1 cannot be run: line 1 of it/)
})

test('a world with such a batch does not start when the policy is documented', () => {
  expect(() => world({ with: fixtureBatch('validating') })).toThrow(
    "batches: $[0] (batch_1): endpoint /v1/embeddings needs the policy batch_endpoints: 'with_embeddings' of the profile.",
  )
})

/** Records of a batch of embeddings. */
function fixtureBatch(status: 'validating' | 'in_progress' | 'completed', lines = [line('one'), line('two')]) {
  const created_at = 1_767_225_000
  const file = { id: 'file_1', purpose: 'batch' as const, filename: 'in.jsonl', created_at, content: lines.join('\n') }
  return {
    files: [file],
    batches: [{ id: 'batch_1', endpoint: ENDPOINT, input_file_id: 'file_1', status, created_at }],
  }
}
