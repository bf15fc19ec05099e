import { describe, expect, test } from 'vitest'
import { DEPLOYMENT_LIFECYCLE, DEPLOYMENT_STATUSES } from '../../src/data/records/enums.ts'
import { isTerminal } from '../../src/simulation/deployments/deployment-row.ts'
import { entryKindOf, INSTANCE_STATES } from '../../src/simulation/deployments/instance-row.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

describe('the words of a deployment', () => {
  test('terminal statuses are those of its lifecycle', () => {
    expect(DEPLOYMENT_STATUSES.filter(isTerminal)).toEqual([...DEPLOYMENT_LIFECYCLE.terminal])
  })

  test('each state of an instance has the journal kind of its name', () => {
    expect(INSTANCE_STATES.map(entryKindOf)).toEqual(INSTANCE_STATES.map(state => `instance.${state}`))
  })
})

describe('a cold start', () => {
  test('costs about what such starts cost: 8B fresh 1 to 3 min, 70B 2 to 6, 405B 8 to 20', { tags: 'slow' }, () => {
    const minutes = (repo: string, gpus: number) => {
      const took = Array.from({ length: 9 }, (_, seed) => {
        const sim = stage([{ gpus: 8 }], {}, { seed })
        const chat = sim.world.deployments.createLlm(spec({ repo, num_gpus: gpus }))
        return passUntil(sim, () => chat.status === 'running') / 60e6
      })
      return took.sort((a, b) => a - b)[4]!
    }
    for (const [repo, gpus, least, most] of [
      ['acme/chat-8b', 1, 1, 3],
      ['acme/chat-70b', 2, 2, 6],
      ['acme/chat-405b', 8, 8, 20],
    ] as const) {
      const median = minutes(repo, gpus)
      expect(median, repo).toBeGreaterThan(least)
      expect(median, repo).toBeLessThan(most)
    }
  })
})

describe('weights', () => {
  test('an image that names none fails at downloading, and one that does is pulled', () => {
    const sim = stage([{}], {}, { profile: { policies: { unknown_images: 'accept' } } })
    const bad = sim.world.deployments.createLlm(spec({ model_name: 'acme/bad', container_image: 'not an image!!' }))
    const good = sim.world.deployments.createLlm(
      spec({ model_name: 'acme/good', container_image: 'registry.example.com:5000/acme/serve_llm:v1.2' }),
    )
    passUntil(sim, () => bad.status === 'failed')
    expect(bad.row.failReason).toBe('image pull failed: "not an image!!" names no image')
    passUntil(sim, () => good.status === 'running')
  })

  test('a repository without a listing has a size by its name, unless the hub refuses unlisted ones', () => {
    const sim = stage([{ gpus: 8 }])
    const large = sim.world.deployments.createLlm(spec({ repo: 'acme/huge-405b', num_gpus: 4 }))
    passUntil(sim, () => large.status === 'failed')
    expect(large.row.failReason).toContain('weights 810.0 GB')

    const strict = stage([{}], {}, { with: { hub: { policy: 'refuse' } } })
    const missing = strict.world.deployments.createLlm(spec({ repo: 'someone/nothing' }))
    passUntil(strict, () => missing.status === 'failed')
    expect(missing.row.failReason).toBe('hub repository someone/nothing not found (404)')
  })
})

describe('placement', () => {
  test('is best fit: the fewest free GPUs that suffice, so that large holes stay large', () => {
    const sim = stage([
      { gpus: 8, prefix: 'large' },
      { gpus: 2, prefix: 'small' },
    ])
    sim.world.deployments.createLlm(spec())
    pass(sim, '10s')
    expect([sim.cluster.node('large-0').free, sim.cluster.node('small-0').free]).toEqual([8, 1])
  })

  test('waits for capacity as long as it takes, and goes on when some comes', () => {
    const sim = stage([{ gpus: 1 }])
    const first = sim.world.deployments.createLlm(spec({ model_name: 'acme/first' }))
    passUntil(sim, () => first.status === 'running')
    const second = sim.world.deployments.createLlm(spec({ model_name: 'acme/second' }))
    pass(sim, '72h')
    expect(second.status).toBe('initializing')
    first.delete()
    expect(passUntil(sim, () => second.status === 'running')).toBeLessThan(10 * 60e6)
  })

  test('the deployment that waits longest is placed first', () => {
    const sim = stage([{ gpus: 1 }])
    const holder = sim.world.deployments.createLlm(spec({ model_name: 'acme/holder' }))
    pass(sim, '5m')
    const early = sim.world.deployments.createLlm(spec({ model_name: 'acme/early' }))
    pass(sim, '1m')
    const late = sim.world.deployments.createLlm(spec({ model_name: 'acme/late' }))
    pass(sim, '1m')
    holder.delete()
    pass(sim, '10m')
    expect([early.status, late.status]).toEqual(['running', 'initializing'])
  })

  test('a cordoned node takes nothing new and keeps what it has', () => {
    const sim = stage([{ count: 2, gpus: 4 }])
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    const home = sim.cluster.nodeOf(chat.deploy_id).name
    sim.cluster.node(home).cordon()
    const other = sim.world.deployments.createLlm(spec({ model_name: 'acme/other' }))
    pass(sim, '10m')
    expect([chat.status, other.status]).toEqual(['running', 'running'])
    expect(sim.cluster.nodeOf(other.deploy_id).name).not.toBe(home)
  })
})

describe('a node that dies', () => {
  test('under a running deployment leaves it running with no instance until another is ready', () => {
    const sim = stage([{ count: 2 }])
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    sim.cluster.nodeOf(chat.deploy_id).crash()
    expect(chat.toRecord()).toMatchObject({ status: 'running', instances: { running: 0, pending: 1 } })
    passUntil(sim, () => chat.toRecord().instances.running === 1)
  })

  test('four times in a row ends the deployment: three retries after 10, 20 and 40 s', () => {
    const sim = stage([{ count: 5, cached: false }])
    const chat = sim.world.deployments.createLlm(spec())
    const waits: number[] = []
    for (let i = 0; i < 4; i++) {
      waits.push(passUntil(sim, () => chat.status === 'downloading') / 1e6)
      sim.cluster.nodeOf(chat.deploy_id).crash()
    }
    // Each wait ends with the second that the container takes to start.
    expect(waits).toEqual([11, 11, 21, 41])
    expect(chat.toRecord()).toMatchObject({ status: 'failed', instances: { running: 0, pending: 0 } })
    expect(chat.row.failReason).toMatch(/^the last of 4 starts was lost: node node-\d crashed$/)
  })
})

describe('an instance', () => {
  test('that is not ready within 10 min of loading counts as lost', () => {
    const timings = { load_rate: '10MB/s', page_cache_bytes: 0, ready_within: '10m' }
    const sim = stage([{}], {}, { profile: { timings } })
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => story(sim, `${chat.deploy_id}-0`).includes('instance.lost'))
    expect(chat.status).toBe('initializing')
    passUntil(sim, () => chat.status === 'failed')
    expect(chat.row.failReason).toBe('the last of 4 starts was lost: it was not ready in time')
  })
})

describe('stop, start and delete', () => {
  for (const state of INSTANCE_STATES.slice(0, 6)) {
    for (const verb of ['stop', 'delete'] as const) {
      test(`${verb} while the instance is ${state} gives its GPUs back`, { tags: 'slow' }, () => {
        const sim = stage([{ cached: false }])
        const chat = sim.world.deployments.createLlm(spec())
        const instance = `${chat.deploy_id}-0`
        passUntil(sim, () => story(sim, instance).includes(`instance.${state}`))
        chat[verb]()
        expect(chat.toRecord()).toMatchObject({
          status: verb === 'stop' ? 'stopped' : 'deleted',
          instances: { running: 0, pending: 0 },
        })
        pass(sim, '1m')
        expect(story(sim, instance).at(-1)).toBe('instance.gone')
        expect(sim.cluster.node('node-0').free).toBe(8)
        expect(sim.world.gpuQuotas.held('H100-80GB')).toBe(0)
      })
    }
  }

  test('a ready instance drains before it goes, and its GPUs are its own until then', () => {
    const sim = stage()
    const chat = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => chat.status === 'running')
    chat.stop()
    expect(sim.cluster.node('node-0').free).toBe(7)
    pass(sim, '10s')
    expect(sim.cluster.node('node-0').free).toBe(8)
  })
})

describe('instances', () => {
  test('are as many as min_instances asks for', () => {
    const sim = stage()
    const chat = sim.world.deployments.createLlm(spec({ min_instances: 3, max_instances: 4 }))
    passUntil(sim, () => chat.toRecord().instances.running === 3)
    expect(sim.cluster.node('node-0').free).toBe(5)
  })
})

describe('updated_at', () => {
  test('moves exactly when something a client sees has changed', () => {
    const sim = stage([{ cached: false }])
    const chat = sim.world.deployments.createLlm(spec())
    const seen = new Map<string, string>()
    passUntil(sim, () => {
      const { updated_at, ...rest } = chat.toRecord()
      const text = JSON.stringify(rest)
      const before = [...seen.values()].at(-1)
      if (!seen.has(text)) {
        seen.set(text, updated_at)
        if (before !== undefined) expect(updated_at > before).toBe(true)
        expect(updated_at).toBe(sim.clock.iso)
      } else expect(updated_at).toBe(before)
      return chat.status === 'running'
    })
    expect(seen.size).toBe(4)
  })
})

describe('adapters', () => {
  const adapter = (base_model: string) => ({
    model_name: 'acme/tone',
    base_model,
    modelhub_url: 'https://hub.example/tone',
    private: true,
    description: '',
  })

  test('stop with their base and come back with it, unless they were stopped by hand', () => {
    const sim = stage()
    const base = sim.world.deployments.createLlm(spec())
    const tone = sim.world.loraAdapters.create(adapter('acme/chat'))
    passUntil(sim, () => tone.status === 'running')
    base.stop()
    expect(tone.status).toBe('stopped')
    expect(sim.world.loraAdapters.blockedReason(tone.ordinal)).toContain('acme/chat is stopped')
    base.start()
    expect(tone.status).toBe('initializing')
    passUntil(sim, () => tone.status === 'running')

    tone.stop()
    base.stop()
    base.start()
    passUntil(sim, () => base.status === 'running')
    pass(sim, '10m')
    expect(tone.status).toBe('stopped')
  })
})
