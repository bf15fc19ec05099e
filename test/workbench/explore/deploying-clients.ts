/** A careful and a naive client that deploy a model, and their explorations. */
import { DeployClient } from '../../../examples/vitest/client.ts'
import { type ExploreOptions, exploreRuns } from '../../../src/workbench/explore/explore.ts'
import type { FlowFunction, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'
import { DeployClient as NaiveClient } from './naive/deploy-client.ts'

const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
export const careful: FlowFunction = ({ fetch, url, token, sleep }) =>
  new DeployClient({ baseUrl: url, token, fetch, sleep }).deploy(MODEL)
export const naive: FlowFunction = ({ url, token, sleep }) =>
  new NaiveClient({ baseUrl: url, token, sleep }).deploy(MODEL)

export async function explore(run: FlowFunction, options: Partial<ExploreOptions> = {}, flow: FlowOptions = {}) {
  const runner = createFlowRunner({ name: 'deploys', options: { fixtures: 'empty', ...flow }, run })
  try {
    return await exploreRuns(runner, { name: 'deploys', ...options })
  } finally {
    await runner.dispose()
  }
}
