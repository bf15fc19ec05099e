import { describe, expect, test } from 'vitest'
import type { ProfileInput } from '../../src/data/profiles/load.ts'
import type { NodePool } from '../../src/data/records/fleet.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

type Group = Partial<NodePool['nodes'][number]> & { zone?: string }

/** A world of these groups of H100 nodes and no others. */
function fleet(groups: readonly Group[], profile: ProfileInput = {}) {
  const pools = groups.map(({ zone = 'zone-b', ...group }, i) => ({
    name: `extra-${i}`,
    zone,
    nodes: [{ prefix: `n${i}`, gpu: 'H100-80GB' as const, gpus_per_node: 8, count: 1, image_cached: true, ...group }],
  }))
  return stage(
    [{ gpu: 'L4-24GB', count: 0 }],
    {},
    { with: { nodes: { pools } }, profile: { extends: 'quick', ...profile } },
  )
}

describe('the image cache of a node', () => {
  const images = (sim: ReturnType<typeof fleet>) =>
    sim.world.nodes.read(sim.world.nodes.ordinalOf('n0-0')!).images.map(({ image }) => image)
  /** Runs a deployment of an image to its end; whether the image was on the node. */
  function start(sim: ReturnType<typeof fleet>, name: string, container_image?: string): string {
    const one = sim.world.deployments.createLlm(spec({ model_name: `acme/${name}`, container_image }))
    passUntil(sim, () => one.status === 'running')
    one.stop()
    pass(sim, '1m')
    const pulling = sim.journal
      .entries()
      .find(entry => entry.kind === 'instance.pulling' && entry.subject === `${one.deploy_id}-0`)
    return String(pulling!.fields!.image)
  }

  test('holds images by name: a second start is faster for the same image alone', () => {
    const sim = fleet([{}])
    expect(start(sim, 'a')).toBe('cached')
    expect(start(sim, 'b', 'registry.example/mine:1')).toBe('fetched')
    expect(start(sim, 'c', 'registry.example/mine:1')).toBe('cached')
    expect(start(sim, 'd', 'registry.example/mine:2')).toBe('fetched')
    expect(images(sim)).toEqual(['', 'registry.example/mine:1', 'registry.example/mine:2'])
  })

  test('gives up the least recently used image when its bytes are spent', () => {
    const sim = fleet([{}], { timings: { image_bytes: '20GB', image_cache_bytes: '50GB' } })
    start(sim, 'a', 'registry.example/one:1')
    start(sim, 'b')
    start(sim, 'c', 'registry.example/two:1')
    expect(images(sim)).toEqual(['', 'registry.example/two:1'])
    const evicted = sim.journal.entries().filter(entry => entry.kind === 'node.imageEvicted')
    expect(evicted.map(entry => [entry.subject, entry.fields?.image])).toEqual([['n0-0', 'registry.example/one:1']])
    expect(start(sim, 'd', 'registry.example/one:1')).toBe('fetched')
  })

  test('never gives up an image in use', () => {
    const sim = fleet([{}], { timings: { image_bytes: '20GB', image_cache_bytes: '40GB' } })
    const kept = sim.world.deployments.createLlm(spec({ container_image: 'registry.example/kept:1' }))
    passUntil(sim, () => kept.status === 'running')
    for (const name of ['a', 'b', 'c']) start(sim, name, `registry.example/${name}:1`)
    expect(images(sim)).toContain('registry.example/kept:1')
  })

  test('is empty after a repair', () => {
    const sim = fleet([{}])
    start(sim, 'a')
    sim.cluster.node('n0-0').crash()
    sim.cluster.node('n0-0').repair()
    expect(start(sim, 'b')).toBe('fetched')
  })
})

describe('a drained node', () => {
  test('cuts off at the deadline what still runs, so a drain that would take longer ends', () => {
    const sim = fleet([{}, {}], { timings: { drain: '10m', drain_deadline: '2m' } })
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    const home = sim.cluster.nodeOf(chat.deploy_id)
    home.drain()
    pass(sim, '119s')
    expect(story(sim, `${chat.deploy_id}-0`).at(-1)).toBe('instance.draining')
    expect(sim.world.nodes.read(sim.world.nodes.ordinalOf(home.name)!).tenants).toHaveLength(1)
    pass(sim, '1s')
    expect(story(sim, `${chat.deploy_id}-0`).at(-1)).toBe('instance.lost')
    expect(sim.world.nodes.read(sim.world.nodes.ordinalOf(home.name)!).tenants).toEqual([])
    // The one that took its place is untouched.
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 0 })
  })

  test('that is taken back into service in time cuts nothing off, and a second drain does not move the deadline', () => {
    const sim = fleet([{}, {}], { timings: { drain: '10m', drain_deadline: '2m' } })
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    const home = sim.cluster.nodeOf(chat.deploy_id)
    home.drain()
    pass(sim, '1m')
    home.uncordon()
    pass(sim, '5m')
    expect(story(sim, `${chat.deploy_id}-0`)).not.toContain('instance.lost')
    home.drain()
    pass(sim, '1m')
    home.drain()
    pass(sim, '1m')
    expect(story(sim, `${chat.deploy_id}-0`).at(-1)).toBe('instance.lost')
    expect(sim.world.next(sim.world.clock.now + 3600e6)).toBe(false)
  })

  test('ends the containers on it with the deadline: they have nowhere to go', () => {
    const container_image = 'registry.example/dev:1'
    const rented = { container_id: 'rented', name: 'box', gpu_config: '1xH100-80GB', container_image, created_at: 0 }
    const sim = stage([{}], {}, { with: { containers: [rented] }, profile: 'quick' })
    sim.cluster.node('node-0').drain()
    pass(sim, '9s')
    expect(sim.world.rentals.findById('rented')!.state).toBe('running')
    pass(sim, '1s')
    expect(sim.world.rentals.findById('rented')!.state).toBe('failed')
  })

  test('that is empty sooner leaves nothing to fire', () => {
    const sim = fleet([{}, {}])
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    sim.cluster.nodeOf(chat.deploy_id).drain()
    chat.stop()
    pass(sim, '2s')
    expect(sim.world.next(sim.world.clock.now + 3600e6)).toBe(false)
  })
})

describe('provisioning', () => {
  const states = (sim: ReturnType<typeof fleet>) => sim.cluster.nodes().map(({ name, state }) => `${name} ${state}`)

  test('notices at once that a node was cordoned while a tenant waits', () => {
    const sim = fleet([{ min: 1, max: 1 }])
    const big = sim.world.deployments.createLlm(spec({ num_gpus: 8 }))
    passUntil(sim, () => big.status === 'running')
    sim.world.deployments.createLlm(spec({ model_name: 'acme/late' }))
    pass(sim, '1m')
    expect(states(sim)).toEqual(['n0-0 ready'])
    sim.cluster.node('n0-0').cordon()
    pass(sim, '1s')
    expect(states(sim)).toEqual(['n0-0 cordoned', 'n0-1 provisioning'])
  })

  test('never gives back the only node that can serve, however many are down', () => {
    const sim = fleet([{ count: 2, min: 1, max: 2 }])
    sim.cluster.node('n0-0').crash()
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    chat.stop()
    pass(sim, '1h')
    expect(states(sim)).toEqual(['n0-0 down', 'n0-1 ready'])
  })

  test('asks one group for what is lacking, not each that could have it', () => {
    const sim = fleet([
      { count: 0, max: 4 },
      { count: 0, max: 4 },
    ])
    sim.world.deployments.createLlm(spec())
    pass(sim, '2s')
    expect(states(sim)).toEqual(['n0-0 provisioning'])
  })

  test('asks the next group for what the first cannot have', () => {
    const sim = fleet([
      { count: 0, max: 1 },
      { count: 0, max: 4 },
    ])
    sim.world.deployments.createLlm(spec({ num_gpus: 8, min_instances: 3, max_instances: 3 }))
    pass(sim, '2s')
    expect(states(sim)).toEqual(['n0-0 provisioning', 'n1-0 provisioning', 'n1-1 provisioning'])
  })

  test('brings no node up in a zone that is away, not even one on its way', () => {
    const sim = fleet([{ count: 0, max: 4 }])
    const chat = sim.world.deployments.createLlm(spec())
    pass(sim, '2s')
    expect(states(sim)).toEqual(['n0-0 provisioning'])
    sim.cluster.zone('zone-b').down()
    pass(sim, '1h')
    expect(states(sim)).toEqual(['n0-0 down'])
    sim.cluster.zone('zone-b').up()
    passUntil(sim, () => chat.status === 'running')
    expect(states(sim)).toEqual(['n0-0 ready'])
  })

  test('repairs a machine in a zone that is away for the day when it is back', () => {
    const sim = fleet([{}])
    sim.cluster.node('n0-0').crash()
    sim.cluster.zone('zone-b').down()
    sim.cluster.node('n0-0').repair()
    expect(states(sim)).toEqual(['n0-0 down'])
    sim.cluster.zone('zone-b').up()
    expect(states(sim)).toEqual(['n0-0 ready'])
  })
})
