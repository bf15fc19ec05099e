/** Loads the flows that scenarios play. */

import { basename, dirname, relative, resolve } from 'node:path'
import { commandFlow, toNamedFlow } from '../../explore/declare-flow.ts'
import type { NamedFlow } from '../../explore/flow.ts'
import { flowScenarioOf } from '../documents/play.ts'
import type { FlowSurvival, ScenarioData } from '../documents/schema.ts'
import type { Scenario } from '../scenario.ts'
import { importScript, LoadError } from './import-script.ts'

/**
 * Loads the flow that a file exports as its default. A function has the name of its file.
 *
 * @throws LoadError if the file cannot be loaded, or exports no flow
 */
export async function loadFlow(file: string, folder: string): Promise<NamedFlow> {
  const name = relative(folder, file)
  const module = await importScript(file, folder)
  const flow = toNamedFlow(module.default, basename(file).replace(/\.\w+$/, ''))
  if (flow !== undefined) return flow
  const other = Object.entries(module).find(([key, value]) => key !== 'default' && typeof value === 'function')
  const reason = 'default' in module ? 'its default export is not a flow' : 'it has no default export'
  const advice =
    other !== undefined && !('default' in module)
      ? `Write 'export default' for '${other[0]}', if it is the flow.`
      : 'Write export default async ({ fetch, url, token, sleep }) => { … }.'
  throw new LoadError(`Failed to load the flow ${name}: ${reason}. ${advice}`)
}

/**
 * Loads the flow of a scenario, and returns the scenario.
 *
 * @throws LoadError for an unusable flow, and for an unknown invariant
 */
export async function loadFlowScenario(
  data: ScenarioData,
  survival: FlowSurvival,
  { file, folder }: { readonly file: string; readonly folder: string },
): Promise<Scenario> {
  const flow =
    survival.command === undefined
      ? await loadFlow(resolve(dirname(file), survival.flow!), folder)
      : commandFlow(survival.command, { cwd: folder })
  try {
    return flowScenarioOf(data, survival, flow)
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    const reason = error.message.replace(/^Failed to declare the scenario '.*?': /s, '')
    throw new LoadError(`Failed to load ${relative(folder, file)}: ${reason}`, { cause: error })
  }
}
