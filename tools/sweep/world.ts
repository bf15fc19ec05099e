/** Random worlds that are plausible: fleet, profile, weather, work and clients, all of it a function of one number. */

import { loadFixture } from '../../src/data/fixtures/load.ts'
import type { ProfileInput } from '../../src/data/profiles/load.ts'
import type { FixtureInput } from '../../src/data/records/fixture.ts'
import type { GpuType } from '../../src/data/records/gpu-config.ts'
import type { DeploymentSeed } from '../../src/data/records/seeds.ts'
import { Chance, purpose } from '../../src/kernel/random.ts'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'

/** What a world leans to, so that what is rare by itself is met as well. By the seed, in turn. */
export const LEANINGS = [
  'mixed',
  'poor',
  'spot',
  'fragmented',
  'long batches',
  'sleepy',
  'limits',
  'zones',
  'bad starts',
  'queues',
  'adapters',
  'large',
] as const
export type Leaning = (typeof LEANINGS)[number]

/** Something a client or the user of the simulator does. */
export type Deed =
  | { readonly do: 'request'; readonly method: string; readonly path: string; readonly body?: unknown }
  /** A request about the deployment that has this name now; `{id}` in the path is its id. */
  | { readonly do: 'about'; readonly name: string; readonly method: string; readonly path: string }
  | { readonly do: 'batch'; readonly model: string; readonly lines: number; readonly tokens: number; readonly bad: Bad }
  | { readonly do: 'cancel'; readonly nth: number }
  /** Clients who ask a model at once; so many leave at once. */
  | {
      readonly do: 'chats'
      readonly model: string
      readonly clients: number
      readonly left: number
      readonly tokens: number
    }
  /** A hosted instance or container, by its place among all of them; a container can only be deleted. */
  | { readonly do: 'rented'; readonly verb: 'stop' | 'start' | 'delete'; readonly nth: number }
  | { readonly do: 'command'; readonly verb: string; readonly target?: string; readonly args?: Record<string, number> }
  | { readonly do: 'heal' }

/** What is wrong with the lines of a batch: nothing, single requests, or the whole file. */
export type Bad = 'none' | 'requests' | 'file'

export interface Step {
  /** Seconds since the world's epoch. */
  readonly at: number
  readonly deed: Deed
}

export interface RandomWorld {
  readonly seed: number
  readonly leaning: Leaning
  readonly gpus: number
  readonly hours: number
  readonly options: SimulatorOptions
  /** In order of time. */
  readonly steps: readonly Step[]
}

const GPUS = ['L4-24GB', 'L40S-48GB', 'A100-80GB', 'H100-80GB', 'H200-141GB'] as const
const DRAW = purpose('sweep.draw')
const CATALOG = 'aurora-labs/aurora-8b-instruct'

/** Sizes that fit, and one in ten that does not. */
const SIZES = [
  { gpu: 'L4-24GB', num_gpus: 1, repo: 'acme/chat-8b', max_batch_size: 16 },
  { gpu: 'L4-24GB', num_gpus: 4, repo: 'harbor-ai/harbor-12b-instruct', max_batch_size: 32 },
  { gpu: 'L40S-48GB', num_gpus: 1, repo: 'acme/chat-8b', max_batch_size: 64 },
  { gpu: 'L40S-48GB', num_gpus: 4, repo: 'brightmoor/moor-27b-it', max_batch_size: 32 },
  { gpu: 'A100-80GB', num_gpus: 1, repo: 'quillworks/quill-coder-7b', max_batch_size: 96 },
  { gpu: 'A100-80GB', num_gpus: 8, repo: 'acme/chat-70b', max_batch_size: 64 },
  { gpu: 'H100-80GB', num_gpus: 1, repo: 'acme/chat-8b', max_batch_size: 96 },
  { gpu: 'H100-80GB', num_gpus: 2, repo: 'acme/chat-70b', max_batch_size: 32 },
  { gpu: 'H200-141GB', num_gpus: 8, repo: 'acme/chat-405b', max_batch_size: 16 },
  { gpu: 'L4-24GB', num_gpus: 1, repo: 'acme/chat-70b', max_batch_size: 96 },
] as const

/** The draws of one world, one after the other. */
class Draws {
  readonly #chance: Chance
  #drawn = 0

  constructor(seed: number) {
    this.#chance = new Chance(`sweep ${seed}`)
  }

  unit(): number {
    return this.#chance.unit({ hi: 0, lo: 0 }, DRAW, this.#drawn++)
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.unit() * (high - low + 1))
  }

  /** A number from `low` to `high`, each order of magnitude as likely as the next. */
  scale(low: number, high: number): number {
    return low * (high / low) ** this.unit()
  }

  likely(share: number): boolean {
    return this.unit() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.unit() * list.length)]!
  }
}

/** The world of a number. */
export function randomWorld(seed: number): RandomWorld {
  const draws = new Draws(seed)
  const leaning = LEANINGS[seed % LEANINGS.length]!
  const fleet = fleetOf(draws, leaning)
  const hours = hoursOf(draws, leaning)
  const names = Array.from({ length: draws.between(1, leaning === 'large' ? 40 : 12) }, (_, i) => `acme/model-${i}`)
  const deployments = names.filter(() => draws.likely(0.6)).map(name => deploymentOf(draws, leaning, name, fleet.types))
  const steps = [...stepsOf(draws, leaning, fleet, names, hours), ...leaningSteps(draws, leaning, fleet, names, hours)]
  steps.sort((a, b) => a.at - b.at)
  const { api_tokens, models, hardware, hub } = loadFixture('empty')
  const fixtures: FixtureInput = {
    account: accountOf(draws, leaning, fleet.types),
    api_tokens: [...api_tokens],
    models: [...models],
    hardware: [...hardware],
    hub,
    nodes: { pools: fleet.pools },
    deployments,
    hosted: fleet.hosted,
  }
  return {
    seed,
    leaning,
    gpus: fleet.gpus,
    hours,
    options: { fixtures, profile: profileOf(draws, leaning, fleet.gpus, hours), seed, journalLimit: 2000 },
    steps,
  }
}

interface RandomFleet {
  readonly pools: NonNullable<FixtureInput['nodes']>['pools']
  readonly hosted: NonNullable<FixtureInput['hosted']>
  readonly types: readonly (typeof GPUS)[number][]
  readonly zones: readonly string[]
  readonly nodes: readonly string[]
  readonly gpus: number
}

function fleetOf(draws: Draws, leaning: Leaning): RandomFleet {
  const most = leaning === 'large' ? 2000 : leaning === 'fragmented' ? 64 : 400
  const gpus = Math.round(draws.scale(leaning === 'large' ? 500 : 8, most))
  const types = leaning === 'fragmented' ? (['A100-80GB'] as const) : GPUS.filter(() => draws.likely(0.6))
  const used = types.length > 0 ? types : (['H100-80GB'] as const)
  const zones = ['a', 'b', 'c', 'd'].slice(0, draws.between(1, 4)).map(letter => `zone-${letter}`)
  const pools: RandomFleet['pools'] = []
  const nodes: string[] = []
  for (const [i, gpu] of used.entries()) {
    for (const zone of zones) {
      const size = leaning === 'fragmented' ? 8 : draws.pick([1, 4, 8, 8, 8])
      const count = Math.max(1, Math.round(gpus / used.length / zones.length / size))
      const grows = leaning !== 'fragmented' && draws.likely(0.4)
      const prefix = `n${i}${zone.slice(-1)}`
      pools.push({
        name: `pool-${i}-${zone}`,
        zone,
        market: leaning === 'spot' || draws.likely(0.2) ? 'spot' : 'on-demand',
        nodes: [
          {
            prefix,
            gpu,
            gpus_per_node: size,
            count,
            ...(grows && { min: draws.between(0, count), max: count + draws.between(0, 4) }),
            occupied: size > 1 && draws.likely(0.2) ? draws.between(0, size - 1) : 0,
            image_cached: draws.likely(0.5),
          },
        ],
      })
      for (let node = 0; node < count; node++) nodes.push(`${prefix}-${node}`)
    }
  }
  const first = pools[0]!.nodes[0]!
  const hosted = draws.likely(0.4) && first.occupied === 0 && leaning !== 'fragmented'
  return {
    pools,
    hosted: hosted
      ? [{ instance_id: 'box', name: 'box', plan_id: 'small', storage_gb: draws.between(21, 300), created_at: 0 }]
      : [],
    types: used,
    zones,
    nodes,
    gpus,
  }
}

function hoursOf(draws: Draws, leaning: Leaning): number {
  if (leaning === 'long batches') return draws.between(26, 48)
  if (leaning === 'large') return draws.scale(1, 24)
  return draws.scale(1, 168)
}

function accountOf(draws: Draws, leaning: Leaning, types: readonly GpuType[]): FixtureInput['account'] {
  const poor = leaning === 'poor' || draws.likely(0.1)
  const limited = leaning === 'limits'
  return {
    uid: 'acct_sweep',
    email: 'sweep@acme.example',
    display_name: 'acme',
    funds_cents: poor ? draws.between(100, 3000) : 100_000_000,
    topup: {
      amount: draws.between(500, 20_000),
      threshold: draws.between(100, 2000),
      enabled: leaning === 'poor' ? draws.likely(0.8) : draws.likely(0.5),
    },
    card: draws.likely(leaning === 'poor' ? 0.5 : 0.9) ? 'good' : 'declined',
    gpu_limits: Object.fromEntries(
      types.map(gpu => [gpu, limited || draws.likely(0.15) ? draws.between(1, 16) : null] as const),
    ),
  }
}

function profileOf(draws: Draws, leaning: Leaning, gpus: number, hours: number): ProfileInput {
  const slow = leaning === 'long batches' || leaning === 'poor'
  const pack = leaning === 'large' ? 'rough' : draws.pick(['none', 'calm', 'realistic', 'spot-2023', 'rough'])
  // What a large fleet meets in a week by itself, a small one meets in an hour at a higher rate.
  const most = Math.min(1000, Math.max(1, 1_000_000 / (gpus * hours)))
  return {
    extends: draws.pick(['realistic', 'realistic', 'quick', 'rough']),
    // So slow that a few thousand lines take a day.
    ...(slow && { timings: { batch_shared_tokens_per_second: draws.pick([1, 2]) } }),
    ...(leaning === 'adapters' && { timings: { adapter_slots: draws.between(1, 3) } }),
    limits: { queue_per_deployment: leaning === 'queues' ? draws.between(0, 200) : 1000 },
    reviews: { limit_policy: draws.pick(['approve', 'approve', 'deny']), limit_approved_up_to: draws.between(4, 64) },
    policies: {
      idle_to_zero: draws.pick(['running', 'running', 'stopped']),
      bill_from: draws.pick(['ready', 'ready', 'placed']),
      balance_returns: draws.pick(['manual', 'restart']),
      hosted_host_lost: draws.pick(['failed', 'restarted']),
      overdraft_cents: draws.pick([0, 0, 100]),
      placement: leaning === 'fragmented' ? 'spread' : draws.pick(['best-fit', 'best-fit', 'spread']),
    },
    weather: { pack, acceleration: draws.scale(1, most) },
  }
}

function sizeOf(draws: Draws, types: readonly GpuType[]): (typeof SIZES)[number] {
  const fitting = SIZES.slice(0, -1).filter(one => types.includes(one.gpu))
  return draws.likely(0.05) || fitting.length === 0 ? draws.pick(SIZES) : draws.pick(fitting)
}

function deploymentOf(
  draws: Draws,
  leaning: Leaning,
  model_name: string,
  types: readonly GpuType[],
): NonNullable<FixtureInput['deployments']>[number] {
  const { gpu, num_gpus, repo, max_batch_size } = sizeOf(draws, types)
  const min_instances = leaning === 'sleepy' ? 0 : draws.pick([0, 1, 1, 1, 2])
  return {
    model_name,
    // Whatever is there already would need room: these look for it like all others.
    status: 'initializing',
    gpu,
    num_gpus,
    max_batch_size,
    weights: { repo },
    settings: { min_instances, max_instances: Math.max(1, min_instances) + draws.between(0, 4) },
    ...(draws.likely(0.8) && { load: loadOf(draws, leaning) }),
  }
}

function loadOf(draws: Draws, leaning: Leaning): NonNullable<DeploymentSeed['load']> {
  const rps = leaning === 'queues' ? draws.scale(50, 2000) : draws.scale(0.05, 100)
  const sizes = { prompt_tokens: draws.between(50, 2000), output_tokens: draws.between(20, 500) }
  switch (draws.pick(['constant', 'steps', 'wave', 'burst', 'ramp', 'trace'])) {
    case 'constant':
      return { kind: 'constant', rps, ...sizes }
    case 'steps':
      return {
        kind: 'steps',
        steps: [
          { at: '10m', rps },
          { at: '2h', rps: 0 },
          { at: '5h', rps: rps * 2 },
        ],
        ...sizes,
      }
    case 'wave':
      return { kind: 'wave', low: 0, high: rps, period: draws.pick(['2h', '24h']), peak_at: '1h', ...sizes }
    case 'burst':
      return { kind: 'burst', base: 0, peak: rps, every: '90m', lasts: '15m', jitter: 1, ...sizes }
    case 'ramp':
      return { kind: 'ramp', from: 0, to: rps, start: '0s', end: '3h', ...sizes }
    default:
      return { kind: 'trace', text: `0,${rps}\n1800,0\n5400,${rps / 2}\n`, repeat: true, ...sizes }
  }
}

/** What clients do in any world. */
function stepsOf(draws: Draws, leaning: Leaning, fleet: RandomFleet, names: readonly string[], hours: number): Step[] {
  const count = draws.between(10, leaning === 'large' ? 200 : 60)
  const when = () => Math.floor(draws.unit() * hours * 3600)
  return Array.from({ length: count }, () => ({ at: when(), deed: deedOf(draws, fleet, names) }))
}

function deedOf(draws: Draws, fleet: RandomFleet, names: readonly string[]): Deed {
  const name = draws.pick(names)
  const about = (method: string, path: string): Deed => ({ do: 'about', name, method, path })
  const post = (path: string, body?: unknown): Deed => ({ do: 'request', method: 'POST', path, body })
  const roll = draws.unit()
  if (roll < 0.2) return creation(draws, name, fleet.types)
  if (roll < 0.28) return about('POST', '/deploy/{id}/stop')
  if (roll < 0.38) return about('POST', '/deploy/{id}/start')
  if (roll < 0.44) return about('DELETE', '/deploy/{id}')
  if (roll < 0.46) return { do: 'request', method: 'DELETE', path: `/models/${name}?version=ALL` }
  if (roll < 0.52) return adapter(name, draws.pick(['tone', 'style', 'voice']))
  if (roll < 0.62) {
    const model = draws.pick([CATALOG, name, name])
    const bad = draws.pick<Bad>(['none', 'none', 'requests', 'requests', 'file'])
    return { do: 'batch', model, lines: draws.between(1, 300), tokens: draws.between(10, 400), bad }
  }
  if (roll < 0.65) return { do: 'cancel', nth: draws.between(0, 5) }
  if (roll < 0.67) {
    const model = draws.pick([CATALOG, name, name, 'tone'])
    const [clients, left] = [draws.between(1, 150), draws.between(0, 20)]
    return { do: 'chats', model, clients, left, tokens: draws.between(1, 4000) }
  }
  if (roll < 0.68) return post('/payment/funds', { amount: draws.between(100, 5000) })
  if (roll < 0.71) {
    const [amount, threshold] = [draws.between(0, 20_000), draws.between(0, 3000)]
    return post('/payment/topup', { amount, threshold, enabled: draws.likely(0.7) })
  }
  if (roll < 0.75) {
    const gpu_type = draws.pick(fleet.types)
    return post('/v1/me/gpu_limit/request', { gpu_type, requested_limit: draws.between(1, 100), reason: 'more work' })
  }
  if (roll < 0.76) return post('/v1/hosted/box/expand_storage', { new_size_gb: draws.between(10, 600) })
  if (roll < 0.82) return rental(draws, fleet.types)
  // What breaks, more often than it is put right; weather and heal() do the rest.
  return trouble(draws, fleet)
}

function trouble(draws: Draws, fleet: RandomFleet): Deed {
  const node = draws.pick(fleet.nodes)
  const give = (verb: string, target?: string, args?: Record<string, number>): Deed => ({
    do: 'command',
    verb,
    ...(target !== undefined && { target }),
    ...(args !== undefined && { args }),
  })
  const roll = draws.between(0, 17)
  if (roll < 3) return give('node.crash', node)
  if (roll < 5) return give('node.repair', node)
  if (roll === 5) return give('node.drain', node)
  if (roll === 6) return give('node.uncordon', node)
  if (roll === 7) return give('gpu.fail', `${node}/0`, { xid: draws.pick([13, 31, 48, 63, 79, 94]) })
  if (roll === 8) return give('node.degrade', node, { factor: draws.scale(1.1, 10) })
  if (roll === 9) return give('disk.fill', node)
  if (roll === 10) return give(draws.pick(['pool.stockOut', 'pool.restock']), draws.pick(fleet.types))
  if (roll === 11) return give(draws.pick(['hub.down', 'hub.up']))
  if (roll === 12) return give(draws.pick(['registry.down', 'registry.up']))
  if (roll === 13) return give(draws.pick(['autoscaler.freeze', 'autoscaler.free']))
  if (roll === 14) return give('price.set', draws.pick(fleet.types), { cents: draws.between(0, 1000) })
  if (roll === 15) return give(draws.pick(['card.decline', 'card.accept']))
  if (roll === 16) return give(draws.pick(['limit.set']), draws.pick(fleet.types), { limit: draws.between(0, 64) })
  return { do: 'heal' }
}

/** Rents, stops, starts or deletes a hosted instance or container. */
function rental(draws: Draws, types: readonly GpuType[]): Deed {
  const name = draws.pick(['bench', 'trial'])
  const gpu = draws.pick(types)
  const num_gpus = draws.pick([1, 1, 2, 8])
  const roll = draws.unit()
  if (roll < 0.25)
    return {
      do: 'request',
      method: 'POST',
      path: '/v1/hosted',
      body: { name, plan_id: num_gpus > 1 ? 'large' : 'small' },
    }
  if (roll < 0.6) {
    const container_image = draws.likely(0.05) ? 'No Such Image' : 'registry.example/dev:1'
    const cloud_init_user_data = '#cloud-config'
    const body = { name, gpu_config: `${num_gpus}x${gpu}`, container_image, cloud_init_user_data }
    return { do: 'request', method: 'POST', path: '/v1/containers', body }
  }
  return { do: 'rented', verb: draws.pick(['stop', 'start', 'delete']), nth: draws.between(0, 5) }
}

function creation(draws: Draws, model_name: string, types: readonly GpuType[], more: object = {}): Deed {
  const { repo, ...size } = sizeOf(draws, types)
  const min_instances = draws.pick([0, 1, 1, 2])
  const body = {
    model_name,
    ...size,
    hub: { repo: draws.likely(0.05) ? 'acme/private-70b' : repo },
    settings: { min_instances, max_instances: Math.max(1, min_instances) + draws.between(0, 2) },
    ...more,
  }
  return { do: 'request', method: 'POST', path: '/deploy/llm', body }
}

function adapter(base_model: string, lora_name: string): Deed {
  const source = { type: 'modelhub', modelhub_url: 'https://hub.example/adapter' }
  return {
    do: 'request',
    method: 'POST',
    path: '/v1/lora/create',
    body: { base_model, lora_name, source, private: true },
  }
}

/** What makes sure that a world meets what it leans to. */
function leaningSteps(
  draws: Draws,
  leaning: Leaning,
  fleet: RandomFleet,
  names: readonly string[],
  hours: number,
): Step[] {
  const end = hours * 3600
  const part = (share: number) => Math.floor(end * share)
  const command = (at: number, verb: string, target?: string): Step => ({
    at,
    deed: { do: 'command', verb, ...(target !== undefined && { target }) },
  })
  const batch = (at: number, model: string, lines: number, tokens: number): Step => ({
    at,
    deed: { do: 'batch', model, lines, tokens, bad: 'none' },
  })
  const own = (at: number, name: string, types: readonly GpuType[], more: object = {}): Step => ({
    at,
    deed: creation(draws, name, types, { settings: { min_instances: 1, max_instances: 2 }, ...more }),
  })
  switch (leaning) {
    case 'poor':
      return [
        batch(part(0.02), CATALOG, 500, 400),
        command(part(0.05), 'card.decline'),
        batch(part(0.1), CATALOG, 500, 400),
        command(part(0.7), 'card.accept'),
      ]
    case 'spot':
      return [0.1, 0.3, 0.5, 0.7].flatMap(share => [
        own(part(share - 0.05), `acme/spot-${share}`, fleet.types),
        batch(part(share), `acme/spot-${share}`, 3000, 500),
        // While it runs, which on a fast GPU is seconds: its validation takes two of them.
        ...fleet.nodes.slice(0, 60).map((node, i) => command(part(share) + 3 + i / 50, 'node.preempt', node)),
      ])
    case 'fragmented':
      return Array.from({ length: 3 }, (_, i) => ({
        at: part(0.1 * (i + 1)),
        deed: creation(draws, `acme/wide-${i}`, ['A100-80GB'], {
          num_gpus: 8,
          hub: { repo: 'acme/chat-70b' },
          settings: { min_instances: 1, max_instances: 1 },
        }),
      }))
    case 'long batches':
      return [
        own(60, 'acme/slow', fleet.types),
        batch(900, 'acme/slow', 2000, 400),
        batch(1000, CATALOG, 3000, 1000),
        { at: 5 * 3600, deed: { do: 'about', name: 'acme/slow', method: 'POST', path: '/deploy/{id}/stop' } },
      ]
    case 'sleepy':
      return [0.2, 0.5, 0.8].map(share => batch(part(share), draws.pick(names), 20, 50))
    case 'limits':
      return fleet.types.map(gpu_type => ({
        at: part(0.1),
        deed: {
          do: 'request',
          method: 'POST',
          path: '/v1/me/gpu_limit/request',
          body: { gpu_type, requested_limit: 500, reason: 'a launch' },
        },
      }))
    case 'zones':
      return [0.2, 0.6].flatMap(share => {
        const zone = draws.pick(fleet.zones)
        // A deployment that was just stopped drains while its zone goes down.
        const stops = names.map(
          (name): Step => ({
            at: part(share),
            deed: { do: 'about', name, method: 'POST', path: '/deploy/{id}/stop' },
          }),
        )
        return [
          ...stops,
          command(part(share) + 0.5, 'zone.down', zone),
          command(part(share + 0.1), 'zone.up', zone),
          ...stops.map(({ deed }) => ({
            at: part(share + 0.11),
            deed: { ...deed, path: '/deploy/{id}/start' } as Deed,
          })),
        ]
      })
    case 'bad starts':
      return Array.from({ length: 4 }, (_, i) => i).flatMap(i => [
        own(part(0.1 * (i + 1)), `acme/start-${i}`, fleet.types),
        own(part(0.1 * (i + 1)), `acme/crash-${i}`, fleet.types, { extra_args: ['--no-such-argument'] }),
        {
          at: part(0.1 * (i + 1)) + draws.between(12, 90),
          deed: { do: 'about', name: `acme/start-${i}`, method: 'DELETE', path: '/deploy/{id}' },
        } satisfies Step,
      ])
    case 'adapters':
      return [
        own(30, 'acme/base', fleet.types),
        ...Array.from({ length: 8 }, (_, i): Step => ({ at: 1800 + 60 * i, deed: adapter('acme/base', `lora-${i}`) })),
        ...Array.from({ length: 8 }, (_, i) => batch(part(0.6) + 200 * i, `acme/lora-${i}`, 50, 50)),
      ]
    default:
      return []
  }
}
