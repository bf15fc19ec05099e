/** The page beside a large world: 10,000 GPUs and 100,000 journal entries, while days pass. */
import { expect } from 'vitest'
import { pageTest } from '../chromium.ts'
import { openControlRoom } from './control-room.ts'
import { longTasksWhile } from './long-tasks.ts'

/** A task that takes longer than this makes the page stutter. On a slow machine, the longest one takes 97 ms. */
const LONG_TASK_MS = 150

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

/** The views in turn, and the days that each of them is open. After the first one, the journal is full. */
const DAYS: Readonly<Record<string, number>> = {
  ...{ fleet: 5, lifecycles: 2, 'lifecycles?kind=instances': 2, money: 2, requests: 2 },
}

pageTest('a page beside a large world has no long task in any view while days pass', { timeout: 300_000 }, async () => {
  const { page, sim, problems } = await openControlRoom({
    fixtures: 'fleet',
    view: 'fleet',
    with: { nodes, deployments },
    // A process of its own: the garbage of earlier pages would be collected in a task of this one.
    context: {},
  })
  for (const [view, days] of Object.entries(DAYS)) {
    await page.evaluate(hash => {
      location.hash = hash
    }, `#/${view}`)
    await page.locator(`nav.tabs a[aria-current][href^="#/${view.split('?')[0]}"]`).waitFor()
    const found = await longTasksWhile(page, LONG_TASK_MS, async () => {
      for (let day = 0; day < days; day++) {
        await sim.clock.advance('1d')
        await page.mouse.move(400 + day * 40, 400)
        await page.mouse.wheel(0, 200)
        await page.waitForFunction(
          now => document.querySelector('.clock-bar time')?.getAttribute('datetime') === now,
          sim.clock.iso,
        )
      }
    })
    expect(found, view).toEqual([])
    expect(sim.journal.entries().at(-1)!.seq, view).toBeGreaterThan(100_000)
  }
  expect(problems).toEqual([])
})
