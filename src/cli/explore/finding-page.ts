/** The saved page of what was found: the run of each finding, and the run without faults beside them. */

import type { SavedWorld } from '../../server/saved-page/content.ts'
import { recordSimulator } from '../../simulator/history/record.ts'
import type { Plan } from '../../workbench/explore/plan/plan.ts'
import { createRunner } from '../../workbench/explore/run/create-runner.ts'
import type { FlowRunner, RunOptions } from '../../workbench/explore/run/runner.ts'
import { writePageFile } from '../pages/page-file.ts'
import { type ExploredFlow, formatFlowJson } from './report.ts'
import type { ExploredClient } from './scenario-files.ts'

/** Findings in one page. Each has a world, and a reader compares few. */
const MAX_FINDINGS = 8

/**
 * Runs the client again under the plan of each finding and without faults, and writes the page of these runs.
 *
 * @throws RunStopped if the signal ends a run of a command
 */
export async function writeFindingPage(
  file: string,
  { flow }: ExploredClient,
  explored: ExploredFlow,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { fresh } = explored.findings
  const [first] = fresh
  if (first === undefined) return
  const runner = await createRunner(flow, signal)
  try {
    const worlds: SavedWorld[] = []
    for (const { plan, words, shrunk, inputs } of fresh.slice(0, MAX_FINDINGS)) {
      const setting = { world: shrunk?.world, inputs }
      worlds.push(await recordRun(runner, plan, setting, `the run in which ${words}`))
      // Beside the first finding: the same world and the same inputs.
      if (worlds.length === 1) worlds.push(await recordRun(runner, [], setting, 'the run without faults'))
    }
    await writePageFile(file, {
      title: `${flow.name}: ${first.signature}`,
      worlds,
      start: { view: 'report', flow: flow.name, finding: first.signature },
      explored: formatFlowJson(explored),
    })
  } finally {
    await runner.dispose()
  }
}

async function recordRun(runner: FlowRunner, plan: Plan, options: RunOptions, title: string): Promise<SavedWorld> {
  let recording: ReturnType<typeof recordSimulator> | undefined
  await runner.run(plan, {
    ...options,
    onWorld: sim => {
      recording = recordSimulator(sim)
    },
  })
  recording!.stop()
  return { title, recording: recording!.text }
}
