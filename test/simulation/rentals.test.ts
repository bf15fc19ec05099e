/** Hosted instances on their machines, and containers as tenants of the fleet. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MICROCENTS_PER_CENT as CENT } from '../../src/simulation/account/money.ts'
import { countsAgainstQuota } from '../../src/simulation/rentals/rental-row.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { forAll } from '../setup/for-all.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

/** Half of the random sequences of each law. */
const RUNS = Number(process.env.INVARIANT_RUNS ?? 4)
const IMAGE = 'registry.example/cuda-dev:12.8'
const box = (about: object = {}) => ({
  instance_id: 'box',
  name: 'box',
  plan_id: 'xlarge',
  storage_gb: 350,
  created_at: 1_767_000_000,
  ...about,
})
const crate = (about: object = {}) => ({
  container_id: 'crate',
  name: 'crate',
  gpu_config: '1xH100-80GB',
  container_image: IMAGE,
  created_at: 1_767_000_000,
  ...about,
})
/** A rental by its ordinal, with its present row. */
const handleOf = ({ world: { rentals } }: Simulator, ordinal: number) => ({
  id: rentals.read(ordinal).id,
  get row() {
    return rentals.read(ordinal)
  },
  get state() {
    return rentals.read(ordinal).state
  },
  start: () => rentals.start(ordinal),
  stop: () => rentals.stop(ordinal),
  delete: () => rentals.delete(ordinal),
})
const find = (sim: Simulator, id: string) => handleOf(sim, sim.world.rentals.ordinalOf(id)!)
const rent = (sim: Simulator, planId = 'small', name = 'bench', region = 'eu-north') => {
  const { cents_per_hour: centsPerHour, disk_gb: storageGb } = sim.world.store.plans.get(planId)!
  const machine = { planId, region, centsPerHour, agentType: 'standard', version: null, lastBackup: null }
  return handleOf(sim, sim.world.rentals.create({ kind: 'hosted', name, machine, storageGb }))
}
/** Worlds whose region has a single machine of the only plan. */
const single = (hosted: ReturnType<typeof box>[] = []) => {
  const plan = {
    id: 'single',
    vcpus: 1,
    memory_gb: 1,
    disk_gb: 20,
    cents_per_hour: 100,
    regions: ['a', 'b'],
    capacity: 1,
  }
  return stage([], {}, { with: { plans: [plan], hosted } })
}
const rentSingle = (sim: Simulator, region = 'a') => rent(sim, 'single', 'one', region)
const ship = (sim: Simulator, numGpus = 1, image = IMAGE) =>
  handleOf(sim, sim.world.rentals.create({ kind: 'container', name: 'trial', gpu: 'H100-80GB', numGpus, image }))
const free = (sim: Simulator) => sim.world.nodes.free('H100-80GB')

describe('a life', () => {
  test('that is ended before it runs is over at once', () => {
    const sim = stage()
    const [one, other, third] = [rent(sim), ship(sim), rent(sim)]
    pass(sim, '1s')
    one.stop()
    other.delete()
    third.delete()
    expect([one.state, other.state, third.state, free(sim)]).toEqual(['stopped', 'deleted', 'deleted', 8])
    // Nothing is left to fire.
    expect(sim.world.next(sim.world.clock.now + 3600e6)).toBe(false)
  })

  test('a deletion takes the place of a stop that is under way', () => {
    const sim = stage([{}], {}, { with: { hosted: [box()] } })
    const one = find(sim, 'box')
    one.stop()
    one.delete()
    pass(sim, '30s')
    expect(one.state).toBe('deleted')
  })
})

describe('an image', () => {
  test('that names none fails the container', () => {
    const sim = stage()
    const one = ship(sim, 1, 'No Such Image')
    passUntil(sim, () => one.state === 'failed')
    expect(one.row.failReason).toBe('image pull failed: "No Such Image" names no image')
    expect(free(sim)).toBe(8)
  })

  test('fails the container when the registry does not answer for a minute', () => {
    const sim = stage([{}], {}, { with: { containers: [crate()] } })
    sim.cluster.registry.down()
    const one = ship(sim, 1, 'registry.example/another:1')
    pass(sim, '61s')
    expect(one.row).toMatchObject({ state: 'failed', failReason: 'the image registry did not answer' })
    expect(find(sim, 'crate').state).toBe('running')
  })

  test('goes on when the registry goes down after its pull began, as that of an instance does', () => {
    const profile = { timings: { image_pull: '100s', container_boot: '1s' } }
    const sim = stage([{}], {}, { profile })
    const one = ship(sim)
    pass(sim, '10s')
    sim.cluster.registry.down()
    expect(passUntil(sim, () => one.state === 'running') / 1e6).toBe(91)
  })

  test('is pulled once for all containers and instances of a node that want it', () => {
    const profile = { timings: { image_pull: '100s', container_boot: '1s' } }
    const timesOf = (order: (sim: Simulator) => void) => {
      const sim = stage([{ cached: false }], {}, { profile })
      order(sim)
      pass(sim, '1h')
      const pulled = sim.journal.entries().filter(({ kind }) => kind.endsWith('.imagePulled'))
      return pulled.map(({ kind, time }) => [kind, time / 1e6])
    }
    const deploy = (sim: Simulator) => sim.world.deployments.createLlm(spec({ container_image: IMAGE }))
    const instance = timesOf(sim => {
      deploy(sim)
      pass(sim, '40s')
      ship(sim)
      ship(sim)
    })
    expect(instance.map(([kind]) => kind)).toEqual([
      'instance.imagePulled',
      'container.imagePulled',
      'container.imagePulled',
    ])
    expect(new Set(instance.map(([, time]) => time)).size).toBe(1)
    const container = timesOf(sim => {
      ship(sim)
      pass(sim, '40s')
      deploy(sim)
    })
    expect(container).toEqual([
      ['container.imagePulled', 100],
      ['instance.imagePulled', 100],
    ])
  })

  test('comes for the others too when the container that began its pull is deleted', () => {
    const profile = { timings: { image_pull: '100s', container_boot: '1s' } }
    const sim = stage([{}], {}, { profile })
    const [one, other] = [ship(sim), ship(sim)]
    pass(sim, '50s')
    one.delete()
    expect(passUntil(sim, () => other.state === 'running') / 1e6).toBe(51)
  })

  test('in use stays in the cache of its node', () => {
    const profile = { timings: { image_cache_bytes: '30GB', image_bytes: '28GB' } }
    const sim = stage([{ cached: false }], {}, { profile })
    const one = ship(sim)
    passUntil(sim, () => one.state === 'running')
    const other = ship(sim, 1, 'registry.example/another:1')
    passUntil(sim, () => other.state === 'running')
    const images = () => sim.world.nodes.read(0).images.map(({ image }) => image)
    expect(images()).toEqual([IMAGE, 'registry.example/another:1'])
    one.delete()
    pass(sim, '1m')
    const third = ship(sim, 1, 'registry.example/third:1')
    passUntil(sim, () => third.state === 'running')
    expect(images()).not.toContain(IMAGE)
  })
})

describe('capacity', () => {
  test('is shared with deployments, first come, first served', () => {
    const sim = stage([{ gpus: 2 }])
    const one = ship(sim, 2)
    const chat = sim.world.deployments.createLlm(spec({ num_gpus: 2 }))
    pass(sim, '30m')
    expect([one.state, chat.status]).toEqual(['running', 'initializing'])
    one.delete()
    passUntil(sim, () => chat.status === 'running')
    const late = ship(sim)
    pass(sim, '599s')
    expect(late.state).toBe('creating')
    pass(sim, '1s')
    expect(late.row).toMatchObject({ state: 'failed', failReason: 'no node had 1 free H100-80GB for 10m' })
    expect(sim.world.gpuQuotas.held('H100-80GB')).toBe(2)
  })

  test('goes to the tenant that has waited longest, a rental or an instance', () => {
    const sim = stage([{ gpus: 1 }])
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    const [first] = [ship(sim), pass(sim, '1m')]
    const second = sim.world.deployments.createLlm(spec({ model_name: 'acme/second' }))
    pass(sim, '1m')
    chat.stop()
    pass(sim, '20m')
    expect([first!.state, second.status]).toEqual(['running', 'initializing'])
    first!.delete()
    passUntil(sim, () => second.status === 'running')
  })

  test('of a region is that of the plan there, first come, first served', () => {
    const sim = single()
    const [one, elsewhere] = [rentSingle(sim), rentSingle(sim, 'b')]
    pass(sim, '1m')
    const late = rentSingle(sim)
    pass(sim, '5m')
    expect([one.state, elsewhere.state, late.state]).toEqual(['running', 'running', 'creating'])
    one.stop()
    passUntil(sim, () => late.state === 'running')
    one.start()
    pass(sim, '10m')
    const failReason = 'the region a had no machine for the plan single for 10m'
    expect(one.row).toMatchObject({ state: 'stopped', failReason })
    late.delete()
    pass(sim, '1m')
    one.start()
    expect(one.row.failReason).toBe('')
    passUntil(sim, () => one.state === 'running')
  })

  test('of a fixture can be less than what runs in it', () => {
    const sim = single([1, 2].map(i => ({ ...box({ instance_id: `box${i}`, plan_id: 'single' }), region: 'a' })))
    const late = rentSingle(sim)
    find(sim, 'box1').stop()
    pass(sim, '5m')
    expect(late.state).toBe('creating')
    find(sim, 'box2').stop()
    passUntil(sim, () => late.state === 'running')
  })

  test('is provisioned for containers as for instances', () => {
    const pools = [
      {
        name: 'spot',
        zone: 'zone-a',
        nodes: [{ prefix: 'node', gpu: 'H100-80GB' as const, gpus_per_node: 8, count: 0, max: 2 }],
      },
    ]
    const sim = stage([], {}, { with: { nodes: { pools } } })
    const one = ship(sim, 8)
    passUntil(sim, () => one.state === 'running')
    expect(sim.cluster.nodeOf(one.id).name).toBe('node-0')
    one.delete()
    pass(sim, '1h')
    expect(sim.cluster.nodes()).toEqual([])
  })
})

describe('what carries them', () => {
  const world = (options: object = {}) =>
    stage([{ count: 2 }], {}, { with: { hosted: [box()], containers: [crate()] }, ...options })
  const states = (sim: Simulator) => [find(sim, 'box').state, find(sim, 'crate').state]

  test('dies, and they have failed and cost nothing more', () => {
    const sim = world()
    sim.cluster.node('node-0').crash()
    expect(states(sim)).toEqual(['running', 'failed'])
    sim.cluster.hosted('box').crash()
    expect(states(sim)).toEqual(['failed', 'failed'])
    expect(find(sim, 'box').row.failReason).toBe('its machine crashed')
    expect(find(sim, 'crate').row.failReason).toBe('node node-0 crashed')
    const { balance } = sim.ledger
    pass(sim, '1h')
    expect(sim.ledger.balance).toBe(balance)
    expect(() => sim.cluster.nodeOf('crate')).toThrow("container 'crate': it is failed and has no GPUs.")
    expect(() => sim.cluster.nodeOf('box')).toThrow('it has a machine of its own. Use cluster.hosted(id).')
    expect(() => sim.cluster.hosted('box').crash()).toThrow("Failed to crash hosted instance 'box': it has no machine")
    expect(() => sim.cluster.hosted('crate').crash()).toThrow("Failed to find the hosted instance 'crate'")
  })

  test('dies, and the hosted instance starts on another machine where the provider does so', () => {
    const sim = world({ profile: { policies: { hosted_host_lost: 'restarted' } } })
    sim.cluster.hosted('box').crash()
    expect(states(sim)[0]).toBe('starting')
    const { balance } = sim.ledger
    passUntil(sim, () => states(sim)[0] === 'running')
    // The container runs meanwhile, at 220 cents an hour; the hosted instance costs nothing until it runs again.
    expect(find(sim, 'box').row.billedSince).toBe(sim.world.clock.now)
    expect(balance - sim.ledger.balance).toBe(Math.floor((sim.world.clock.now * 220 * CENT) / 3600e6))
    expect(find(sim, 'box').row.storageGb).toBe(350)
    expect(story(sim, 'box')).toEqual(
      ['crashed', 'lost', 'starting', 'placed', 'running'].map(word => `hosted.${word}`),
    )
  })

  test('dies while they shut down: they are what they were to become', () => {
    const sim = world()
    find(sim, 'box').stop()
    find(sim, 'crate').delete()
    pass(sim, '29s')
    sim.cluster.zone('zone-a').down()
    sim.cluster.hosted('box').crash()
    expect(states(sim)).toEqual(['stopped', 'deleted'])
  })

  test.each([
    [13, ['running', 'running']],
    [79, ['running', 'failed']],
  ])('has an XID %i on one GPU: %j', (xid, after) => {
    const sim = world()
    sim.cluster.gpu('node-0', 0).fail(xid)
    expect(states(sim)).toEqual(after)
  })

  test('is drained: they stay until the deadline', () => {
    const sim = world()
    sim.cluster.node('node-0').drain()
    pass(sim, '299s')
    expect(states(sim)).toEqual(['running', 'running'])
    pass(sim, '1s')
    expect(states(sim)).toEqual(['running', 'failed'])
  })

  test('is taken back: they have the notice, and then have failed', () => {
    const pools = [
      {
        name: 'spot',
        zone: 'zone-a',
        market: 'spot' as const,
        nodes: [{ prefix: 'node', gpu: 'H100-80GB' as const, gpus_per_node: 8, count: 1 }],
      },
    ]
    const sim = stage([], {}, { with: { nodes: { pools }, hosted: [box()], containers: [crate()] } })
    sim.cluster.pool('spot').preempt()
    pass(sim, '119s')
    expect(states(sim)).toEqual(['running', 'running'])
    pass(sim, '1s')
    expect(states(sim)).toEqual(['running', 'failed'])
  })
})

describe('money', () => {
  test('flows from placed where the profile says so', () => {
    const profile = {
      timings: { image_pull: '100s', container_boot: '20s' },
      policies: { bill_from: 'placed' as const },
    }
    const sim = stage([{}], {}, { profile })
    const one = ship(sim)
    const { balance } = sim.ledger
    passUntil(sim, () => one.state === 'running')
    expect(balance - sim.ledger.balance).toBe(Math.floor((120 * 220 * CENT) / 3600))
  })

  test('that is gone stops hosted instances and ends containers, after the grace', () => {
    const sim = stage([{}], { funds_cents: 100 }, { with: { hosted: [box()], containers: [crate()] } })
    const [one, other] = [find(sim, 'box'), find(sim, 'crate')]
    passUntil(sim, () => sim.world.ledger.suspensionReason !== undefined)
    pass(sim, '599s')
    expect([one.state, other.state]).toEqual(['running', 'running'])
    pass(sim, '1s')
    expect([one.state, other.state]).toEqual(['stopping', 'shutting_down'])
    pass(sim, '30s')
    expect([one.state, other.state]).toEqual(['stopped', 'deleted'])
    expect(other.row.failReason).toBe('the account was suspended (balance)')
    expect(sim.world.ledger.addFunds(5000)).toBe(true)
    pass(sim, '1h')
    expect(one.state).toBe('stopped')
  })

  test('that comes back starts them again where the provider does so', () => {
    const sim = stage(
      [{}],
      { funds_cents: 40 },
      {
        with: { hosted: [box(), box({ instance_id: 'other' })] },
        profile: { policies: { balance_returns: 'restart' } },
      },
    )
    const [one, other] = [find(sim, 'box'), find(sim, 'other')]
    other.stop()
    passUntil(sim, () => one.state === 'stopping')
    // In the middle of the stop: it starts once that is over.
    expect(sim.world.ledger.addFunds(50_000)).toBe(true)
    pass(sim, '30s')
    expect([one.state, other.state]).toEqual(['starting', 'stopped'])
    passUntil(sim, () => one.state === 'running')
    expect(one.row.failReason).toBe('')
  })
})

describe('of a fixture', () => {
  test('those that are on their way go on from there', () => {
    const hosted = [
      box({ instance_id: 'a', state: 'creating' }),
      box({ instance_id: 'b', state: 'starting' }),
      box({ instance_id: 'c', state: 'stopping' }),
    ]
    const containers = [
      crate({ container_id: 'd', state: 'creating' }),
      crate({ container_id: 'e', state: 'starting' }),
      crate({ container_id: 'f', state: 'shutting_down' }),
    ]
    const sim = stage([{}], {}, { with: { hosted, containers } })
    const states = () => [
      ...['a', 'b', 'c'].map(id => find(sim, id).state),
      ...['d', 'e', 'f'].map(id => find(sim, id).state),
    ]
    expect(states()).toEqual(['creating', 'starting', 'stopping', 'creating', 'starting', 'shutting_down'])
    expect([free(sim), sim.world.gpuQuotas.held('H100-80GB')]).toEqual([6, 3])
    pass(sim, '1h')
    expect(states()).toEqual(['running', 'running', 'stopped', 'running', 'running', 'deleted'])
  })

  test.each([
    [
      crate({ gpu_config: '9xH100-80GB' }),
      /containers: \$\[0\]\.gpu_config: expected a number from 1 to 8 and a GPU type/,
    ],
    [
      crate({ gpu_config: '1xother' }),
      /expected a number from 1 to 8 and a GPU type, as in '2xA100-80GB', got '1xother'/,
    ],
    [crate({ gpu_config: '8xH100-80GB' }), /with\.containers: \$\[0\]: no node has 8 free H100-80GB for it/],
    [crate({ container_image: 'No Such' }), /with\.containers: \$\[0\]: it cannot be running: image pull failed/],
    [crate({ created_at: 1_767_225_601 }), /expected a time not later than the world's epoch/],
  ])('an invalid container of a fixture is refused: %#', (seed, message) => {
    expect(() => stage([{ gpus: 4 }], {}, { with: { containers: [seed] } })).toThrow(message)
  })
})

test('a report tells what they held and cost, and windows add up', () => {
  const profile = { timings: { image_pull: '100s', container_boot: '20s', hosted_boot: '60s', rental_shutdown: '0s' } }
  const sim = stage([{}], {}, { profile })
  const [one, other] = [rent(sim), ship(sim)]
  pass(sim, '1h')
  one.stop()
  pass(sim, '1h')
  const { totals, gpus, money } = sim.report()
  expect(totals.container_gpu_hours).toBe(2)
  expect(gpus[0]!.utilisation).toBe(2 / 16)
  const rent_microcents = Math.floor((3 * CENT * 3540) / 3600)
  expect(money.hosted).toEqual([
    { instance_id: one.id, name: 'bench', plan_id: 'small', rent_microcents, billed_hours: 3540 / 3600 },
  ])
  expect(money.containers).toMatchObject([{ container_id: other.id, billed_gpu_hours: 7080 / 3600 }])
  // No GPU type has the rent of a machine.
  expect(gpus.reduce((sum, gpu) => sum + gpu.rent_microcents, 0)).toBe(money.rent_microcents - rent_microcents)
  const middle = 1_234_567_890
  const halves = [sim.report({ to: middle }), sim.report({ from: middle })]
  expect(halves[0]!.totals.container_gpu_hours + halves[1]!.totals.container_gpu_hours).toBeCloseTo(2, 12)
  expect(halves[0]!.money.rent_microcents + halves[1]!.money.rent_microcents).toBe(money.rent_microcents)
})

test('a hosted instance costs its price times the time that it ran, however often it stops and starts', {
  tags: 'slow',
}, () => {
  const step = fc.record({
    do: fc.constantFrom('stop', 'start', 'crash', 'pass'),
    seconds: fc.double({ min: 0, max: 4000, noNaN: true }),
  })
  forAll(
    [fc.array(step, { maxLength: 20 }), fc.constantFrom('small', 'large')],
    { numRuns: 2 * RUNS },
    (steps, planId) => {
      const sim = stage([], {}, { profile: { policies: { hosted_host_lost: 'restarted' } } })
      const { clock, store } = sim.world
      const plan = store.plans.get(planId)!
      const one = rent(sim, planId)
      for (const { do: verb, seconds } of steps) {
        if (verb === 'stop' && ['creating', 'starting', 'running'].includes(one.state)) one.stop()
        else if (verb === 'start' && one.state === 'stopped') one.start()
        else if (verb === 'crash' && one.state === 'running') sim.cluster.hosted(one.id).crash()
        pass(sim, Math.round(seconds * 1000))
      }
      // The journal is the witness: it is billed from each `running` until it is stopped, or its machine lost.
      let ran = 0
      let since = -1
      for (const { kind, time } of sim.journal.entries()) {
        if (kind === 'hosted.running') since = time
        else if (since >= 0 && (kind === 'hosted.stopped' || kind === 'hosted.lost')) {
          ran += time - since
          since = -1
        }
      }
      if (since >= 0) ran += clock.now - since
      const microcents = Number((BigInt(Math.round(ran)) * BigInt(plan.cents_per_hour * CENT)) / 3_600_000_000n)
      expect(sim.report().money.rent_microcents).toBe(microcents)
      const billed = sim.world.ledger.secondsBilled(clock.unix(0), clock.unix() + 1)[one.id] ?? 0
      expect(billed).toBe(Math.floor(ran / 1e6))
    },
  )
})

/** An action on a small fleet, on which all actions compete. */
const deed = fc.oneof(
  fc.record({ do: fc.constantFrom('rent', 'ship', 'deploy'), gpus: fc.constantFrom(1, 1, 2, 4) }),
  fc.record({ do: fc.constantFrom('stop', 'start', 'delete', 'undeploy'), which: fc.nat(6) }),
  fc.record({ do: fc.constantFrom('crash', 'repair', 'drain', 'uncordon'), which: fc.nat(2) }),
  fc.record({ do: fc.constantFrom('xid', 'reset'), which: fc.nat(23) }),
  fc.record({ do: fc.constantFrom('registry', 'stock', 'funds') }),
  fc.record({ do: fc.constant('pass'), seconds: fc.integer({ min: 0, max: 900 }) }),
)

test('mixed tenants: no GPU is held twice or lost, and nothing is billed twice, whatever comes', {
  tags: 'slow',
}, () => {
  forAll([fc.array(deed, { maxLength: 25 }), fc.boolean()], { numRuns: 2 * RUNS }, (deeds, restarted) => {
    const profile = {
      extends: 'quick',
      policies: { hosted_host_lost: restarted ? ('restarted' as const) : ('failed' as const) },
    }
    const sim = stage([{ count: 3 }], { funds_cents: 3000, gpu_limits: { 'H100-80GB': null } }, { profile })
    for (const one of deeds) perform(sim, one)
    // `pass` counts every invariant at its end; the small world checks them after every event.
    pass(sim, '1h')
    const held = new Map<number, number[]>()
    for (const [, { node, gpus }] of [...sim.world.rentals.entries(), ...sim.world.instances.entries()]) {
      if (node >= 0) held.set(node, [...(held.get(node) ?? []), gpus])
    }
    for (const [node, { state, allocated: taken }] of sim.world.nodes.entries()) {
      const all = held.get(node) ?? []
      const either = all.reduce((sum, bits) => sum | bits, 0)
      // Bits that no two share sum to their union.
      expect(all.reduce((sum, bits) => sum + bits, 0)).toBe(either)
      expect(taken).toBe(either)
      if (state === 'down') expect(either).toBe(0)
    }
  })
})

function perform(sim: Simulator, one: { do: string; gpus?: number; which?: number; seconds?: number }): void {
  const { world, cluster } = sim
  const node = `node-${(one.which ?? 0) % 3}`
  const hosted = world.rentals.list('hosted', state => state !== 'deleted').map(ordinal => handleOf(sim, ordinal))
  const chosen = hosted[(one.which ?? 0) % Math.max(1, hosted.length)]
  const [container] = world.rentals.list('container', countsAgainstQuota).map(ordinal => handleOf(sim, ordinal))
  const deployments = world.deployments.list()
  switch (one.do) {
    case 'rent':
      rent(sim)
      break
    case 'ship':
      ship(sim, one.gpus)
      break
    case 'deploy':
      world.deployments.createLlm(spec({ model_name: `acme/m${world.deployments.count}`, num_gpus: one.gpus ?? 1 }))
      break
    case 'stop':
      if (chosen && ['creating', 'starting', 'running'].includes(chosen.state)) chosen.stop()
      break
    case 'start':
      if (chosen?.state === 'stopped' && world.ledger.canSpend()) chosen.start()
      break
    case 'delete':
      if (container && container.state !== 'shutting_down') container.delete()
      else if (chosen && !(chosen.state === 'stopping' && chosen.row.stateAfterShutdown === 'deleted')) chosen.delete()
      break
    case 'undeploy':
      deployments[(one.which ?? 0) % Math.max(1, deployments.length)]?.delete()
      break
    case 'xid':
      cluster.gpu(`node-${(one.which ?? 0) % 3}`, Math.floor((one.which ?? 0) / 3)).fail(48)
      break
    case 'reset':
      cluster.gpu(`node-${(one.which ?? 0) % 3}`, Math.floor((one.which ?? 0) / 3)).reset()
      break
    case 'registry':
      if (world.environment.state.registryDown) cluster.registry.up()
      else cluster.registry.down()
      break
    case 'stock':
      if (world.environment.isStockedOut('H100-80GB')) cluster.restock('H100-80GB')
      else cluster.stockOut('H100-80GB')
      break
    case 'funds':
      world.ledger.addFunds(2000)
      break
    case 'pass':
      pass(sim, (one.seconds ?? 0) * 1e3)
      break
    default:
      cluster.node(node)[one.do as 'crash']()
  }
}
