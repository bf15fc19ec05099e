/** Each scenario of the package as a saved page has it: its recording runs again, with a past from the start. */
import { expect, test } from 'vitest'
import { runAgain, type WorldProblem } from '../../../src/server/saved-page/run-again.ts'
import { loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { type Recording, recordSimulator } from '../../../src/simulator/history/record.ts'
import { runFiles } from '../../../src/workbench/scenario/runner/runner.ts'

test('the recording of each scenario runs again without a difference', async () => {
  await loadTokenizer()
  let recording: Recording | undefined
  const worlds: { title: string; recording: string }[] = []
  await runFiles(['scenarios'], {
    workers: 1,
    onWorld: sim => {
      recording = recordSimulator(sim)
    },
    onResult: ({ title }) => {
      recording!.stop()
      worlds.push({ title, recording: recording!.text })
    },
  })
  expect(worlds.length).toBeGreaterThan(60)
  const problems: WorldProblem[] = []
  for (const world of worlds) problems.push(...(await runAgain([world], {}, () => {})).problems)
  expect(problems).toEqual([])
}, 300_000)
