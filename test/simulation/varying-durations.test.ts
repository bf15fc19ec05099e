import { describe, expect, test } from 'vitest'
import { draw } from '../../src/data/profiles/distribution.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
import { Chance, purpose } from '../../src/kernel/random.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../setup/batches.ts'
import { sendTo } from '../setup/send-to.ts'

const LINE = { model: 'aurora-labs/aurora-8b-instruct', prompt: 'Tea.', max_tokens: 5 }
const LINES = Array.from({ length: 8 }, (_, i) => batchLine(`line-${i}`, LINE, '/v1/completions'))

/** Returns the durations of one world in microseconds, read from the journal of requests that a client sent. */
async function durations(seed: number) {
  const sim = createSimulator({ fixtures: 'empty', seed, check: true })
  const send = async (request: string, body: object) => expect((await sendTo(sim, request, body)).status).toBe(200)
  await send('POST /deploy/llm', { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await send('POST /v1/me/gpu_limit/request', { gpu_type: 'H100-80GB', requested_limit: 16, reason: 'more' })
  await startBatch(sim, LINES)
  await sim.clock.advance('3d')
  const at = (kind: string) => sim.journal.entries().find(entry => entry.kind === kind)!.time
  return {
    placement: at('instance.placed') - at('instance.pending'),
    containerStart: at('instance.pulling') - at('instance.placed'),
    validation: at('batch.in_progress') - at('batch.created'),
    finalizing: at('batch.completed') - at('batch.finalizing'),
    review: at('limit.approved') - at('limit.requested'),
  }
}

describe('durations', () => {
  test('of placement, container start, validation, finalizing and review differ between 8 seeds', {
    tags: 'slow',
  }, async () => {
    const worlds = await Promise.all(Array.from({ length: 8 }, (_, seed) => durations(seed)))
    for (const name of Object.keys(worlds[0]!) as (keyof (typeof worlds)[0])[]) {
      expect({ name, values: new Set(worlds.map(world => world[name])).size }).toEqual({ name, values: 8 })
    }
  })

  test('are equal when the seed is equal', async () => {
    expect(await durations(7)).toEqual(await durations(7))
  })

  test.each([
    'placementDelay',
    'containerStart',
    'batchValidation',
    'batchFinalizing',
    'storageExpansion',
    'rentalPlacementDelay',
    'limitReview',
  ] as const)('of %s have a median within 5 percent of the figure of the profile over 2,000 draws', name => {
    const { timings, reviews } = loadProfile('realistic')
    const figure = { ...timings, ...reviews }[name]
    if (!('median' in figure)) throw new Error(`${name} has no median`)
    const chance = new Chance('1')
    const draws = Array.from({ length: 2000 }, (_, i) =>
      draw(figure, chance, chance.key('thing', String(i)), purpose('test.duration')),
    ).sort((a, b) => a - b)
    expect(Math.abs(draws[1000]! / figure.median - 1)).toBeLessThan(0.05)
    expect(draws[1900]! / draws[100]!).toBeGreaterThan(2)
  })
})
