/** Endpoints that the interface document does not have but a lifecycle needs. */
import { describe, expect, test } from 'vitest'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { batchFile, batchLine } from '../setup/batches.ts'
import { askTo, refusalOf } from '../setup/send-to.ts'

const LINES = Array.from({ length: 40 }, (_, n) =>
  JSON.stringify(batchLine(`line-${n}`, { model: 'acme/chat', prompt: `Tell me ${n}.` }, '/v1/completions')),
).join('\n')

/** A batch but for its file. */
const create = { endpoint: '/v1/completions', completion_window: '24h' }

function world(options: SimulatorOptions = {}) {
  const sim = createSimulator({
    fixtures: 'two-nodes',
    seed: 1,
    with: { deployments: [{ model_name: 'acme/chat', num_gpus: 2 }] },
    ...options,
  })
  const ask = (request: string, body?: unknown, token = sim.token) => askTo({ fetch: sim.fetch, token }, request, body)
  const upload = async (content: string, filename = 'in.jsonl'): Promise<string> =>
    (await ask('POST /v1/files', batchFile(content, filename))).body.id
  const kinds = () => sim.journal.entries().map(({ kind }) => kind)
  return { sim, ask, upload, kinds }
}

describe('PUT /deploy/{deploy_id}', () => {
  async function deployed(options?: SimulatorOptions) {
    const { sim, ask, kinds } = world(options)
    const [{ deploy_id }] = (await ask('GET /deploy/list')).body
    const resize = (settings: object) => ask(`PUT /deploy/${deploy_id}`, { settings })
    const shown = async () => (await ask(`GET /deploy/${deploy_id}`)).body
    return { sim, ask, kinds, deploy_id, resize, shown }
  }

  test('the load scales within the new bounds', async () => {
    const load = { kind: 'constant', rps: 40, prompt_tokens: 500, output_tokens: 300 }
    const settings = { min_instances: 1, max_instances: 1 }
    const deployments = [{ model_name: 'acme/chat', settings, load }] as never
    const { sim, resize, shown } = await deployed({ fixtures: 'empty', with: { deployments } })
    await sim.clock.advance('2h')
    expect((await shown()).instances.running).toBe(1)
    await resize({ max_instances: 3 })
    await sim.clock.advance('2h')
    const { running } = (await shown()).instances
    expect(running).toBeGreaterThan(1)
    await resize({ max_instances: 1 })
    await sim.clock.advance('10m')
    expect((await shown()).instances).toEqual({ running: 1, pending: 0 })
  })

  test('a stopped deployment uses the new settings when it starts', async () => {
    const { sim, ask, resize, shown, deploy_id } = await deployed()
    await ask(`POST /deploy/${deploy_id}/stop`)
    await sim.clock.advance('5m')
    expect((await resize({ min_instances: 2, max_instances: 2 })).status).toBe(200)
    expect((await shown()).instances).toEqual({ running: 0, pending: 0 })
    await ask(`POST /deploy/${deploy_id}/start`)
    await sim.clock.advance('30m')
    expect((await shown()).instances).toEqual({ running: 2, pending: 0 })
  })

  test('a frozen autoscaler applies the settings after it is released', async () => {
    const { sim, resize, shown } = await deployed()
    sim.cluster.autoscaler.freeze()
    await resize({ min_instances: 2, max_instances: 2 })
    await sim.clock.advance('30m')
    expect((await shown()).instances).toEqual({ running: 1, pending: 0 })
    sim.cluster.autoscaler.free()
    await sim.clock.advance('1h')
    expect((await shown()).instances).toEqual({ running: 2, pending: 0 })
  })

  test('invalid settings are refused and change nothing', async () => {
    const { sim, ask, resize, shown, deploy_id } = await deployed()
    sim.cluster.limit.set('H100-80GB', 5)
    const [digest, before] = [sim.digest, await shown()]
    expect((await resize({ min_instances: 3, max_instances: 3 })).status).toBe(403)
    const { detail } = (await resize({ min_instances: 2, max_instances: 1 })).body
    expect(detail).toMatchObject([
      { loc: ['body', 'settings', 'max_instances'], msg: expect.stringContaining('(1) should not be below') },
    ])
    expect((await resize({ min_instances: 2 })).status).toBe(422)
    expect((await resize({ max_instances: 0 })).status).toBe(422)
    expect((await ask(`PUT /deploy/${deploy_id}`, {})).status).toBe(422)
    expect((await ask('PUT /deploy/nope', { settings: {} })).status).toBe(404)
    expect((await ask('PUT /deploy/list', { settings: {} })).status).toBe(405)
    expect((await resize({})).status).toBe(200)
    expect([sim.digest, await shown()]).toEqual([digest, before])
    expect((await resize({ min_instances: 2, max_instances: 9 })).status).toBe(200)
    await ask(`DELETE /deploy/${deploy_id}`)
    expect((await resize({ min_instances: 1 })).status).toBe(400)
  })

  test('an adapter and a reference to the catalog are refused', async () => {
    const { ask } = world({ fixtures: 'default', with: {} })
    const rows = (await ask('GET /deploy/list')).body as { deploy_id: string; type: string }[]
    for (const type of ['lora', 'legacy']) {
      const { deploy_id } = rows.find(row => row.type === type)!
      expect((await ask(`PUT /deploy/${deploy_id}`, { settings: { min_instances: 2 } })).status, type).toBe(400)
    }
  })
})

describe('POST /v1/batches/{batch_id}/cancel', () => {
  test('a running batch is cancelled and keeps its finished lines', async () => {
    const { sim, ask, upload } = world()
    const { body: batch } = await ask('POST /v1/batches', { ...create, input_file_id: await upload(LINES) })
    const now = async () => (await ask(`GET /v1/batches/${batch.id}`)).body
    await sim.clock.until(async () => (await now()).request_counts?.completed >= 10, { within: '30m' })
    const cancelled = await ask(`POST /v1/batches/${batch.id}/cancel`)
    expect([cancelled.status, cancelled.body.status]).toEqual([200, 'cancelling'])
    expect(await now()).toEqual(cancelled.body)
    expect((await ask(`POST /v1/batches/${batch.id}/cancel`)).body).toEqual(cancelled.body)
    await sim.clock.advance('1h')
    expect(await now()).toMatchObject({
      status: 'cancelled',
      output_file_id: expect.stringMatching(/^file_\w{24}$/),
      completed_at: null,
    })
    const again = await refusalOf(ask(`POST /v1/batches/${batch.id}/cancel`))
    expect(again).toEqual([400, `batch ${batch.id} is cancelled already`])
  })

  test('a validating batch is cancelled without files, and an unknown batch is 404', async () => {
    const { sim, ask, upload } = world()
    const { body: batch } = await ask('POST /v1/batches', { ...create, input_file_id: await upload(LINES) })
    expect((await ask(`POST /v1/batches/${batch.id}/cancel`)).body.status).toBe('cancelling')
    await sim.clock.advance('1h')
    expect((await ask(`GET /v1/batches/${batch.id}`)).body).toMatchObject({ status: 'cancelled', output_file_id: null })
    expect((await ask('POST /v1/batches/nope/cancel')).status).toBe(404)
  })
})

describe('paginated lists', () => {
  test('files', async () => {
    const { sim, ask, upload } = world()
    const ids: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      ids.push(await upload(name, `${name}.jsonl`))
      // Files of one moment have the order of their uploads, too.
      if (name === 'c') await sim.clock.advance('1s')
    }
    const list = async (query = '') => (await ask(`GET /v1/files${query}`)).body
    const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)
    const newest = ids.toReversed()
    expect(await list()).toMatchObject({ object: 'list', has_more: false, first_id: newest[0], last_id: newest[4] })
    expect(idsOf(await list('?order=asc'))).toEqual(ids)
    const first = await list('?limit=2')
    expect([idsOf(first), first.has_more]).toEqual([newest.slice(0, 2), true])
    const second = await list(`?limit=3&after=${first.last_id}`)
    expect([idsOf(second), second.has_more]).toEqual([newest.slice(2), false])
    const none = { object: 'list', data: [], has_more: false, first_id: null, last_id: null }
    expect(await list('?purpose=batch_output')).toEqual(none)
    expect((await ask('GET /v1/files?after=nope')).status).toBe(404)
    for (const bad of ['limit=0', 'limit=10001', 'order=up'])
      expect((await ask(`GET /v1/files?${bad}`)).status).toBe(422)
    expect((await ask(`GET /v1/files/${ids[2]}`)).body).toMatchObject({ id: ids[2], filename: 'c.jsonl', bytes: 1 })
    expect(await refusalOf(ask('GET /v1/files/nope'))).toEqual([404, 'file not found'])
  })

  test('batches', async () => {
    const { sim, ask, upload } = world()
    const ids: string[] = []
    for (let i = 0; i < 3; i++) {
      const { body } = await ask('POST /v1/batches', { ...create, input_file_id: await upload(`${i}`) })
      ids.unshift(body.id)
      if (i === 1) await sim.clock.advance('1m')
    }
    const { body } = await ask('GET /v1/batches?limit=2')
    expect([body.data.map(({ id }: { id: string }) => id), body.has_more]).toEqual([ids.slice(0, 2), true])
    const rest = (await ask(`GET /v1/batches?after=${ids[1]}`)).body
    expect(rest.data).toEqual([(await ask(`GET /v1/batches/${ids[2]}`)).body])
    expect((await ask('GET /v1/batches?after=nope')).status).toBe(404)
    expect((await ask('GET /v1/batches?limit=101')).status).toBe(422)
  })
})

test('a deleted file frees its storage, and its batch continues', async () => {
  const { sim, ask, upload, kinds } = world()
  const id = await upload(LINES)
  const { body: batch } = await ask('POST /v1/batches', { ...create, input_file_id: id })
  const stored = sim.world.files.storedBytes
  expect((await ask(`DELETE /v1/files/${id}`)).body).toEqual({ id, object: 'file', deleted: true })
  expect(sim.world.files.storedBytes).toBe(stored - LINES.length)
  for (const gone of [`GET /v1/files/${id}`, `GET /v1/files/${id}/content`, `DELETE /v1/files/${id}`])
    expect([gone, (await ask(gone)).status]).toEqual([gone, 404])
  await sim.clock.advance('40d')
  expect((await ask(`GET /v1/batches/${batch.id}`)).body.status).toBe('completed')
  expect(kinds().filter(kind => kind === 'file.expired')).toHaveLength(2)
  expect(sim.world.files.storedBytes).toBe(0)
})

test('an API token authenticates from creation to deletion', async () => {
  const { sim, ask } = world()
  const { body: made, status } = await ask('POST /v1/api-tokens', { name: 'nightly 🦙' })
  expect(status).toBe(200)
  expect(made).toEqual({
    token: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
    token_id: expect.stringMatching(/^token_[A-Za-z0-9]{24}$/),
    name: 'nightly 🦙',
    created_at: 1_767_225_600,
    allowed_ips: [],
  })
  expect((await ask('GET /v1/api-tokens', undefined, made.token)).body).toContainEqual(made)
  for (const named of [made.token, made.token_id]) expect((await ask(`GET /v1/api-tokens/${named}`)).body).toEqual(made)
  expect((await ask('POST /v1/api-tokens', { name: 'nightly 🦙' })).status).toBe(409)
  for (const name of ['', 'x'.repeat(65), 5]) expect((await ask('POST /v1/api-tokens', { name })).status).toBe(422)
  const twin = sim.fork()
  expect((await ask(`DELETE /v1/api-tokens/${made.token_id}`)).body).toEqual({})
  expect((await ask('GET /v1/api-tokens', undefined, made.token)).status).toBe(401)
  expect((await ask(`GET /v1/api-tokens/${made.token}`)).status).toBe(404)
  // The name is free again, and the value is different.
  const { body: again } = await ask('POST /v1/api-tokens', { name: 'nightly 🦙' })
  expect(again.token).not.toBe(made.token)
  expect((await askTo({ fetch: twin.fetch, token: made.token }, 'GET /v1/voices')).status).toBe(200)
  sim.cluster.token.revoke('nightly 🦙')
  expect((await ask('POST /v1/api-tokens', { name: 'nightly 🦙' })).status).toBe(409)
})

test('GET /v1/me, the payment checklist and the GPU limits describe the account', async () => {
  const account = {
    funds_cents: 5000,
    topup: { amount: 2000, threshold: 100, enabled: true },
    gpu_limits: { 'H100-80GB': 8 },
  }
  const { sim, ask } = world({ with: { account, deployments: [{ model_name: 'acme/chat', num_gpus: 2 }] } })
  const me = (await ask('GET /v1/me')).body
  expect(me).toMatchObject({ display_name: 'acme', name: 'Robin Okafor', team_role: null, checklist: null })
  const before = (await ask('GET /payment/checklist')).body
  expect(before).toEqual({
    email: true,
    billing_address: true,
    payment_method: true,
    suspended: false,
    overdue_invoices: 0,
    last_checked: sim.world.clock.unix(),
    account_balance: -50,
    recent: 0,
    billing_type: 'balance',
    limit: null,
    suspend_reason: null,
    topup: true,
    topup_amount: 2000,
    topup_threshold: 100,
    topup_failed: false,
  })
  await sim.clock.advance('1h')
  const after = (await ask('GET /v1/me?checklist=true')).body
  expect(after).toEqual({ ...me, checklist: { ...before, recent: 4.4, last_checked: before.last_checked + 3600 } })
  sim.cluster.account.suspend('overdue-invoices')
  const suspended = { suspended: true, suspend_reason: 'overdue-invoices' }
  expect((await ask('GET /payment/checklist')).body).toMatchObject(suspended)
  const why = [402, 'the account is suspended (overdue-invoices): funds do not end that']
  expect(await refusalOf(ask('POST /v1/hosted', { name: 'desk', plan_id: 'small' }))).toEqual(why)
  const messages = [{ role: 'user', content: 'Hi' }]
  expect(await refusalOf(ask('POST /v1/chat/completions', { model: 'acme/chat', messages }))).toEqual(why)

  const limits = async () => (await ask('GET /v1/me/gpu_limit')).body
  expect(await limits()).toMatchObject({ limits: { 'H100-80GB': 8 }, pending_requests: null })
  await ask('POST /v1/me/gpu_limit/request', { gpu_type: 'H100-80GB', requested_limit: 16, reason: 'more' })
  expect((await limits()).pending_requests).toEqual({ 'H100-80GB': 16 })
  sim.cluster.limit.approve('H100-80GB')
  expect(await limits()).toMatchObject({ limits: { 'H100-80GB': 16 }, pending_requests: null })
  sim.cluster.limit.set('H100-80GB', null)
  expect((await limits()).limits).not.toHaveProperty('H100-80GB')
})
