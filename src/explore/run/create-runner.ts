/** Creates the runner of any kind of flow. */

import type { ExplorableFlow } from '../flow.ts'
import { createFlowRunner } from './flow-runner.ts'
import type { FlowRunner } from './runner.ts'

/**
 * Creates the runner of a function or of a command.
 *
 * @throws the errors of `createFlowRunner` and `createCommandRunner`
 */
export async function createRunner(flow: ExplorableFlow): Promise<FlowRunner> {
  if (!('command' in flow)) return createFlowRunner(flow)
  // Loaded on demand: only a command needs the server.
  const { createCommandRunner } = await import('../command/command-runner.ts')
  const { fixtures, with: patch, seed, profile, invariants } = flow.options
  const { command, timeout, processes, cwd } = flow
  return createCommandRunner(command, {
    ...(fixtures !== undefined && { fixtures }),
    ...(patch !== undefined && { with: patch }),
    ...(seed !== undefined && { seed }),
    ...(profile !== undefined && { profile }),
    ...(invariants !== undefined && { invariants }),
    ...(timeout !== undefined && { timeout }),
    ...(processes !== undefined && { processes }),
    ...(cwd !== undefined && { cwd }),
  })
}
