/** The scenarios of findings: as text, and as files. */

import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path'
import { describeFileError } from '../../lib/errors.ts'
import { shellQuote } from '../../lib/quote.ts'
import type { ExplainedFinding } from '../../workbench/explore/explore-flow.ts'
import type { ExplorableFlow } from '../../workbench/explore/flow.ts'
import type { WorldChange } from '../../workbench/explore/flow-world.ts'
import { toTypeScriptScenario, toYamlScenario } from '../../workbench/explore/report/finding-files.ts'
import { UsageError } from '../command.ts'
import { findFolderProblem, makeFolders } from '../files/output-file.ts'

/** A client of the command line. */
export interface ExploredClient {
  readonly flow: ExplorableFlow
  /** The module of a flow that is a function; undefined for a command. */
  readonly file: string | undefined
  /** The world that flags gave, in place of that of the module. */
  readonly world?: WorldChange | undefined
  /** What its report says beside what the exploration does. */
  readonly notes?: readonly string[]
}

/** The language of a written scenario. */
export const SCENARIO_LANGUAGES = ['yaml', 'typescript'] as const
export type ScenarioLanguage = (typeof SCENARIO_LANGUAGES)[number]

const ENDINGS: Readonly<Record<ScenarioLanguage, string>> = { yaml: 'yaml', typescript: 'ts' }

/** Returns the scenario of a finding in YAML, for a file in a folder. */
export function scenarioText(client: ExploredClient, finding: ExplainedFinding, folder: string): string {
  return textIn('yaml', client, finding, folder)
}

/** @throws UsageError for a folder that cannot be made, a language without one, or one that cannot describe a client */
export function assertWritable(
  clients: readonly ExploredClient[],
  { write, writeAs }: { readonly write?: string | undefined; readonly writeAs?: ScenarioLanguage | undefined },
  home: string,
): void {
  if (write !== undefined) {
    let present = resolve(home, write)
    while (!existsSync(present)) present = dirname(present)
    const problem = findFolderProblem(present)
    if (problem !== undefined)
      throw new UsageError(`Failed to write --write '${write}': ${problem}. Give another folder.`)
    if (clients.some(({ flow }) => 'command' in flow && flow.options.endpoints !== undefined)) {
      const reason = 'the scenario of a command cannot have your own endpoints'
      throw new UsageError(
        `Failed to write --write '${write}': ${reason}. Explore a flow that has them among its options.`,
      )
    }
  }
  if (writeAs === undefined) return
  const problem = `Failed to read --write-as ${writeAs}`
  if (write === undefined) throw new UsageError(`${problem}: no folder to write to. Give one, as in --write findings.`)
  if (writeAs === 'yaml' || !clients.some(({ flow }) => 'command' in flow)) return
  throw new UsageError(`${problem}: a scenario in TypeScript imports its flow, and a command has none. Leave it out.`)
}

/** Returns the line of a shell that plays scenarios again. Our `sleep` and an active venv stay in the PATH of a command. */
export function playLine({ flow }: ExploredClient, file: string, home: string): string {
  const { PATH = '', VIRTUAL_ENV } = process.env
  const isNeeded = (folder: string) =>
    /[\\/]clients[\\/]shell[\\/]?$/.test(folder) || folder === `${VIRTUAL_ENV}${sep}bin`
  const folders = 'command' in flow ? [...new Set(PATH.split(delimiter).filter(isNeeded))] : []
  const places = folders.map(one => (one.startsWith(`${home}${sep}`) ? `$PWD/${relative(home, one)}` : one))
  return `${places.length > 0 ? `PATH="${places.join(':')}:$PATH" ` : ''}npx modelhost-sim run ${shellQuote(file)}`
}

function textIn(
  language: ScenarioLanguage,
  { flow: client, file, world }: ExploredClient,
  finding: ExplainedFinding,
  folder: string,
): string {
  const { plan, invariant, why, shrunk, inputs } = finding
  const given: WorldChange = { ...world, ...shrunk?.world }
  const { fixtures } = given
  // In a scenario, a path is relative to its file.
  const isPath = typeof fixtures === 'string' && /^\.\.?[\\/]/.test(fixtures)
  const inFile = isPath ? { ...given, fixtures: pathFrom(folder, resolve(fixtures)) } : given
  const content = { plan, inputs, world: inFile, invariants: [invariant], comment: why }
  if ('command' in client) return toYamlScenario({ flow: client.command, ...content })
  const flow = pathFrom(folder, file!)
  return language === 'yaml' ? toYamlScenario({ flow, ...content }) : toTypeScriptScenario({ flow, ...content })
}

function pathFrom(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join('/')
  return path.startsWith('.') ? path : `./${path}`
}

/**
 * Writes the scenarios of findings to a folder, which is made if it is missing. A file of an earlier run is replaced.
 * `home` is the folder of the command.
 *
 * @returns the paths by signature, relative to the folder of the command
 * @throws UsageError when a file cannot be written
 */
export function writeScenarios(
  loaded: ExploredClient,
  findings: readonly ExplainedFinding[],
  { folder, language, home }: { readonly folder: string; readonly language: ScenarioLanguage; readonly home: string },
): ReadonlyMap<string, string> {
  const written = new Map<string, string>()
  for (const finding of findings) {
    const path = resolve(home, folder, `${fileName(loaded.flow.name, finding.signature)}.${ENDINGS[language]}`)
    const file = join(folder, relative(resolve(home, folder), path))
    const line = playLine(loaded, file, home)
    const text = `${line.startsWith('PATH=') ? `# ${line}\n` : ''}${textIn(language, loaded, finding, dirname(path))}`
    try {
      makeFolders(dirname(path))
      writeFileSync(path, text)
    } catch (error) {
      throw new UsageError(
        `Failed to write --write '${folder}': ${describeFileError(error)}. Free some space, or give another folder.`,
      )
    }
    written.set(finding.signature, file)
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
