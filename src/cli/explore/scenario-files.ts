/** The scenarios of findings: as text, and as files. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { ExplainedFinding } from '../../explore/explore-flow.ts'
import { toYamlScenario } from '../../explore/report/finding-files.ts'
import { describeFileError } from '../../lib/file-errors.ts'
import type { LoadedFlow } from '../../scenario/runner/load-flow.ts'
import { UsageError } from '../command.ts'

/** Returns the scenario of a finding, for a file in a folder. */
export function scenarioText({ file }: LoadedFlow, finding: ExplainedFinding, folder: string): string {
  const { plan, invariant, why, shrunk } = finding
  const path = relative(folder, file).split(sep).join('/')
  const flow = path.startsWith('.') ? path : `./${path}`
  return toYamlScenario({ flow, plan, world: shrunk?.world, invariants: [invariant], comment: why })
}

/**
 * Writes the scenarios of findings to a folder, which is made if it is missing. A file of an earlier run is replaced.
 *
 * @returns the paths by signature, relative to the folder of the command
 * @throws UsageError when a file cannot be written
 */
export function writeScenarios(
  loaded: LoadedFlow,
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
