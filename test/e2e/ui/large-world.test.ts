/** The page beside a large world: 10,000 GPUs and 100,000 journal entries, while a week passes. */
import { describe, expect } from 'vitest'
import { openControlRoom, pageTest, useBrowser } from './control-room.ts'
import { longTasksWhile } from './long-tasks.ts'

useBrowser()

/** A task that takes longer than this makes the page stutter. */
const LONG_TASK_MS = 100

const gpu = 'H100-80GB' as const
/** 1,250 nodes of eight GPUs. */
const nodes = {
  pools: ['large-a', 'large-b'].map(zone => ({
    ...{ name: zone, zone, market: 'on-demand' as const },
    nodes: [{ prefix: zone, gpu, gpus_per_node: 8, count: 625, image_cached: true }],
  })),
}
/** Deployments that scale with the hours of the day, so that instances start and end all week. */
const deployments = Array.from({ length: 60 }, (_, index) => ({
  ...{
    deploy_id: `Chat0000000000${String(index).padStart(2, '0')}`,
    model_name: `acme/chat-${index}`,
    gpu,
    num_gpus: 1,
  },
  settings: { min_instances: 1, max_instances: 60 },
  load: { kind: 'wave' as const, low: 20, high: 1200, peak_at: `${index % 24}h` },
}))

describe('a page beside a large world', () => {
  for (const view of ['fleet', 'lifecycles', 'lifecycles?kind=instances', 'money', 'requests']) {
    pageTest(`has no long task in ${view} while a week passes`, { timeout: 240_000 }, async () => {
      const { page, sim, problems } = await openControlRoom({
        ...{ fixtures: 'fleet', view, with: { nodes, deployments } },
      })
      const found = await longTasksWhile(page, LONG_TASK_MS, async () => {
        for (let day = 0; day < 7; day++) {
          await sim.clock.advance('1d')
          await page.mouse.move(400 + day * 40, 400)
          await page.mouse.wheel(0, 200)
          await page.waitForFunction(
            now => document.querySelector('.clock-bar time')?.getAttribute('datetime') === now,
            sim.clock.iso,
          )
        }
      })
      expect(sim.journal.entries().at(-1)!.seq).toBeGreaterThan(100_000)
      expect(found).toEqual([])
      expect(problems).toEqual([])
    })
  }
})
