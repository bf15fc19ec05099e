import { describe, expect, test } from 'vitest'
import type { ProfileInput } from '../../src/data/profiles/load.ts'
import { batchOf, many } from './batch-world.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

const H100 = 'H100-80GB'

/** An account with a limit on nodes that have room for more. */
function limited(
  limit: number,
  profile: ProfileInput = {},
  load?: { kind: 'steps'; steps: { at: string; rps: number }[] },
) {
  const deployments = load
    ? [
        {
          model_name: 'acme/chat',
          status: 'running' as const,
          max_batch_size: 8,
          weights: { repo: 'acme/chat-8b' },
          settings: { min_instances: 1, max_instances: 4 },
          load,
        },
      ]
    : []
  return stage([{ count: 2 }], { gpu_limits: { [H100]: limit } }, { profile, with: { deployments } })
}

describe('a GPU limit', () => {
  test('holds at a start: with min_instances 0 the instance is not asked for, and comes when the limit rises', () => {
    const sim = limited(0)
    const chat = sim.world.deployments.createLlm(spec({ min_instances: 0 }))
    pass(sim, '6h')
    expect(chat.toRecord()).toMatchObject({ status: 'initializing', instances: { running: 0, pending: 0 } })
    expect(story(sim, chat.deploy_id)).toContain('deployment.limited')
    expect(sim.report().gpus).toMatchObject([{ gpu: H100, quota: 0, quota_refusals: 1 }])
    expect(sim.world.gpuQuotas.held(H100)).toBe(0)
    sim.cluster.limit.set(H100, 1)
    pass(sim, '1s')
    expect(chat.toRecord().instances).toEqual({ running: 0, pending: 1 })
    passUntil(sim, () => chat.status === 'running')
  })

  test('holds at a wake: the deployment sleeps on, its work waits, and goes on when GPUs are given back', () => {
    const sim = limited(1)
    const chat = sim.world.deployments.createLlm(spec({ min_instances: 0 }))
    passUntil(sim, () => chat.status === 'running')
    passUntil(sim, () => chat.toRecord().instances.running === 0, '10m')
    const other = sim.world.deployments.createLlm(spec({ model_name: 'acme/other' }))
    passUntil(sim, () => other.status === 'running')
    const batch = batchOf(sim, many(50, { model: 'acme/chat' }))
    pass(sim, '1h')
    expect(chat.toRecord()).toMatchObject({ status: 'running', instances: { running: 0, pending: 0 } })
    expect(story(sim, chat.deploy_id).slice(-2)).toEqual(['deployment.woken', 'deployment.limited'])
    expect(batch.toRecord().request_counts).toEqual({ total: 50, completed: 0, failed: 0 })
    other.stop()
    passUntil(sim, () => batch.status === 'completed', '30m')
  })

  test('holds at a scale-up: as many as it allows, the others when it rises', () => {
    const rush = {
      kind: 'steps' as const,
      steps: [
        { at: '0s', rps: 0.1 },
        { at: '1m', rps: 12 },
      ],
    }
    const sim = limited(2, {}, rush)
    const chat = sim.world.deployments.findLive('acme/chat')!
    pass(sim, '1h')
    expect(chat.toRecord().instances).toEqual({ running: 2, pending: 0 })
    expect(sim.world.gpuQuotas.held(H100)).toBe(2)
    sim.cluster.limit.set(H100, 3)
    pass(sim, '1h')
    expect(chat.toRecord().instances).toEqual({ running: 3, pending: 0 })
    sim.cluster.limit.set(H100, null)
    pass(sim, '1h')
    expect(chat.toRecord().instances).toEqual({ running: 4, pending: 0 })
  })
})

describe('a request for a higher limit', () => {
  const asked = (profile: ProfileInput, requested = 16) => {
    const sim = limited(4, profile)
    const chat = sim.world.deployments.createLlm(spec({ num_gpus: 4 }))
    passUntil(sim, () => chat.status === 'running')
    sim.world.gpuQuotas.fileRequest(H100, requested, 'launch')
    const now = () => ({
      limit: sim.world.gpuQuotas.get(H100),
      pending: sim.world.gpuQuotas.hasPendingRequest(H100),
      held: sim.world.gpuQuotas.held(H100),
      running: chat.toRecord().instances.running,
    })
    const kinds = () =>
      sim.journal
        .entries()
        .map(entry => entry.kind)
        .filter(kind => kind.startsWith('limit.'))
    return { sim, now, kinds }
  }
  const kept = { held: 4, running: 1, pending: false }

  test.each([
    ['approve', 16, 16, 'limit.approved'],
    ['approve', 64, 64, 'limit.approved'],
    ['approve', 65, 4, 'limit.denied'],
    ['deny', 16, 4, 'limit.denied'],
  ] as const)('by the policy %s for %d: %d after the review', (limit_policy, requested, limit, kind) => {
    const { sim, now, kinds } = asked({ reviews: { limit_policy } }, requested)
    pass(sim, '3h59m')
    expect(now()).toEqual({ ...kept, limit: 4, pending: true })
    pass(sim, '1m')
    expect(now()).toEqual({ ...kept, limit })
    expect(kinds()).toEqual(['limit.requested', kind])
  })

  test.each([
    ['approve', 16, 'limit.approved'],
    ['deny', 4, 'limit.denied'],
  ] as const)('by hand: %s, before the review and for good', (verb, limit, kind) => {
    for (const limit_policy of ['approve', 'deny', 'manual'] as const) {
      const { sim, now, kinds } = asked({ reviews: { limit_policy } })
      pass(sim, '1h')
      sim.cluster.limit[verb](H100)
      expect(now()).toEqual({ ...kept, limit })
      pass(sim, '24h')
      expect(now()).toEqual({ ...kept, limit })
      expect(kinds()).toEqual(['limit.requested', kind])
    }
  })

  test('stays pending without a decision', () => {
    const { sim, now } = asked({ reviews: { limit_policy: 'manual' } })
    pass(sim, '100h')
    expect(now()).toEqual({ ...kept, limit: 4, pending: true })
  })

  test.each([
    ['a limit that is higher by then', 32],
    ['none by then', null],
  ])('never lowers %s', (_, limit) => {
    const { sim, now } = asked({})
    sim.cluster.limit.set(H100, limit)
    pass(sim, '5h')
    expect(now()).toEqual({ ...kept, limit })
  })
})
