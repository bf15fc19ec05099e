import { describe, expect, test } from 'vitest'
import { fillDeployments, fillModels } from '../../src/data/bulk-records.ts'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import type { Fixture } from '../../src/data/records/fixture.ts'
import { DEFAULT_EPOCH_MS } from '../../src/kernel/clock.ts'

const world = loadFixture('default')

describe('bulk models', () => {
  test('fill up to the count, each with hardware, and load as a fixture', () => {
    const filled = fillModels(world, 300, 7)
    expect(filled.models).toHaveLength(300)
    expect(filled.models.slice(0, world.models.length)).toEqual(world.models)
    expect(loadFixture(filled)).toEqual(filled)
    expect(world.models).toHaveLength(47)
  })

  test('are equal for equal seeds, and differ for others', () => {
    expect(fillModels(world, 100, 7)).toEqual(fillModels(world, 100, 7))
    expect(fillModels(world, 100, 8)).not.toEqual(fillModels(world, 100, 7))
    expect(fillModels(world, 100, 'seven')).toEqual(fillModels(world, 100, 'seven'))
  })

  test('stay equal when the count is larger', () => {
    expect(fillModels(world, 400, 7).models.slice(0, 100)).toEqual(fillModels(world, 100, 7).models)
  })

  test('have many tasks', () => {
    expect(new Set(fillModels(loadFixture('two-nodes'), 200, 1).models.map(model => model.type)).size).toBe(7)
  })

  test('are rejected when the fixture has more already', () => {
    expect(() => fillModels(world, 46, 7)).toThrow(
      'Failed to fill models: the fixture has 47 already, and the requested number is 46. Choose 47 or more.',
    )
  })
})

describe('bulk deployments', () => {
  const LIVE = new Set(['initializing', 'downloading', 'deploying', 'running'])
  const held = (fixture: Fixture) => {
    const counts: Record<string, number> = {}
    for (const { type, status, gpu, num_gpus, settings } of fixture.deployments) {
      if (type === 'llm' && LIVE.has(status)) counts[gpu] = (counts[gpu] ?? 0) + num_gpus * settings.min_instances
    }
    return counts
  }
  const free = (fixture: Fixture) => {
    const counts: Record<string, number> = {}
    for (const { market, nodes } of fixture.nodes.pools) {
      if (market === 'spot') continue
      for (const { gpu, count, gpus_per_node, occupied } of nodes)
        counts[gpu] = (counts[gpu] ?? 0) + count * (gpus_per_node - occupied)
    }
    return counts
  }

  test.each(['default', 'empty', 'two-nodes'])(
    'of %s come to the count, load, and have GPUs for all that run',
    { tags: 'slow' },
    name => {
      const base = loadFixture(name)
      const filled = fillDeployments(base, 1000, 7)
      expect(filled.deployments).toHaveLength(1000)
      expect(filled.deployments.slice(0, base.deployments.length)).toEqual(base.deployments)
      expect(loadFixture(filled)).toEqual(filled)
      const room = free(base)
      for (const [gpu, count] of Object.entries(held(filled))) expect(count, gpu).toBeLessThanOrEqual(room[gpu]!)
      expect(new Set(filled.deployments.map(each => each.status))).toContain('running')
      expect(new Set(filled.deployments.map(each => each.status))).toContain('failed')
    },
  )

  test('leave the unused part of each quota equal', () => {
    const filled = fillDeployments(world, 1000, 7)
    const before = held(world)
    const after = held(filled)
    for (const [gpu, limit] of Object.entries(world.account.gpu_limits)) {
      const unused = limit! - (before[gpu] ?? 0)
      expect(filled.account.gpu_limits[gpu as 'H100-80GB']! - (after[gpu] ?? 0), gpu).toBe(unused)
    }
  })

  test('do not run when the fleet is full', () => {
    const statuses = new Set(fillDeployments(loadFixture('full'), 200, 7).deployments.map(each => each.status))
    expect(statuses).toEqual(new Set(['stopped', 'failed', 'deleted']))
  })

  test('are equal for equal seeds, and the first ones stay equal for larger counts', () => {
    expect(fillDeployments(world, 200, 7)).toEqual(fillDeployments(world, 200, 7))
    expect(fillDeployments(world, 200, 8)).not.toEqual(fillDeployments(world, 200, 7))
    expect(fillDeployments(world, 400, 7).deployments.slice(0, 200)).toEqual(fillDeployments(world, 200, 7).deployments)
  })

  test('are older than the world for every epoch', () => {
    const epoch = DEFAULT_EPOCH_MS + 86_400_000_000
    for (const each of fillDeployments(loadFixture('empty'), 200, 7, epoch).deployments) {
      expect(Date.parse(each.updated_at!)).toBeLessThanOrEqual(epoch)
      expect(Date.parse(each.created_at!)).toBeGreaterThan(epoch - 31 * 86_400_000)
    }
  })
})
