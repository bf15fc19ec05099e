/** Creates the runner of any kind of flow. */

import type { ExplorableFlow } from '../flow.ts'
import { createFlowRunner } from './flow-runner.ts'
import type { FlowRunner } from './runner.ts'

/**
 * Creates the runner of a function or of a command.
 *
 * @param signal ends the runs of a command at once
 * @throws the errors of `createFlowRunner` and `createCommandRunner`
 */
export async function createRunner(flow: ExplorableFlow, signal?: AbortSignal): Promise<FlowRunner> {
  if (!('command' in flow)) return createFlowRunner(flow)
  // Loaded on demand: only a command needs the server.
  const { createCommandRunner } = await import('../command/command-runner.ts')
  return createCommandRunner(flow, { signal })
}
