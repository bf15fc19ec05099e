import { describe, expect, test } from 'vitest'
import type { FixtureInput, FixturePatch } from '../../src/data/records/fixture.ts'
import { purpose } from '../../src/kernel/random.ts'
import { countAlive } from '../../src/simulation/deployments/deployment-row.ts'
import type { CommandDefinition } from '../../src/simulation/operations/command-definition.ts'
import { COMMANDS, CommandError } from '../../src/simulation/operations/commands.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

/** A pool of its own, beside those of the stage. */
function pool(
  about: Partial<NonNullable<FixtureInput['nodes']>['pools'][number]['nodes'][number]> & {
    zone?: string
    market?: 'spot'
  },
): FixturePatch {
  const { zone = 'zone-b', market = 'on-demand', ...group } = about
  return {
    nodes: {
      pools: [
        {
          name: 'extra',
          zone,
          market,
          nodes: [
            { prefix: 'extra', gpu: 'H100-80GB' as const, gpus_per_node: 8, count: 1, image_cached: true, ...group },
          ],
        },
      ],
    },
  }
}

function running(...stageArguments: Parameters<typeof stage>) {
  const sim = stage(...stageArguments)
  const chat = sim.world.deployments.createLlm(spec())
  passUntil(sim, () => chat.status === 'running')
  return { sim, chat, home: sim.cluster.nodeOf(chat.deploy_id).name }
}

describe('a GPU error', () => {
  test('of the program restarts the instance and leaves the GPU sound', () => {
    const { sim, chat, home } = running([{ count: 2 }])
    sim.cluster.gpu(home, 0).fail(31)
    expect(chat.toRecord().instances).toEqual({ running: 0, pending: 1 })
    expect(sim.cluster.node(home).broken).toBe(0)
    passUntil(sim, () => chat.toRecord().instances.running === 1)
    expect(story(sim, `${chat.deploy_id}-0`)).toContain('instance.crashed')
  })

  test('that needs a reset takes the GPU out until it has one', () => {
    const { sim, chat, home } = running([{ gpus: 1 }])
    sim.cluster.gpu(home, 0).fail(48)
    pass(sim, '2h')
    expect(chat.toRecord().instances).toEqual({ running: 0, pending: 1 })
    expect(sim.cluster.node(home)).toMatchObject({ free: 0, broken: 1 })
    sim.cluster.gpu(home, 0).reset()
    passUntil(sim, () => chat.toRecord().instances.running === 1)
  })

  test('that needs service is not mended by a reset, but by a repair of its node', () => {
    const { sim, chat, home } = running([{}])
    sim.cluster.gpu(home, 5).fail(79)
    sim.cluster.gpu(home, 6).fail(48)
    const digest = sim.digest
    expect(() => sim.cluster.gpu(home, 5).reset()).toThrow(
      `Failed to reset the GPU '${home}/5': it needs service. Repair its node with 'node.repair' of '${home}'.`,
    )
    expect(sim.digest).toBe(digest)
    expect(sim.fork().cluster.activeFailures()).toEqual([
      { description: `GPU 5 of ${home} needs service`, undo: { verb: 'node.repair', target: home } },
      { description: `GPU 6 of ${home} is broken`, undo: { verb: 'gpu.reset', target: `${home}/6` } },
    ])
    sim.cluster.node(home).repair()
    // What ran on the other GPUs runs on, and the one that a reset mends waits for it.
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 0 })
    expect(sim.cluster.node(home)).toMatchObject({ state: 'ready', free: 6, broken: 1 })
    expect(sim.cluster.recoverAll()).toHaveLength(1)
    expect(sim.cluster.node(home)).toMatchObject({ free: 7, broken: 0 })
  })

  test('that needs service is forgotten with a machine that died and was repaired', () => {
    const { sim, home } = running([{}])
    sim.cluster.gpu(home, 5).fail(64)
    sim.cluster.node(home).crash()
    sim.cluster.node(home).repair()
    sim.cluster.gpu(home, 5).fail(48)
    sim.cluster.gpu(home, 5).reset()
    expect(sim.cluster.node(home).broken).toBe(0)
  })
})

describe('a drained node', () => {
  test('lets its instance serve until the deadline, while the replacement starts', () => {
    const { sim, chat, home } = running([{ count: 2 }])
    const { now } = sim.world.clock
    sim.cluster.node(home).drain()
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 1 })
    passUntil(sim, () => chat.toRecord().instances.pending === 0)
    expect(sim.world.clock.now - now).toBeLessThan(200e6)
    expect(chat.toRecord().instances).toEqual({ running: 2, pending: 0 })
    passUntil(sim, () => chat.toRecord().instances.running === 1)
    expect((sim.world.clock.now - now) / 1e6).toBe(290)
    expect(story(sim, `${chat.deploy_id}-0`).at(-1)).toBe('instance.draining')
    pass(sim, '10s')
    expect(story(sim, `${chat.deploy_id}-0`).at(-1)).toBe('instance.gone')
    expect(sim.cluster.nodeOf(chat.deploy_id).name).not.toBe(home)
    sim.cluster.node(home).uncordon()
    expect(sim.cluster.node(home).free).toBe(8)
  })

  test('keeps its instance and ends the replacement when it is uncordoned before the deadline', () => {
    const { sim, chat, home } = running([{ count: 2 }])
    sim.cluster.node(home).drain()
    pass(sim, '20s')
    sim.cluster.node(home).uncordon()
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 0 })
    pass(sim, '1h')
    expect(story(sim, `${chat.deploy_id}-0`).at(-1)).toBe('instance.ready')
    expect(sim.cluster.nodeOf(chat.deploy_id).name).toBe(home)
  })
})

describe('spot nodes', () => {
  test('are taken back after a notice, and come back by provisioning once there is capacity again', () => {
    const profile = { weather: { spot_away: '1h' } }
    const sim = stage([{ gpus: 1, count: 0 }], {}, { with: pool({ market: 'spot', count: 1, max: 2 }), profile })
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    sim.cluster.pool('extra').preempt('2m')
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 1 })
    pass(sim, '109s')
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 1 })
    pass(sim, '1s')
    expect(chat.toRecord().instances).toEqual({ running: 0, pending: 1 })
    pass(sim, '10s')
    expect(story(sim, `${chat.deploy_id}-0`).at(-1)).toBe('instance.gone')
    expect(sim.cluster.nodes()).toEqual([])
    pass(sim, '3599s')
    expect(sim.cluster.nodes()).toEqual([])
    pass(sim, '1s')
    expect(sim.cluster.nodes().map(node => [node.name, node.state])).toEqual([['extra-1', 'provisioning']])
    passUntil(sim, () => chat.toRecord().instances.running === 1)
  })

  test('that are taken one after the other keep their pool away until the last has been gone long enough', () => {
    const profile = { weather: { spot_away: '1h' } }
    const sim = stage([{ gpus: 1, count: 0 }], {}, { with: pool({ market: 'spot', count: 2, max: 2 }), profile })
    sim.cluster.node('extra-0').preempt('1m')
    pass(sim, '30m')
    sim.cluster.node('extra-1').preempt('1m')
    sim.world.deployments.createLlm(spec())
    pass(sim, '60m')
    expect(sim.cluster.nodes()).toEqual([])
    pass(sim, '1m')
    expect(sim.cluster.nodes()).toHaveLength(2)
    expect(sim.journal.entries().filter(entry => entry.kind === 'pool.spotReturned')).toHaveLength(1)
  })

  test('with a short notice do not bring back a pool that a longer one keeps away', () => {
    const profile = { weather: { spot_away: '1h' } }
    const sim = stage([{ gpus: 1, count: 0 }], {}, { with: pool({ market: 'spot', count: 2, max: 2 }), profile })
    sim.cluster.node('extra-0').preempt('2h')
    sim.cluster.node('extra-1').preempt('1m')
    sim.world.deployments.createLlm(spec())
    pass(sim, '179m')
    expect(sim.cluster.nodes()).toEqual([])
    pass(sim, '1m')
    expect(sim.cluster.nodes()).toHaveLength(2)
  })
})

describe('the hub', () => {
  test('shares the bandwidth of a node among its downloads', () => {
    const profile = { timings: { node_bandwidth: '100MB/s', download_rate: '1GB/s' } }
    const took = (deployments: number) => {
      const sim = stage([{}], {}, { profile })
      const all = Array.from({ length: deployments }, (_, i) =>
        sim.world.deployments.createLlm(spec({ model_name: `acme/m${i}`, repo: `acme/m${i}-8b` })),
      )
      passUntil(sim, () => all.every(one => one.status === 'downloading'))
      return passUntil(sim, () => all.every(one => one.status === 'deploying'))
    }
    expect(took(1) / 1e6).toBeCloseTo(160, 0)
    expect(took(4) / took(1)).toBeCloseTo(4, 2)
  })
})

describe('the image registry', () => {
  test('that is down lets no cold node start anything', () => {
    const sim = stage([{ cached: false }])
    sim.cluster.registry.down()
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => story(sim, `${chat.deploy_id}-0`).includes('instance.lost'))
    sim.cluster.registry.up()
    passUntil(sim, () => chat.status === 'running')
  })
})

describe('a disk', () => {
  test('keeps the weights that were read last', () => {
    const sim = stage([{}], {}, { profile: { timings: { weight_cache_bytes: '40GB' } } })
    const serve = (name: string, repo: string) => {
      const one = sim.world.deployments.createLlm(spec({ model_name: name, repo }))
      passUntil(sim, () => one.status === 'running')
      one.delete()
      pass(sim, '1m')
    }
    serve('acme/a', 'acme/a-8b')
    serve('acme/b', 'acme/b-8b')
    serve('acme/a', 'acme/a-8b')
    serve('acme/c', 'acme/c-8b')
    const [node] = [...sim.world.nodes.entries()].map(([, row]) => row.weights.map(one => one.repo).sort())
    expect(node).toEqual(['acme/a-8b', 'acme/c-8b'])
  })
})

describe('the autoscaler', () => {
  test('drained while the autoscaler is frozen, a node lets its instances go and the counts follow at once', () => {
    const sim = stage([{ count: 2 }])
    const chat = sim.world.deployments.createLlm(spec())
    pass(sim, '10m')
    sim.cluster.autoscaler.freeze()
    sim.cluster.nodeOf(chat.deploy_id).drain()
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 0 })
    pass(sim, '10m')
    expect(chat.toRecord().instances).toEqual({ running: 0, pending: 0 })
    sim.cluster.autoscaler.free()
    pass(sim, '10m')
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 0 })
  })

  test('keeps the last instance of an idle deployment while it is frozen', () => {
    const sim = stage()
    const chat = sim.world.deployments.createLlm(spec({ min_instances: 0 }))
    passUntil(sim, () => chat.toRecord().instances.running === 1)
    sim.cluster.autoscaler.freeze()
    pass(sim, '1h')
    expect(chat.toRecord().instances).toEqual({ running: 1, pending: 0 })
    sim.cluster.autoscaler.free()
    pass(sim, '10m')
    expect(chat.toRecord().instances).toEqual({ running: 0, pending: 0 })
  })
})

describe('nodes', () => {
  test('take longer while provisioning is slow', () => {
    const took = (factor?: number) => {
      const sim = stage([{ gpus: 1, count: 0 }], {}, { with: pool({ count: 0, min: 0, max: 1 }) })
      if (factor) sim.cluster.provisioning.slow(factor)
      sim.world.deployments.createLlm(spec())
      passUntil(sim, () => story(sim, 'extra-0').includes('node.provisioning'))
      return passUntil(sim, () => story(sim, 'extra-0').includes('node.ready'), '12h')
    }
    expect(took(3) / took()).toBeCloseTo(3, 6)
  })
})

describe('spread placement', () => {
  test('takes the emptiest node', () => {
    const sim = stage([{ count: 2 }], {}, { profile: { policies: { placement: 'spread' } } })
    const two = [0, 1].map(i => sim.world.deployments.createLlm(spec({ model_name: `acme/m${i}` })))
    pass(sim, '11s')
    expect(new Set(two.map(one => sim.cluster.nodeOf(one.deploy_id).name)).size).toBe(2)
  })
})

describe('limits and suspension by hand', () => {
  test('a suspended account gets no new instance by any way, and what it lacks when it is resumed', async () => {
    const { sim, chat } = running([{ count: 3 }], {}, { profile: { policies: { suspension_grace: '1h' } } })
    const scaled = async (settings: object) => (await sendTo(sim, `PUT /deploy/${chat.deploy_id}`, { settings })).status
    expect(await scaled({ min_instances: 1, max_instances: 3 })).toBe(200)
    sim.cluster.account.suspend('admin')
    expect(await scaled({ min_instances: 2 })).toBe(402)
    expect(await scaled({ max_instances: 4 })).toBe(402)
    expect(await scaled({ max_instances: 2 })).toBe(200)
    expect([chat.row.minInstances, chat.row.maxInstances]).toEqual([1, 2])
    // By hand without a transport, as a load would: the autoscaler asks and gets nothing. A lost instance is not replaced either.
    sim.world.deployments.scaling.resize(chat.ordinal, 2, 2)
    pass(sim, '10m')
    expect(countAlive(chat.row)).toBe(1)
    sim.cluster.nodeOf(chat.deploy_id).crash()
    pass(sim, '10m')
    expect([chat.status, countAlive(chat.row)]).toEqual(['running', 0])
    expect(sim.journal.entries().filter(({ kind }) => kind === 'deployment.limited')).not.toEqual([])
    sim.cluster.account.resume()
    passUntil(sim, () => chat.toRecord().instances.running === 2)
  })

  test('a command finds a token by its value, and names its id', () => {
    const sim = stage()
    const { token, token_id } = sim.world.store.tokens.all()[0]!
    sim.cluster.token.revoke(token)
    expect(sim.world.store.tokenByValue(token)).toBeUndefined()
    expect(JSON.stringify(sim.world.commands.log.between(-1, 1e15, 9))).toContain(token_id)
    expect(JSON.stringify(sim.world.commands.log.between(-1, 1e15, 9))).not.toContain(token)
    sim.cluster.token.restore(token)
    expect(sim.world.store.tokenByValue(token)?.token_id).toBe(token_id)
  })
})

describe('commands', () => {
  test('at no moment are refused as what they are', () => {
    const sim = stage()
    const before = sim.digest
    const crash = () => sim.cluster.node('node-0').crash({ at: '-1h' })
    expect(crash).toThrow(CommandError)
    expect(crash).toThrow('Failed to execute \'node.crash\': at is "-1h": time does not run backwards. Forms that work')
    expect(sim.digest).toBe(before)
  })

  test('about a request for a limit are refused when none is pending', () => {
    const sim = stage()
    for (const decide of ['approve', 'deny'] as const) {
      expect(() => sim.cluster.limit[decide]('H100-80GB')).toThrow(
        `Failed to execute 'limit.${decide}': no request for H100-80GB is pending. File one with POST /`,
      )
    }
    expect(sim.world.journal.counts.has('limit.approved')).toBe(false)
  })

  test('a node without a name is rejected before a command is named', () => {
    const { cluster } = createSimulator()
    expect(() => cluster.node(undefined as never)).toThrow('Failed to select a node: its name is missing. Give one')
    expect(() => cluster.node('')).toThrow('Failed to select a node: its name is missing.')
  })

  test('come in pairs: every undo is a verb that undoes', () => {
    for (const [name, verb] of Object.entries<CommandDefinition>(COMMANDS)) {
      if (verb.undo !== undefined) expect(Object.keys(COMMANDS), name).toContain(verb.undo)
    }
  })

  test.each([
    [
      { verb: 'crash', target: 'node-0' },
      "the command is unknown. Did you mean 'node.crash', 'deployment.crash' or 'hosted.crash'?",
    ],
    [{ verb: 'hub.down', target: 'x' }, 'the command takes no target, got "x". Remove target.'],
    [{ verb: 'token.revoke' }, 'target is missing. Give an API token, as in'],
    [{ verb: 'node.crahs', target: 'node-0' }, "the command is unknown. Did you mean 'node.crash'?"],
    [
      { verb: 'node.crash', target: 'nod-0' },
      "Failed to find the node 'nod-0': the fleet has none of that name. Did you mean 'node-0'?",
    ],
    [{ verb: 'node.crash' }, 'target is missing. Give a node, as in "target": "node-0".'],
    [{ verb: 'gpu.reset', target: '' }, 'target is missing. Give a GPU, as in "target": "node-0/0".'],
    [{ verb: 'zone.down' }, 'target is missing. Give a zone, as in'],
    [{ verb: 'node.crash', target: 'elsewhere' }, 'none of that name. Nodes are node-0'],
    [
      { verb: 'gpu.fail', target: 'node-0/9', args: { xid: 79 } },
      "Failed to find the GPU 'node-0/9': the node has GPUs 0 to 7.",
    ],
    [{ verb: 'gpu.fail', target: 'node-0/1', args: { xid: 7 } }, 'xid is 7. Give one of the codes'],
    [{ verb: 'gpu.fail', target: 'node-0/1' }, 'xid is missing. Give one of the codes'],
    [
      { verb: 'node.degrade', target: 'node-0', args: { factor: 0.5 } },
      'factor is 0.5. Give a factor from 1 to 1,000.',
    ],
    [{ verb: 'node.degrade', target: 'node-0', args: { factor: Number.NaN } }, 'factor is NaN. Give a factor from 1'],
    [
      { verb: 'price.set', target: 'H100-80GB', args: { cents: 1e15 } },
      'cents is 1000000000000000. Give cents per hour from 0 to 1,000,000,000.',
    ],
    [{ verb: 'hub.throttle', args: { share: 0 } }, 'share is 0. Give a share above 0'],
    [{ verb: 'hub.down', args: { when: 5 } }, "unknown argument 'when'"],
    [{ verb: 'zone.down', target: 'zone-z' }, "Did you mean 'zone-a'?"],
    [{ verb: 'pool.stockOut', target: 'H100' }, "Did you mean 'H100-80GB'?"],
    [{ verb: 'pool.preempt', target: 'pool-0', args: { notice: 'soon' } }, 'notice is "soon". Give a duration'],
    [{ verb: 'limit.set', target: 'H100-80GB', args: { limit: -1 } }, 'limit is -1. Give an integer from 0 to'],
    [{ verb: 'limit.set', target: 'H100-80GB', args: { limit: 1e308 } }, 'limit is 1e+308. Give an integer from 0 to'],
    [
      { verb: 'limit.set', target: 'H100-80GB', args: { limit: 2 ** 53 + 2 } },
      'limit is 9007199254740994. Give an integer',
    ],
    [{ verb: 'account.suspend', args: { reason: 'why' } }, 'reason is "why". Give one of'],
    [{ verb: 'token.revoke', target: 'unknown' }, "Failed to find the token 'unknown'"],
  ])('that make no sense are refused and change nothing: %j', { tags: 'slow' }, (command, message) => {
    const sim = stage()
    const before = [sim.digest, sim.world.agenda.size]
    expect(() => sim.world.commands.schedule(command)).toThrow(message)
    expect(() => sim.world.commands.schedule(command)).toThrow(CommandError)
    expect(() => sim.world.commands.schedule(command, 5)).toThrow(message)
    expect([sim.digest, sim.world.agenda.size]).toEqual(before)
  })
})

describe('weather', () => {
  test('comes by itself from the seed, passes, and leaves every law whole', { tags: 'slow' }, () => {
    const profile = { weather: { pack: 'rough', acceleration: 200 } }
    const play = () => {
      const sim = stage(
        [{ count: 6 }, { gpu: 'L40S-48GB', count: 2 }],
        {},
        { profile, with: pool({ market: 'spot', count: 2, max: 4 }) },
      )
      const all = [0, 1, 2].map(i =>
        sim.world.deployments.createLlm(spec({ model_name: `acme/m${i}`, min_instances: 2, max_instances: 3 })),
      )
      for (let day = 0; day < 4; day++) pass(sim, '24h')
      return { sim, all }
    }
    const one = play()
    const kinds = [...one.sim.world.journal.counts.keys()]
    for (const kind of ['gpu.failed', 'gpu.reset', 'node.crashed', 'node.repaired', 'node.drained', 'instance.lost']) {
      expect(kinds, kind).toContain(kind)
    }
    expect(play().sim.digest).toBe(one.sim.digest)
  })

  test('takes as long as a repair by hand for a GPU that needs service, and mends it by one', () => {
    const one = { pack: 'service', packs: { service: { node_faults_per_hour: 1 } }, gpu_xids: { 79: 1e9 } }
    const profile = {
      weather: { ...one, fault_causes: { gpu: 1, software: 0, network: 0, maintenance: 0, other: 0 } },
      timings: { node_repair_manual: '7h', node_repair_automatic: '1h', node_repair_reset: '1m' },
    }
    const sim = stage([{}], {}, { profile })
    const seen: [string, number][] = []
    sim.journal.listen(({ kind, time }) => {
      if (/^(gpu|node)\./.test(kind)) seen.push([kind, time])
    })
    pass(sim, '100h')
    const kinds = seen.map(([kind]) => kind)
    expect(new Set(kinds)).toEqual(new Set(['gpu.failed', 'node.repaired']))
    for (let i = 1; i < seen.length; i += 2) expect(seen[i]![1] - seen[i - 1]![1]).toBe(7 * 3_600_000_000)
  })

  test('strikes lemons five times as often as the others, and all of them as often as the pack says', {
    tags: 'slow',
  }, () => {
    const profile = {
      weather: {
        pack: 'lemons',
        packs: { lemons: { node_faults_per_hour: 0.1 } },
        fault_causes: { gpu: 0, software: 1, network: 0, maintenance: 0, other: 0 },
      },
      timings: { node_repair_manual: '1ms', node_repair_automatic: '1ms', node_repair_reset: '1ms' },
    }
    const [nodes, hours] = [1000, 100]
    const sim = stage([{ gpus: 1, count: nodes }], {}, { profile, check: false })
    const faults = new Map<string, number>()
    sim.journal.listen(({ kind, subject }) => {
      if (kind === 'gpu.failed') faults.set(subject, (faults.get(subject) ?? 0) + 1)
    })
    sim.world.runTo(hours * 3_600_000_000)
    const { chance, profile: figures } = sim.world
    const isLemon = ({ name }: { name: string }) =>
      chance.unit(chance.key('node', name), purpose('weather.lemon')) < figures.weather.lemonShare
    const meanOf = (some: readonly { name: string }[]) =>
      some.reduce((sum, { name }) => sum + (faults.get(name) ?? 0), 0) / some.length / hours
    const all = sim.cluster.nodes()
    const lemons = all.filter(isLemon)
    expect(Math.abs(lemons.length / nodes - figures.weather.lemonShare)).toBeLessThan(0.03)
    expect(Math.abs(meanOf(lemons) / meanOf(all.filter(one => !isLemon(one))) - 5)).toBeLessThan(0.4)
    expect(Math.abs(meanOf(all) / 0.1 - 1)).toBeLessThan(0.08)
  })
})
