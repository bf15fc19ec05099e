import { describe, expect, test } from 'vitest'
import { ByteHash } from '../../src/kernel/random.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import type { Deployment } from '../../src/simulation/deployments/deployment.ts'
import type { LlmSpec } from '../../src/simulation/deployments/deployment-row.ts'
import { hardwareOf, withAdapter } from '../../src/simulation/deployments/instance-speed.ts'
import { InstanceEngine } from '../../src/simulation/load/engine.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

await loadTokenizer()

/** A slow base with room for `slots` adapters on each instance; everything else takes a second or so. */
function base(slots: number, about: Partial<LlmSpec> = {}, load = '3s', failedMayStart = false) {
  const profile = {
    extends: 'quick',
    timings: { adapter_slots: slots, adapter_load: load },
    policies: { failed_may_start: failedMayStart },
  }
  const sim = stage([{ gpu: 'L4-24GB', count: 1 }], {}, { profile })
  const chat = sim.world.deployments.createLlm(spec({ gpu: 'L4-24GB', max_batch_size: 8, ...about }))
  passUntil(sim, () => chat.status === 'running' && chat.toRecord().instances.pending === 0)
  return { sim, chat }
}

function adapter(sim: Simulator, name: string): Deployment {
  return sim.world.loraAdapters.create({
    model_name: `acme/${name}`,
    base_model: 'acme/chat',
    modelhub_url: `https://hub.example/${name}`,
    private: true,
    description: '',
  })
}

function adapters(sim: Simulator, ...names: string[]): Deployment[] {
  return names.map(name => {
    const one = adapter(sim, name)
    passUntil(sim, () => one.status === 'running')
    return one
  })
}

test('a prompt to an adapter takes a tenth more compute', () => {
  const { sim, chat } = base(1)
  const row = sim.world.deployments.read(chat.ordinal)
  const hardware = hardwareOf(row)
  const [plain, adapted] = [hardware, withAdapter(hardware)].map(one => {
    const engine = new InstanceEngine({ ...one, promptTokens: 4000, outputTokens: 2 })
    return engine.step(0, 2048)
  }) as [number, number]
  expect(adapted / plain).toBeGreaterThan(1.07)
  expect(adapted / plain).toBeLessThan(1.1)
})

/** A batch of about `seconds` on one L4, once its lines run. */
function work(sim: Simulator, model: string, seconds = 60) {
  const lines = Array.from({ length: seconds * 18 }, (_, i) =>
    JSON.stringify({
      custom_id: `line-${i}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model, messages: [{ role: 'user', content: `Question ${i}` }] },
    }),
  )
  const bytes = new TextEncoder().encode(lines.join('\n'))
  const hash = new ByteHash()
  hash.update(bytes)
  const file = { filename: 'in.jsonl', purpose: 'batch', chunks: [bytes], bytes: bytes.length, hash: hash.digest() }
  const batch = sim.world.batches.create({
    input_file_id: sim.world.files.create(file).id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    metadata: null,
  })
  passUntil(sim, () => batch.status === 'in_progress')
  return batch
}

/** The names of the adapters on each instance of the base, loaded ones only. */
function residents(sim: Simulator, chat: Deployment): string[][] {
  const { deployments, instances } = sim.world
  return deployments
    .read(chat.ordinal)
    .instances.map(one => instances.read(one))
    .sort((a, b) => a.index - b.index)
    .map(({ adapters }) =>
      adapters
        .filter(each => each.loadEvent === 0)
        .map(each => deployments.read(each.adapter).plan.modelName.replace('acme/', ''))
        .sort(),
    )
}

const done = (batch: ReturnType<typeof work>) => batch.toRecord().request_counts!.completed

describe('the slots of an instance', () => {
  test('take adapters until they are full; then the least recently used one leaves', () => {
    const { sim, chat } = base(2)
    const [a] = adapters(sim, 'a', 'b')
    expect(residents(sim, chat)).toEqual([['a', 'b']])
    // Work makes `a` the one that was used last.
    const batch = work(sim, 'acme/a', 1)
    passUntil(sim, () => batch.status === 'completed')
    adapters(sim, 'c')
    expect(residents(sim, chat)).toEqual([['a', 'c']])
    expect(sim.world.deployments.findLive('acme/b')!.status).toBe('running')
    expect(story(sim, sim.world.deployments.findLive('acme/b')!.deploy_id).at(-1)).toBe('adapter.evicted')
    expect(story(sim, a!.deploy_id)).not.toContain('adapter.evicted')
  })

  test('load an adapter again when work needs it, which takes the time of a load', { tags: 'slow' }, () => {
    const { sim, chat } = base(1)
    adapters(sim, 'a', 'b')
    expect(residents(sim, chat)).toEqual([['b']])
    const batch = work(sim, 'acme/a')
    pass(sim, '2900ms')
    expect(residents(sim, chat)).toEqual([[]])
    expect(done(batch)).toBe(0)
    pass(sim, '100ms')
    expect(residents(sim, chat)).toEqual([['a']])
    pass(sim, '5s')
    expect(done(batch)).toBeGreaterThan(0)
  })

  test('never lose an adapter in use: who finds them all in use waits until one is free', { tags: 'slow' }, () => {
    const { sim, chat } = base(1)
    adapters(sim, 'a', 'b')
    const first = work(sim, 'acme/a', 60)
    pass(sim, '5s')
    const second = work(sim, 'acme/b', 10)
    pass(sim, '10s')
    expect(residents(sim, chat)).toEqual([['a']])
    expect(done(first)).toBeGreaterThan(0)
    expect(done(second)).toBe(0)
    passUntil(sim, () => first.status === 'finalizing')
    expect(done(second)).toBe(0)
    pass(sim, '3s')
    expect(residents(sim, chat)).toEqual([['b']])
    passUntil(sim, () => second.status === 'completed')
  })

  test('are waited for in the order of asking, by new adapters too', { tags: 'slow' }, () => {
    const { sim, chat } = base(1)
    adapters(sim, 'a', 'b')
    const first = work(sim, 'acme/a', 60)
    const late = adapter(sim, 'c')
    passUntil(sim, () => late.status === 'deploying')
    const second = work(sim, 'acme/b', 10)
    pass(sim, '20s')
    expect(late.status).toBe('deploying')
    passUntil(sim, () => first.status === 'finalizing')
    passUntil(sim, () => late.status === 'running', '4s')
    passUntil(sim, () => residents(sim, chat)[0]![0] === 'b', '4s')
    passUntil(sim, () => second.status === 'completed')
  })

  test('are free again once a cancelled batch, a stopped or a deleted adapter lets go', { tags: 'slow' }, () => {
    for (const end of ['cancel', 'stop', 'delete'] as const) {
      const { sim, chat } = base(1)
      const [a] = adapters(sim, 'a', 'b')
      const first = work(sim, 'acme/a', 60)
      work(sim, 'acme/b', 10)
      pass(sim, '5s')
      if (end === 'cancel') first.cancel()
      else a![end]()
      pass(sim, '3s')
      expect(residents(sim, chat), end).toEqual([['b']])
    }
  })

  test('of a catalog model have no slots, because shared capacity has none', () => {
    const { sim } = base(1)
    const spread = ['x', 'y', 'z'].map(name =>
      sim.world.loraAdapters.create({
        model_name: `acme/${name}`,
        base_model: 'aurora-labs/aurora-8b-instruct',
        modelhub_url: '',
        private: true,
        description: '',
      }),
    )
    passUntil(sim, () => spread.every(one => one.status === 'running'), '1m')
    expect(spread.flatMap(one => story(sim, one.deploy_id))).not.toContain('adapter.resident')
  })
})

describe('an adapter', () => {
  test('is on one instance after its start, and spreads to the others when work needs it', () => {
    const { sim, chat } = base(2, { min_instances: 3, max_instances: 3 })
    adapters(sim, 'a')
    expect(residents(sim, chat)).toEqual([['a'], [], []])
    const capacityOf = () =>
      sim.world.loraAdapters.slots.effectiveInstances(sim.world.deployments.findLive('acme/a')!.ordinal)
    expect(capacityOf()).toBe(1)
    work(sim, 'acme/a', 120)
    pass(sim, '3s')
    expect(residents(sim, chat)).toEqual([['a'], ['a'], ['a']])
    expect(capacityOf()).toBe(3)
  })

  test('starts where there is most room', () => {
    const { sim, chat } = base(2, { min_instances: 2, max_instances: 2 })
    adapters(sim, 'a', 'b', 'c')
    expect(residents(sim, chat)).toEqual([['a', 'c'], ['b']])
  })

  test('runs its lines only where it is loaded: on three instances three times as many as on one', {
    tags: 'slow',
  }, () => {
    const { sim } = base(1, { min_instances: 3, max_instances: 3 }, '60s')
    adapters(sim, 'a')
    const batch = work(sim, 'acme/a', 600)
    pass(sim, '59s')
    const onOne = done(batch)
    pass(sim, '1s')
    const before = done(batch)
    pass(sim, '59s')
    expect((done(batch) - before) / onOne).toBeCloseTo(3, 0)
  })

  test('is loaded again on the instance that replaces a lost one', { tags: 'slow' }, () => {
    const { sim, chat } = base(2)
    adapters(sim, 'a', 'b')
    const batch = work(sim, 'acme/a', 120)
    pass(sim, '5s')
    sim.cluster.gpu(sim.cluster.nodeOf(chat.deploy_id).name, 0).fail(31)
    expect(residents(sim, chat)).toEqual([[]])
    passUntil(sim, () => chat.toRecord().instances.running === 1)
    const before = done(batch)
    expect(residents(sim, chat)).toEqual([[]])
    pass(sim, '3s')
    // What no work needs stays away.
    expect(residents(sim, chat)).toEqual([['a']])
    expect(done(batch)).toBe(before)
    passUntil(sim, () => batch.status === 'completed')
  })

  test('whose instance is lost in the middle of its first load loads on the next', () => {
    const { sim, chat } = base(2)
    const a = adapter(sim, 'a')
    passUntil(sim, () => a.status === 'deploying')
    sim.cluster.nodeOf(chat.deploy_id).crash()
    sim.cluster.node('node-0').repair()
    pass(sim, '3s')
    expect(a.status).toBe('deploying')
    passUntil(sim, () => a.status === 'running')
    expect(residents(sim, chat)).toEqual([['a']])
  })

  test('wakes a base that sleeps at zero, for its first load', () => {
    const { sim, chat } = base(2, { min_instances: 0 })
    passUntil(sim, () => chat.toRecord().instances.running === 0)
    pass(sim, '1m')
    expect(chat.status).toBe('running')
    const a = adapter(sim, 'a')
    passUntil(sim, () => a.status === 'running', '1m')
    passUntil(sim, () => chat.toRecord().instances.running === 0)
    expect(a.status).toBe('running')
  })

  test('leaves with its base and comes back with it', () => {
    const { sim, chat } = base(2)
    const [a] = adapters(sim, 'a')
    chat.stop()
    pass(sim, '1m')
    chat.start()
    passUntil(sim, () => a!.status === 'running')
    expect(residents(sim, chat)).toEqual([['a']])
  })

  test('fails with its base, and comes back with it where a failed deployment may start', () => {
    const { sim, chat } = base(2, {}, '3s', true)
    const [a] = adapters(sim, 'a')
    sim.cluster.deployment(chat.deploy_id).crash(4)
    passUntil(sim, () => chat.status === 'failed')
    expect(a!.toRecord()).toMatchObject({ status: 'failed', fail_reason: 'base acme/chat failed' })
    expect(sim.world.loraAdapters.blockedReason(a!.ordinal)).toBe('its base acme/chat is failed')
    chat.start()
    expect(a!.toRecord()).toMatchObject({ status: 'initializing', fail_reason: '' })
    passUntil(sim, () => a!.status === 'running')
    expect(residents(sim, chat)).toEqual([['a']])
  })

  test('of a fixture that runs is in a slot from the start', () => {
    const deployments = [
      { model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } },
      {
        model_name: 'acme/a',
        type: 'lora' as const,
        base_model: 'acme/chat',
        source: { type: 'modelhub' as const, modelhub_url: 'https://hub.example/a' },
      },
    ]
    const sim = stage([{}], {}, { with: { deployments } })
    expect(residents(sim, sim.world.deployments.findLive('acme/chat')!)).toEqual([['a']])
  })
})
