/** The past of a world: it can be gone back to, exactly. */

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Simulator } from '../../../../src/index.ts'
import { withoutPause } from '../../../../src/lib/slices.ts'
import { loadTokenizer } from '../../../../src/service/openai/tokenizer.ts'
import { parseRecording } from '../../../../src/simulator/history/file.ts'
import { Past } from '../../../../src/simulator/history/past/past.ts'
import { replayRecording } from '../../../../src/simulator/history/replay/perform-lines.ts'
import { createRequest } from '../../../../src/simulator/history/replay/replayed-request.ts'
import { forAllAsync } from '../../../setup/for-all.ts'
import { clock, Player, play } from '../plays.ts'

const RUNS = Number(process.env.INVARIANT_RUNS ?? 10)

await loadTokenizer()

/** What a world was at a moment. */
const stateOf = (sim: Simulator) => ({
  time: sim.world.clock.now,
  digest: sim.digest,
  last: sim.world.journal.last,
  balance: sim.ledger.balance,
  journal: sim.journal.entries().filter(({ kind }) => kind !== 'request'),
  deployments: sim.world.deployments
    .list()
    .map(({ ordinal }) => sim.world.deployments.get(sim.world.deployments.read(ordinal).id)),
})

test('a world of the past is as the world was then, when plays, clocks and paces are random', async () => {
  await forAllAsync(
    [
      fc.array(play, { maxLength: 6 }),
      fc.array(play, { maxLength: 25 }),
      clock,
      fc.constantFrom('clock', 'instant', undefined),
      fc.constantFrom('none', 'bad-week'),
      fc.constantFrom({ inputs: 1, entries: 5 }, { inputs: 4, entries: 1000 }, undefined),
      fc.constantFrom(2000, 1e9),
    ],
    { numRuns: RUNS },
    async (before, plays, mode, pace, weather, checkpointAfter, maxBytes) => {
      const player = new Player({ weather, ...(pace !== undefined && { inferencePace: pace as 'clock' }) }, mode)
      for (const one of before) await player.play(one)
      await player.settle()
      const { sim } = player
      const past = new Past(sim as unknown as Simulator, { maxBytes, ...(checkpointAfter && { checkpointAfter }) })
      let moments: ReturnType<typeof stateOf>[] = []
      let { world } = sim
      const atTimes = new Map<number, { digest: string; last: number; world: unknown }>()
      sim.journal.listen(({ time, seq }) => {
        const { world } = sim
        // A request of before a reset still belongs to the world before it.
        if (world.clock.now !== time || world.journal.last !== seq) return
        atTimes.set(time, { digest: sim.digest, last: seq, world })
      })
      for (const one of plays) {
        await player.play(one)
        if (sim.world !== world) {
          moments = []
          world = sim.world
        }
        moments.push(stateOf(sim as unknown as Simulator))
      }
      await player.settle()
      moments.push(stateOf(sim as unknown as Simulator))
      const { state } = past
      if (state !== undefined) {
        for (const moment of moments.filter(({ last }) => last > state.entry)) {
          const fork = await past.forkAt({ entry: moment.last })
          const { time: _, deployments: __, balance: ___, ...then } = moment
          const { journal, ...now } = stateOf(fork)
          expect({ digest: now.digest, last: now.last, journal }).toEqual(then)
          expect(now.time).toBeLessThanOrEqual(moment.time)
          await fork[Symbol.asyncDispose]()
        }
        const times = [...atTimes].filter(([, then]) => then.world === sim.world)
        for (const [time, { world: _, ...then }] of times.filter((_, index) => index % 7 === 0)) {
          if (time < state.from || then.last <= state.entry) continue
          const fork = await past.forkAt({ time })
          expect({ digest: fork.digest, last: fork.world.journal.last }).toEqual(then)
          expect(fork.world.clock.now).toBe(time)
          await fork[Symbol.asyncDispose]()
        }
        for (const request of sim.requests.filter(({ seq }, index) => index % 3 === 0 && seq > state.entry)) {
          const kept = past.requestOf(request.seq)!
          expect([kept.line.method, kept.line.path]).toEqual([request.method, request.path])
          expect(kept.body ?? undefined).toBe(request.body && JSON.stringify(request.body))
          const fork = await past.forkAt({ before: request.seq })
          expect(fork.world.clock.now).toBe(kept.sentAt)
          expect(fork.world.journal.last).toBeLessThan(request.seq)
          if (kept.answer?.at[0] === kept.sentAt && !kept.answer.streamed) {
            const sent = createRequest(kept.line, kept.body, new AbortController().signal)
            const answer = await fork.fetch(sent, { path: kept.line.path })
            expect([request.seq, answer.status]).toEqual([request.seq, kept.answer.status])
            if (typeof kept.answer.body === 'string') expect(await answer.text()).toBe(kept.answer.body)
          }
          await fork[Symbol.asyncDispose]()
        }
        const present = await past.forkAt({ time: sim.world.clock.now })
        expect(stateOf(present)).toEqual(stateOf(sim as unknown as Simulator))
        await present[Symbol.asyncDispose]()
        const result = await replayRecording(parseRecording(withoutPause(past.recording()), 'past'), 'past')
        expect(result.divergence).toBeUndefined()
      }
      await player.close()
    },
  )
}, 240_000)
