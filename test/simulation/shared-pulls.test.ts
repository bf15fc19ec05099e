import { expect, test } from 'vitest'
import { spec, stage } from './small-world.ts'

/** Starts two deployments of one image on one node without it, and returns when each image was there. */
async function pulls(between: (sim: ReturnType<typeof stage>, first: string) => Promise<void>) {
  const sim = stage([{ cached: false }])
  const [first] = ['acme/a', 'acme/b'].map(model_name => sim.world.deployments.createLlm(spec({ model_name })))
  await between(sim, first!.deploy_id)
  await sim.clock.advance('1h')
  return sim.journal
    .entries()
    .filter(({ kind }) => kind === 'instance.imagePulled')
    .map(({ time }) => time)
}

test('instances that wait for one image on one node have it at the same time', async () => {
  const times = await pulls(async () => {})
  expect(times).toHaveLength(2)
  expect(new Set(times).size).toBe(1)
})

test('a replacement waits for the pull that a lost instance started', async () => {
  const times = await pulls(async (sim, first) => {
    await sim.clock.advance('30s')
    const { deployments, instances } = sim.world
    const [lost] = deployments.read(deployments.ordinalOf(first)!).instances
    instances.lose([lost!], { cause: 'other', reason: 'a test' })
  })
  expect(times).toHaveLength(2)
  expect(new Set(times).size).toBe(1)
})
