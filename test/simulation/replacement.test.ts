import { describe, expect, test } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { pass, passUntil, spec } from './small-world.ts'
import { CONSTANT, type GroupInput, pool } from './spot-pool.ts'

function states(sim: Simulator): string[] {
  return sim.cluster.nodes().map(({ name, state }) => `${name} ${state}`)
}

describe('a preempted node', () => {
  test.each([{ count: 2 }, { count: 2, min: 2 }, { count: 2, max: 2 }, { count: 2, min: 2, max: 4 }])(
    'is replaced when its notice has ended and spot capacity has returned: %j',
    group => {
      const sim = pool(group)
      sim.cluster.node('spot-0').preempt('10m')
      pass(sim, '10m')
      expect(states(sim)).toEqual(['spot-1 ready'])
      pass(sim, '59m')
      expect(states(sim)).toEqual(['spot-1 ready'])
      pass(sim, '1m')
      expect(states(sim)).toEqual(['spot-2 provisioning', 'spot-1 ready'])
      pass(sim, '3m')
      expect(states(sim)).toEqual(['spot-2 ready', 'spot-1 ready'])
      pass(sim, '1d')
      expect(states(sim)).toEqual(['spot-2 ready', 'spot-1 ready'])
    },
  )

  test.each([{ count: 2 }, { count: 2, min: 2 }])('is present until its notice ends: %j', group => {
    const sim = pool(group, { ...CONSTANT, weather: { spot_away: '0s' } })
    sim.cluster.node('spot-0').preempt('10m')
    pass(sim, '599s')
    expect(states(sim)).toEqual(['spot-0 cordoned', 'spot-1 ready'])
    pass(sim, '1s')
    expect(states(sim).sort()).toEqual(['spot-1 ready', 'spot-2 provisioning'])
  })

  test('is not replaced with `min: 0` until something waits', () => {
    const sim = pool({ count: 2, min: 0 })
    sim.cluster.pool('spot').preempt()
    pass(sim, '30d')
    expect(states(sim)).toEqual([])
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    expect(states(sim)).toEqual(['spot-2 ready'])
  })

  test('is replaced only after the end of a stock-out', () => {
    const sim = pool({})
    sim.cluster.node('spot-0').preempt()
    sim.cluster.stockOut('H100-80GB')
    pass(sim, '2h')
    expect(states(sim)).toEqual([])
    sim.cluster.restock('H100-80GB')
    expect(states(sim)).toEqual(['spot-1 provisioning'])
  })

  test('is replaced only after the end of an outage of its zone', () => {
    const sim = pool({ count: 2 })
    sim.cluster.node('spot-0').preempt()
    pass(sim, '10m')
    sim.cluster.zone('zone-b').down()
    pass(sim, '2h')
    expect(states(sim)).toEqual(['spot-1 down'])
    sim.cluster.zone('zone-b').up()
    expect(states(sim)).toEqual(['spot-2 provisioning', 'spot-1 ready'])
  })
})

describe('a group with `min`', () => {
  const own = (group: GroupInput) => pool({ market: 'on-demand', ...group })

  test.each([
    ['crash', 'down'],
    ['drain', 'cordoned'],
    ['cordon', 'cordoned'],
  ] as const)('gets a node at once in place of one that is away: %s', (verb, state) => {
    const sim = own({ count: 2, min: 2 })
    sim.cluster.node('spot-0')[verb]()
    expect(states(sim)).toEqual([`spot-0 ${state}`, 'spot-1 ready', 'spot-2 provisioning'])
  })

  test('gives back the surplus when a node that was replaced is back', () => {
    const sim = own({ count: 2, min: 2 })
    sim.cluster.node('spot-0').crash()
    pass(sim, '1h')
    sim.cluster.node('spot-0').repair()
    pass(sim, '1h')
    expect(states(sim)).toEqual(['spot-1 ready', 'spot-2 ready'])
  })

  test('has no node too many when its zone goes and returns while a node is on its way', () => {
    const sim = own({ count: 2, min: 2 })
    sim.cluster.node('spot-0').crash()
    sim.cluster.zone('zone-b').down()
    pass(sim, '1h')
    expect(states(sim)).toEqual(['spot-0 down', 'spot-1 down', 'spot-2 down'])
    sim.cluster.zone('zone-b').up()
    pass(sim, '1h')
    expect(states(sim)).toEqual(['spot-0 down', 'spot-1 ready', 'spot-2 ready'])
  })

  test('stays small after it has given an empty node back', () => {
    const sim = own({ count: 3, min: 1 })
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    chat.stop()
    pass(sim, '1h')
    expect(states(sim)).toEqual(['spot-1 ready', 'spot-2 ready'])
    sim.cluster.node('spot-1').crash()
    pass(sim, '1h')
    expect(states(sim)).toEqual(['spot-1 down', 'spot-2 ready'])
  })
})

test.each(['crash', 'drain', 'cordon'] as const)(
  'a group of fixed size gets no node in place of one that was taken out of service: %s',
  verb => {
    const sim = pool({ count: 2 })
    sim.cluster.node('spot-0')[verb]()
    pass(sim, '1d')
    expect(sim.cluster.nodes().map(({ name }) => name)).toEqual(['spot-0', 'spot-1'])
  },
)
