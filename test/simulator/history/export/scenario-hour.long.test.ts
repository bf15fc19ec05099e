import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSimulator } from '../../../../src/index.ts'
import { type ScenarioFormat, toScenario } from '../../../../src/simulator/history/export/scenario.ts'
import { parseRecording } from '../../../../src/simulator/history/file.ts'
import { runScenario } from '../../../../src/workbench/scenario/index.ts'
import { loadScenarios } from '../../../../src/workbench/scenario/runner/files.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'
import { playMixedHour } from '../mixed-hour.ts'

test('the scenarios of a mixed hour pass at once', async () => {
  const folder = temporaryFolder()
  const sim = createSimulator({ seed: 5, weather: 'bad-week', inferencePace: 'clock' })
  const recording = sim.record()
  await playMixedHour(sim, (input, init) => sim.fetch(input, init), 'http://sim')
  recording.stop()
  await sim[Symbol.asyncDispose]()
  const recorded = parseRecording(recording.text, 'hour')
  for (const [name, format] of Object.entries({ 'hour.yaml': 'yaml', 'hour.ts': 'typescript' })) {
    const file = join(folder, name)
    writeFileSync(file, toScenario(recorded, { format: format as ScenarioFormat }))
    const [scenario] = await loadScenarios(file, folder)
    const { failure, elapsed } = await runScenario(scenario!, { file })
    expect({ failure, elapsed }).toEqual({ failure: undefined, elapsed: 3_600_000_000 })
  }
})
