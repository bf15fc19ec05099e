/** The scenarios of findings: as text, and as files. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { ExplainedFinding } from '../../explore/explore-flow.ts'
import type { ExplorableFlow } from '../../explore/flow.ts'
import { toYamlScenario } from '../../explore/report/finding-files.ts'
import type { RunOptions } from '../../explore/run/runner.ts'
import { describeFileError } from '../../lib/file-errors.ts'
import { UsageError } from '../command.ts'

/** A client of the command line. */
export interface ExploredClient {
  readonly flow: ExplorableFlow
  /** The module of a flow that is a function; undefined for a command. */
  readonly file: string | undefined
  /** The world that flags gave, in place of that of the module. */
  readonly world?: Pick<RunOptions, 'seed' | 'fixtures'> | undefined
}

/** Returns the scenario of a finding, for a file in a folder. */
export function scenarioText(
  { flow: client, file, world }: ExploredClient,
  finding: ExplainedFinding,
  folder: string,
): string {
  const { plan, invariant, why, shrunk } = finding
  const flow = 'command' in client ? client.command : pathFrom(folder, file!)
  return toYamlScenario({ flow, plan, world: { ...world, ...shrunk?.world }, invariants: [invariant], comment: why })
}

function pathFrom(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join('/')
  return path.startsWith('.') ? path : `./${path}`
}

/**
 * Writes the scenarios of findings to a folder, which is made if it is missing. A file of an earlier run is replaced.
 *
 * @returns the paths by signature, relative to the folder of the command
 * @throws UsageError when a file cannot be written
 */
export function writeScenarios(
  loaded: ExploredClient,
  findings: readonly ExplainedFinding[],
  folder: string,
  home: string,
): ReadonlyMap<string, string> {
  const written = new Map<string, string>()
  for (const finding of findings) {
    const path = resolve(home, folder, `${fileName(loaded.flow.name, finding.signature)}.yaml`)
    try {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, scenarioText(loaded, finding, dirname(path)))
    } catch (error) {
      throw new UsageError(
        `Failed to write --write '${folder}': ${describeFileError(error)}. Free some space, or give another folder.`,
      )
    }
    written.set(finding.signature, join(folder, relative(resolve(home, folder), path)))
  }
  return written
}

/** Returns a name that is the same for the same root cause. */
function fileName(flow: string, signature: string): string {
  return `${flow}-${signature}`
    .replaceAll(/[^\w.]+/g, '-')
    .replaceAll(/^[-.]+|-+$/g, '')
    .toLowerCase()
}
