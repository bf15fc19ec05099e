import fc from 'fast-check'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { chats } from '../../../tools/sweep/play.ts'
import { batchFile, batchLine } from '../../setup/batches.ts'
import { sendTo } from '../../setup/send-to.ts'

const NAMES = ['acme/chat', 'acme/search', 'acme/code'] as const
const GPUS = ['L4-24GB', 'L40S-48GB', 'A100-80GB', 'H100-80GB'] as const
const REPOS = ['acme/chat-8b', 'acme/chat-70b', 'acme/private-70b', 'someone/tiny-1b', 'someone/large-405b'] as const

/** Something a client does, or that happens to the fleet, or time that passes. */
export type Action =
  | {
      do: 'create'
      name: string
      gpu: string
      num_gpus: number
      min: number
      repo: string
      batch: number
    }
  | { do: 'adapter'; name: string; base: string }
  | { do: 'stop' | 'start' | 'delete'; which: number }
  | { do: 'batch'; lines: number; model: string; broken: boolean }
  | { do: 'funds'; cents: number }
  | { do: 'topup'; amount: number; threshold: number; enabled: boolean }
  | { do: 'limit'; gpu: string; to: number }
  | { do: 'expand'; which: number; to: number }
  | { do: 'rent'; kind: 'hosted' | 'containers'; gpu: string; num_gpus: number }
  | { do: 'rented'; verb: 'stop' | 'start' | 'delete'; which: number }
  | { do: 'node'; which: number; verb: 'crash' | 'repair' | 'cordon' | 'uncordon' }
  | { do: 'stock'; gpu: string; out: boolean }
  | { do: 'card'; good: boolean }
  | { do: 'price'; gpu: string; cents: number }
  | { do: 'removeModel'; name: string }
  | { do: 'chat'; model: string; clients: number; left: number; tokens: number }
  | { do: 'advance'; seconds: number }

const seconds = fc.oneof(
  fc.integer({ min: 0, max: 120 }),
  fc.integer({ min: 0, max: 3600 }),
  fc.integer({ min: 0, max: 200_000 }),
)

export const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      name: fc.constantFrom(...NAMES, 'elsewhere/x'),
      gpu: fc.constantFrom(...GPUS, 'other'),
      num_gpus: fc.constantFrom(1, 1, 2, 4, 9),
      min: fc.constantFrom(0, 1, 1, 2),
      repo: fc.constantFrom(...REPOS),
      batch: fc.constantFrom(8, 96, 256),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('adapter' as const),
      name: fc.constantFrom('tone', 'style'),
      base: fc.constantFrom(...NAMES, 'acme/assistant', 'unknown/nothing'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('stop' as const, 'start' as const, 'delete' as const),
      which: fc.nat(12),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      lines: fc.constantFrom(0, 1, 7, 40),
      model: fc.constantFrom('aurora-labs/aurora-8b-instruct', ...NAMES, 'unknown/nothing'),
      broken: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('funds' as const), cents: fc.integer({ min: -5, max: 5000 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('topup' as const),
      amount: fc.integer({ min: 0, max: 300_000 }),
      threshold: fc.integer({ min: 0, max: 300_000 }),
      enabled: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('limit' as const), gpu: fc.constantFrom(...GPUS), to: fc.nat(100) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('expand' as const),
      which: fc.nat(4),
      to: fc.integer({ min: 0, max: 600 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('rent' as const),
      kind: fc.constantFrom('hosted' as const, 'containers' as const),
      gpu: fc.constantFrom(...GPUS, 'other'),
      num_gpus: fc.constantFrom(1, 1, 2, 8),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('rented' as const),
      verb: fc.constantFrom('stop' as const, 'start' as const, 'delete' as const),
      which: fc.nat(8),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('chat' as const),
      model: fc.constantFrom('aurora-labs/aurora-8b-instruct', ...NAMES, 'acme/assistant', 'tone', 'unknown/nothing'),
      clients: fc.integer({ min: 1, max: 40 }),
      left: fc.nat(40),
      tokens: fc.integer({ min: 1, max: 4000 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('node' as const),
      which: fc.nat(40),
      verb: fc.constantFrom('crash' as const, 'repair' as const, 'cordon' as const, 'uncordon' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('stock' as const), gpu: fc.constantFrom(...GPUS), out: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('card' as const), good: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('price' as const),
      gpu: fc.constantFrom(...GPUS),
      cents: fc.constantFrom(0, 1, 220, 100_000, 2_000_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('removeModel' as const), name: fc.constantFrom(...NAMES) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('advance' as const), seconds }) },
)

/** Does it; the status of the answer where it is a request. */
export async function perform(sim: Simulator, one: Action): Promise<number | undefined> {
  const deployments = () =>
    sim.world.deployments.list(new Set(['initializing', 'downloading', 'deploying', 'running', 'stopped', 'failed']))
  switch (one.do) {
    case 'create':
      return post(sim, '/deploy/llm', {
        model_name: one.name,
        gpu: one.gpu,
        num_gpus: one.num_gpus,
        max_batch_size: one.batch,
        hub: { repo: one.repo },
        settings: { min_instances: one.min, max_instances: Math.max(1, one.min) },
      })
    case 'adapter':
      return post(sim, '/v1/lora/create', {
        base_model: one.base,
        lora_name: one.name,
        source: { type: 'modelhub', modelhub_url: 'https://hub.example/adapter' },
        private: true,
      })
    case 'stop':
    case 'start':
    case 'delete': {
      const all = deployments()
      const id = all[one.which % Math.max(1, all.length)]?.deploy_id ?? 'nothing'
      return one.do === 'delete' ? send(sim, 'DELETE', `/deploy/${id}`) : post(sim, `/deploy/${id}/${one.do}`)
    }
    case 'batch': {
      const lines = Array.from({ length: one.lines }, (_, i) =>
        batchLine(one.broken && i > 2 ? 'twice' : `line-${i}`, {
          model: one.model,
          messages: [{ role: 'user', content: `Question ${i}` }],
        }),
      )
      const content = lines.map(line => JSON.stringify(line)).join('\n')
      const { id } = await (await sendTo(sim, 'POST /v1/files', undefined, { body: batchFile(content) })).json()
      return post(sim, '/v1/batches', { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' })
    }
    case 'funds':
      return post(sim, '/payment/funds', { amount: one.cents })
    case 'topup':
      return post(sim, '/payment/topup', { amount: one.amount, threshold: one.threshold, enabled: one.enabled })
    case 'limit':
      return post(sim, '/v1/me/gpu_limit/request', { gpu_type: one.gpu, requested_limit: one.to, reason: 'more' })
    case 'expand': {
      const hosted = [...sim.world.rentals.entries()].filter(([, { kind }]) => kind === 'hosted')
      const ids = hosted.map(([, { id }]) => id)
      return post(sim, `/v1/hosted/${ids[one.which] ?? 'nothing'}/expand_storage`, { new_size_gb: one.to })
    }
    case 'rent':
      return post(
        sim,
        `/v1/${one.kind}`,
        one.kind === 'hosted'
          ? { name: 'box', plan_id: one.num_gpus > 1 ? 'large' : 'small' }
          : {
              name: 'crate',
              gpu_config: `${one.num_gpus}x${one.gpu}`,
              container_image: 'registry.example/dev:1',
              cloud_init_user_data: '#cloud-config',
            },
      )
    case 'rented': {
      const all = [...sim.world.rentals.entries()].map(([, row]) => row)
      const row = all[one.which % Math.max(1, all.length)]
      const path = row?.kind === 'container' ? `/v1/containers/${row.id}` : `/v1/hosted/${row?.id ?? 'nothing'}`
      return one.verb === 'delete' || row?.kind === 'container'
        ? send(sim, 'DELETE', path)
        : post(sim, `${path}/${one.verb}`)
    }
    case 'node': {
      const nodes = sim.cluster.nodes()
      sim.cluster.node(nodes[one.which % nodes.length]!.name)[one.verb]()
      return undefined
    }
    case 'stock':
      if (one.out) sim.cluster.stockOut(one.gpu as 'L4-24GB')
      else sim.cluster.restock(one.gpu as 'L4-24GB')
      return undefined
    case 'card':
      if (one.good) sim.cluster.card.accept()
      else sim.cluster.card.decline()
      return undefined
    case 'price':
      sim.cluster.price.set(one.gpu as 'L4-24GB', one.cents)
      return undefined
    case 'removeModel':
      return send(sim, 'DELETE', `/models/${one.name}?version=ALL`)
    case 'chat':
      chats(sim.world, one)
      return undefined
    case 'advance':
      await sim.clock.advance(one.seconds * 1000)
      return undefined
  }
}

function post(sim: Simulator, path: string, body?: unknown): Promise<number> {
  return send(sim, 'POST', path, body)
}

async function send(sim: Simulator, method: string, path: string, body?: unknown): Promise<number> {
  const answer = await sendTo(sim, `${method} ${path}`, body)
  await answer.arrayBuffer()
  return answer.status
}
