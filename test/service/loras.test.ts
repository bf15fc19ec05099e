import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../setup/batches.ts'
import { refusal, refused, service } from './service-world.ts'

const SOURCE = { type: 'modelhub', modelhub_url: 'https://modelhub.example/acme/tone-8b' } as const

/** Creates a running base and a client of its world. Each event is checked for invariants. */
function running() {
  const deployments = [{ model_name: 'acme/chat', num_gpus: 2, weights: { repo: 'acme/chat-8b' } }]
  const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, check: true })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const create = (lora_name: string, base_model = 'chat') =>
    api.createLora({ base_model, lora_name, source: SOURCE, private: true, description: 'tone' })
  return { sim, api, create }
}

describe('a created adapter', () => {
  test('is found by its name in record, status and lists', async () => {
    const { sim, api, create } = running()
    const { deploy_id } = await create('tone')
    expect(await api.getLora({ lora_name: 'tone' })).toEqual({
      ...(await api.getDeployment({ deploy_id })),
      lora_name: 'tone',
      base_model: 'acme/chat',
      source: SOURCE,
      private: true,
      description: 'tone',
    })
    expect(await api.getLoraStatus({ lora_name: 'tone' })).toMatchObject({ deploy_id, status: 'initializing' })
    await sim.clock.advance('10m')
    const done = await api.getLoraStatus({ lora_name: 'acme/tone' })
    expect(done).toMatchObject({ status: 'running', fail_reason: '', instances: { running: 1, pending: 0 } })
    await create('other', 'aurora-labs/aurora-8b-instruct')
    const names = (all: { lora_name: string }[]) => all.map(one => one.lora_name)
    expect(names(await api.listLoras())).toEqual(['tone', 'other'])
    expect(names(await api.listLorasOfModel({ model_name: 'chat' }))).toEqual(['tone'])
    expect(names(await api.listLorasOfModel({ model_name: 'aurora-labs/aurora-8b-instruct' }))).toEqual(['other'])
    expect(await api.listLorasOfModel({ model_name: 'aurora-labs/aurora-70b-instruct' })).toEqual([])
    expect((await refusal(api.listLorasOfModel({ model_name: 'unknown/nothing' })))[0]).toBe(404)
  })

  test('a poll of its status advances an on-poll clock', async () => {
    const deployments = [{ model_name: 'acme/chat' }]
    const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, clock: 'on-poll' })
    const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
    await api.createLora({ base_model: 'chat', lora_name: 'tone', source: SOURCE, private: true })
    const seen: string[] = []
    while (seen.at(-1) !== 'running' && seen.length < 9)
      seen.push((await api.getLoraStatus({ lora_name: 'tone' })).status)
    expect(seen).toEqual(['initializing', 'downloading', 'deploying', 'running'])
  })

  test('can change its description and visibility, also in the catalog', async () => {
    const { sim, api, create } = running()
    await create('tone')
    await sim.clock.advance('1h')
    const entry = async () => (await api.listModels()).find(model => model.model_name === 'acme/tone')
    expect(await entry()).toMatchObject({ private: 1, description: 'tone' })
    const described = await api.updateLora({ lora_name: 'tone', private: false })
    expect(described).toMatchObject({ private: false, description: 'tone', updated_at: sim.clock.iso })
    expect(described).toEqual(await api.getLora({ lora_name: 'tone' }))
    expect(await entry()).toMatchObject({ private: 0, description: 'tone' })
    await sim.clock.advance('1m')
    expect(await api.updateLora({ lora_name: 'tone', description: null })).toMatchObject({ description: '' })
    const { digest } = sim
    const same = await api.updateLora({ lora_name: 'tone', private: false, description: '' })
    expect([sim.digest, same.updated_at]).toEqual([digest, sim.clock.iso])
    const fork = sim.fork()
    await createClient(fork.fetch, { baseUrl: 'http://fork', token: fork.token }).updateLora({
      lora_name: 'tone',
      description: 'there',
    })
    expect((await api.getLora({ lora_name: 'tone' })).description).toBe('')
  })

  test('invalid changes are refused', async () => {
    const { client, ask } = service()
    expect(await refused(client.getLora({ lora_name: 'unknown' }))).toEqual([404, 'no LoRA adapter unknown'])
    // This name is a deployment, not an adapter.
    for (const lora_name of ['unknown', 'assistant', 'aurora-labs/aurora-8b-instruct']) {
      const calls = [client.getLora, client.getLoraStatus, client.updateLora, client.deleteLora]
      for (const call of calls) expect((await refusal(call({ lora_name })))[0]).toBe(404)
    }
    const wrong = await ask('PATCH /v1/lora/assistant-support-tone', { private: 'yes', description: 5 })
    const expected = [422, ['private', 'description']]
    expect([wrong.status, wrong.body.detail.map(({ loc }: { loc: string[] }) => loc[1])]).toEqual(expected)
  })
})

describe('a deleted adapter', () => {
  test('frees its slot and its name and is listed as deleted', { tags: 'slow' }, async () => {
    const profile = { extends: 'realistic', timings: { adapter_slots: 1 } }
    const deployments = [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }]
    const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, check: true, profile })
    const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
    const create = (lora_name: string) =>
      api.createLora({ base_model: 'chat', lora_name, source: SOURCE, private: true })
    const first = await create('first')
    await sim.clock.advance('10m')
    await api.deleteLora({ lora_name: 'first' })
    expect((await api.getDeployment(first)).status).toBe('deleted')
    expect(await api.listLoras()).toEqual([])
    expect((await refusal(api.getLora({ lora_name: 'first' })))[0]).toBe(404)
    expect((await refusal(api.deleteLora({ lora_name: 'first' })))[0]).toBe(404)
    expect((await refusal(api.getModel({ model_name: 'first' })))[0]).toBe(404)
    const again = await create('first')
    expect(again.deploy_id).not.toBe(first.deploy_id)
    await sim.clock.advance('10m')
    expect((await api.getLora({ lora_name: 'first' })).status).toBe('running')
    const kinds = sim.journal.entries().map(({ kind }) => kind)
    expect(kinds.filter(kind => kind === 'adapter.resident')).toHaveLength(2)
    expect(kinds).not.toContain('adapter.evicted')
  })

  test('pauses its batch until an adapter with its name runs', { tags: 'slow' }, async () => {
    const { sim, api, create } = running()
    await create('tone')
    await sim.clock.advance('10m')
    const body = (n: number) => ({ model: 'acme/tone', prompt: `Tell me ${n}.`, max_tokens: 400 })
    const lines = Array.from({ length: 4000 }, (_, n) => batchLine(`line-${n}`, body(n), '/v1/completions'))
    const batch = await startBatch(sim, lines)
    const now = () => api.getBatch({ batch_id: batch.id })
    await sim.clock.until(async () => ((await now()).request_counts?.completed ?? 0) >= 10, { within: '30m' })
    await api.deleteLora({ lora_name: 'tone' })
    const { request_counts } = await now()
    expect(request_counts!.completed).toBeLessThan(4000)
    await sim.clock.advance('2h')
    expect(await now()).toMatchObject({ status: 'in_progress', request_counts })
    await create('tone')
    await sim.clock.advance('2h')
    expect(await now()).toMatchObject({ status: 'completed', request_counts: { completed: 4000, failed: 0 } })
  })

  test('has no further events when it was deleted during its download', async () => {
    const { sim, api, create } = running()
    const { deploy_id } = await create('tone')
    await sim.clock.until(async () => (await api.getLora({ lora_name: 'tone' })).status === 'downloading')
    expect(await api.deleteLora({ lora_name: 'acme/tone' })).toEqual({ deploy_id })
    await sim.clock.advance('1h')
    expect((await api.getDeployment({ deploy_id })).status).toBe('deleted')
    expect(sim.journal.entries().some(({ kind }) => kind === 'adapter.resident')).toBe(false)
  })
})
