import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { replayRecording } from '../../../src/simulator/history/replay/perform-lines.ts'
import { forAllAsync } from '../../setup/for-all.ts'
import { clock, Player, play } from './plays.ts'

const RUNS = Number(process.env.INVARIANT_RUNS ?? 10)

await loadTokenizer()

test('a replay gives the same answers and the same digest when plays, clocks and paces are random', async () => {
  await forAllAsync(
    [
      fc.array(play, { maxLength: 8 }),
      fc.array(play, { maxLength: 30 }),
      clock,
      fc.constantFrom('clock', 'instant', undefined),
      fc.constantFrom('none', 'bad-week'),
    ],
    { numRuns: RUNS },
    async (before, plays, mode, pace, weather) => {
      const player = new Player({ weather, ...(pace !== undefined && { inferencePace: pace as 'clock' }) }, mode)
      for (const one of before) await player.play(one)
      await player.settle()
      const recording = player.sim.record()
      for (const one of plays) await player.play(one)
      recording.stop()
      const { text } = recording
      await player.close()
      const result = await replayRecording(parseRecording(text, 'play'), 'play')
      expect(
        result.divergence && { ...result.divergence, text: text.slice(text.indexOf('\n'), 20_000) },
      ).toBeUndefined()
      expect(result.cut).toBeUndefined()
    },
  )
}, 120_000)
