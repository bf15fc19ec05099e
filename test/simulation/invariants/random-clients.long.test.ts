import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { findViolations } from '../../../src/simulation/invariants/check-world.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { forAllAsync } from '../../setup/for-all.ts'
import { type Action, action, perform } from './actions.ts'

const RUNS = Number(process.env.INVARIANT_RUNS ?? 6)

await loadTokenizer()

function world(seed = 7): Simulator {
  return createSimulator({ fixtures: 'default', seed, check: true, onBug: rethrow })
}

function rethrow(error: unknown): never {
  throw error
}

async function play(sim: Simulator, actions: readonly Action[]): Promise<void> {
  for (const one of actions) await perform(sim, one)
}

describe('laws of every world', () => {
  test('every invariant holds after every event, and in a full count, for random clients and failures', async () => {
    await forAllAsync([fc.array(action, { maxLength: 30 })], { numRuns: RUNS }, async actions => {
      const sim = world()
      await play(sim, actions)
      expect(findViolations(sim.world)).toEqual([])
      await sim.clock.advance('30h')
      expect(findViolations(sim.world)).toEqual([])
    })
  })

  test('the same seed and the same requests give the same digest, trace and answers', async () => {
    await forAllAsync([fc.array(action, { maxLength: 25 }), fc.nat(5)], { numRuns: RUNS }, async (actions, seed) => {
      const [one, other] = [world(seed), world(seed)]
      await play(one, actions)
      await play(other, actions)
      expect(other.digest).toBe(one.digest)
      expect(other.journal.entries()).toEqual(one.journal.entries())
    })
  })

  test('advance(a) then advance(b) is advance(a + b)', async () => {
    await forAllAsync(
      [
        fc.array(action, { maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 5_000_000 }), { minLength: 1, maxLength: 8 }),
      ],
      { numRuns: RUNS },
      async (actions, slices) => {
        const [whole, sliced] = [world(), world()]
        await play(whole, actions)
        await play(sliced, actions)
        await whole.clock.advance(slices.reduce((sum, slice) => sum + slice, 0))
        for (const slice of slices) await sliced.clock.advance(slice)
        expect(sliced.digest).toBe(whole.digest)
        expect(sliced.ledger.balance).toBe(whole.ledger.balance)
      },
    )
  })

  test('a refused request changes nothing but the journal', async () => {
    await forAllAsync([fc.array(action, { maxLength: 25 })], { numRuns: RUNS }, async actions => {
      const sim = world()
      for (const one of actions) {
        const before = [sim.digest, sim.ledger.balance, sim.world.agenda.size]
        const status = await perform(sim, one)
        if (status !== undefined && status >= 400) {
          expect([sim.digest, sim.ledger.balance, sim.world.agenda.size]).toEqual(before)
        }
      }
    })
  })

  test('a fork goes on exactly as its origin would have, and neither feels the other', async () => {
    await forAllAsync(
      [fc.array(action, { maxLength: 12 }), fc.array(action, { maxLength: 8 })],
      { numRuns: RUNS },
      async (before, after) => {
        const [sim, twin] = [world(), world()]
        await play(sim, before)
        await play(twin, before)
        const fork = sim.world.fork()
        await play(sim, after)
        // What the origin did after the fork is not in the fork: it equals a world that never did it.
        fork.runTo(fork.clock.now + 3_600_000_000)
        await twin.clock.advance('1h')
        expect(fork.digest).toBe(twin.digest)
        expect(findViolations(fork)).toEqual([])
        expect(findViolations(sim.world)).toEqual([])
      },
    )
  })

  test('balance before − balance after = rent + tokens − funds, to the micro-cent', async () => {
    await forAllAsync([fc.array(action, { maxLength: 20 })], { numRuns: RUNS }, async actions => {
      const sim = world()
      const opening = sim.ledger.balance
      await play(sim, actions)
      const moved = sim.ledger.entries().reduce((sum, entry) => sum + entry.microcents, 0)
      expect(sim.ledger.balance - opening).toBe(moved)
    })
  })

  test('reset brings back the very first world', async () => {
    await forAllAsync([fc.array(action, { maxLength: 15 })], { numRuns: RUNS }, async actions => {
      const sim = world()
      const first = [sim.digest, sim.clock.iso, sim.ledger.balance]
      await play(sim, actions)
      const played = sim.digest
      sim.reset()
      expect([sim.digest, sim.clock.iso, sim.ledger.balance]).toEqual(first)
      await play(sim, actions)
      expect(sim.digest).toBe(played)
    })
  })

  test('the order in which independent clients ask within one instant does not show', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `acme/model-${i}`)
    await forAllAsync(
      [fc.shuffledSubarray(names, { minLength: 12, maxLength: 12 })],
      { numRuns: Math.min(RUNS, 25) },
      async order => {
        const digests: string[] = []
        for (const one of [names, order]) {
          const sim = createSimulator({
            fixtures: 'default',
            seed: 3,
            with: { account: { gpu_limits: { 'L4-24GB': null, 'H100-80GB': null } } },
          })
          for (const [i, name] of one.entries()) {
            void i
            const gpu = Number(name.slice(-1)) % 2 === 0 ? 'L4-24GB' : 'H100-80GB'
            await perform(sim, { do: 'create', name, gpu, num_gpus: 1, min: 1, repo: 'acme/chat-8b', batch: 16 })
          }
          await sim.clock.advance('1h')
          digests.push(sim.digest)
        }
        expect(digests[1]).toBe(digests[0])
      },
    )
  })
})
