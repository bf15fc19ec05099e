import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventLoopTurn } from '../../../../src/lib/real-time.ts'
import { loadTokenizer } from '../../../../src/service/openai/tokenizer.ts'
import { toScenario } from '../../../../src/simulator/history/export/scenario.ts'
import { parseRecording } from '../../../../src/simulator/history/file.ts'
import { runScenario } from '../../../../src/workbench/scenario/index.ts'
import { loadScenarios } from '../../../../src/workbench/scenario/runner/files.ts'
import { forAllAsync } from '../../../setup/for-all.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'
import { clock, Player, play } from '../plays.ts'

const RUNS = Number(process.env.INVARIANT_RUNS ?? 10)

await loadTokenizer()

test('a scenario of a recording passes at once when plays and paces are random', async () => {
  const folder = temporaryFolder()
  let files = 0
  await forAllAsync(
    [
      fc.array(
        play.filter(one => one.do !== 'write'),
        { maxLength: 25 },
      ),
      fc.constantFrom('clock', 'instant'),
      fc.constantFrom('none', 'bad-week'),
      fc.constantFrom('yaml', 'typescript'),
      clock,
    ],
    { numRuns: RUNS },
    async (plays, pace, weather, language, mode) => {
      const player = new Player({ weather, inferencePace: pace as 'clock' }, mode)
      const recording = player.sim.record()
      for (const one of plays) {
        await player.play(one)
        // Steps of requests that are sent in one turn of the event loop interleave. A scenario sends one after another.
        for (let turn = 0; turn < 20; turn++) await eventLoopTurn()
      }
      await player.sim.clock.advance('1m')
      recording.stop()
      const { text } = recording
      await player.close()
      const isRestored = text.includes('"do":"restore"')
      const format = isRestored ? 'typescript' : (language as 'yaml')
      const source = toScenario(parseRecording(text, 'play'), { format })
      const file = join(folder, `play-${++files}.${format === 'yaml' ? 'yaml' : 'ts'}`)
      writeFileSync(file, source)
      const [scenario] = await loadScenarios(file, folder)
      const { failure } = await runScenario(scenario!, { file, stuckTimeoutMs: 2000 })
      expect(failure && { ...failure, source: source.slice(0, 20_000) }).toBeUndefined()
    },
  )
}, 120_000)
