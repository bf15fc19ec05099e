/** Loads the flows of a command line. */

import { statSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { shellQuote } from '../../../lib/quote.ts'
import type { NamedFlow } from '../../explore/flow.ts'
import { loadFlow } from './flow-files.ts'
import { LoadError } from './import-script.ts'
import { nearestFile, withResolvedPaths } from './paths.ts'

/** The names of modules that can be loaded. */
const SCRIPT_FILE = /\.(ts|mts|js|mjs)$/

/** A flow and its module. */
export interface LoadedFlow {
  readonly flow: NamedFlow
  readonly file: string
}

/**
 * Loads the flow of a module. Paths of its options that begin with a dot are relative to the module.
 *
 * @throws LoadError for a missing file, one that is not a module, and one that exports no flow
 */
export async function loadFlowFile(path: string, folder = process.cwd()): Promise<LoadedFlow> {
  const file = resolve(folder, path)
  const name = relative(folder, file)
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) {
    const near = nearestFile(file, SCRIPT_FILE)
    const advice = near === undefined ? 'Give the module of a flow.' : `Did you mean '${relative(folder, near)}'?`
    throw new LoadError(`Failed to find the flow '${path}': the file is missing. ${advice}`)
  }
  if (!stat.isFile())
    throw new LoadError(`Failed to load ${shellQuote(path)}: it is a folder. Give the module of a flow.`)
  if (!SCRIPT_FILE.test(file)) {
    const advice = `Give a .ts, .mts, .js or .mjs file, or a program after --, as in: explore -- python3 client.py`
    throw new LoadError(`Failed to load ${name}: it is not a module. ${advice}`)
  }
  const flow = await loadFlow(file, folder)
  return { flow: { ...flow, options: withResolvedPaths(flow.options, dirname(file)) }, file }
}
