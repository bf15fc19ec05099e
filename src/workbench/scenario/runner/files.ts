/** Finds and loads scenario files. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { escapeRegExp } from '../../../lib/patterns.ts'
import { toNamedFlow } from '../../explore/declare-flow.ts'
import { isScenario, type Scenario } from '../scenario.ts'
import { importScript, LoadError } from './import-script.ts'
import { nearestFile, shippedFolder } from './paths.ts'

const SCRIPT_FILE = /\.(ts|mts|js|mjs)$/
/** Scenarios as data. In a folder, JSON needs the ending .scenario.json, because other JSON is common. */
const DATA_FILE = /\.(ya?ml|json)$/
const DISCOVERABLE_FILE = /\.(ts|mts|js|mjs|ya?ml|scenario\.json)$/
const GLOB_CHARACTERS = /[*?{[]/
/** A module that creates a scenario is meant to export it. */
const DECLARES_SCENARIO = /\b(scenario\s*(\(|\.each\b)|survives\s*\()/
const EXCLUDED_FILE = /\.(d\.m?ts|test\.m?[jt]s|spec\.m?[jt]s)$/

/**
 * Returns the scenario files of patterns, sorted, each once. A pattern is a file, a folder (with all folders in it) or a
 * glob (`*`, `**`, `?`, `{a,b}`, `[ab]`). `node_modules` is skipped if no pattern names it.
 *
 * @throws LoadError for a pattern without files, with the nearest name
 */
export function findScenarioFiles(patterns: readonly string[], folder = process.cwd()): string[] {
  const found = patterns.flatMap(pattern => {
    const path = resolve(folder, pattern)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isFile()) return [path]
    const files = stat?.isDirectory()
      ? expandGlob(path, ['**', '*'])
      : GLOB_CHARACTERS.test(pattern)
        ? glob(pattern, folder)
        : undefined
    if (files === undefined) throw new LoadError(describeMissingFile(pattern, path, folder))
    const scripts = files.filter(file => DISCOVERABLE_FILE.test(file) && !EXCLUDED_FILE.test(file))
    if (scripts.length === 0) {
      throw new LoadError(describeNoScenarios([pattern], folder))
    }
    return scripts
  })
  return [...new Set(found)].sort()
}

/**
 * Loads the scenarios that a file exports as its default.
 *
 * @param isDiscovered whether it was found in a folder: then it may be a helper module without scenarios
 * @throws LoadError if it cannot be loaded as a module or exports no scenario
 */
export async function loadScenarios(file: string, folder = process.cwd(), isDiscovered = false): Promise<Scenario[]> {
  const name = relative(folder, file)
  if (DATA_FILE.test(file)) return [await loadDataScenario(file, folder)]
  if (!SCRIPT_FILE.test(file)) {
    throw new LoadError(`Failed to load ${name}: it is not a scenario. Give a .ts, .js or .yaml file.`)
  }
  const module = await importScript(file, folder)
  const scenarios = [module.default].flat()
  if (scenarios.length > 0 && scenarios.every(isScenario)) {
    requireUniqueTitles(scenarios, name)
    return scenarios
  }
  const otherExport = Object.entries(module).find(([key, value]) => key !== 'default' && isScenario(value))
  const isFlow = toNamedFlow(module.default, name) !== undefined
  const isHelperModule = isDiscovered && (isFlow || !('default' in module)) && otherExport === undefined
  if (isHelperModule && !DECLARES_SCENARIO.test(readFileSync(file, 'utf8'))) return []
  throw new LoadError(
    `Failed to load ${name}: its default export is not a scenario. ` +
      (otherExport
        ? `Write 'export default' for '${otherExport[0]}'.`
        : "Write export default scenario('…', { … }, async ({ api, clock, check }) => { … })."),
  )
}

async function loadDataScenario(file: string, folder: string): Promise<Scenario> {
  const name = relative(folder, file)
  // Loaded on demand: most runs have no scenarios as data.
  const [{ readScenarioDocument: readDocument }, { DocumentError }, { scenarioOf }] = await Promise.all([
    import('../documents/parse.ts'),
    import('../documents/problems.ts'),
    import('../documents/play.ts'),
  ])
  try {
    const data = readDocument(file, name)
    if (data.survival === undefined) return scenarioOf(data, file)
    const { loadFlowScenario } = await import('./flow-files.ts')
    return await loadFlowScenario(data, data.survival, { file, folder })
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    throw new LoadError(`Failed to load ${error.message}`, { cause: error })
  }
}

/** Refuses equal titles in a file: titles identify the traces. */
function requireUniqueTitles(scenarios: readonly Scenario[], name: string): void {
  const titles = scenarios.map(({ title }) => title)
  const duplicate = titles.find((title, i) => titles.indexOf(title) !== i)
  if (duplicate !== undefined) {
    throw new LoadError(
      `Failed to load ${name}: two of its scenarios are titled '${duplicate}'. Give each its own title.`,
    )
  }
}

/** Returns the error text for patterns without scenarios. */
export function describeNoScenarios(patterns: readonly string[], folder: string): string {
  const all = patterns.map(pattern => `'${pattern}'`).join(', ')
  return `Failed to find scenarios: ${all} ${patterns.length === 1 ? 'contains' : 'contain'} no scenario file. ${adviceFor(folder)}`
}

function adviceFor(folder: string): string {
  const give = 'Give .ts, .js or .yaml files, folders of them, or globs'
  const shipped = relative(folder, shippedFolder('scenarios'))
  return shipped === 'scenarios' || !existsSync(shippedFolder('scenarios'))
    ? `${give}.`
    : `${give}; those of the package are in '${shipped}'.`
}

function describeMissingFile(pattern: string, path: string, folder: string): string {
  // The documentation names scenarios of the package by this path.
  const shipped = join(dirname(shippedFolder('scenarios')), pattern)
  const meant = nearestFile(path) ?? (existsSync(shipped) ? shipped : undefined)
  return (
    `Failed to find the scenario '${pattern}': the file is missing. ` +
    (meant === undefined ? adviceFor(folder) : `Did you mean '${relative(folder, meant)}'?`)
  )
}

/** Returns the files that a glob matches. `fs.glob` exists only since Node 22. */
function glob(pattern: string, folder: string): string[] {
  const parts = pattern.split(/[\\/]/)
  const firstWild = parts.findIndex(part => GLOB_CHARACTERS.test(part))
  const home = resolve(folder, parts.slice(0, firstWild).join(sep) || (pattern.startsWith('/') ? sep : '.'))
  return expandGlob(home, parts.slice(firstWild))
}

function expandGlob(folder: string, parts: readonly string[]): string[] {
  const [part, ...rest] = parts
  if (part === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return []
  const entries = readdirSync(folder, { withFileTypes: true }).filter(
    entry => entry.name !== 'node_modules' && !entry.name.startsWith('.'),
  )
  const folders = entries.filter(entry => entry.isDirectory())
  if (part === '**') {
    return [...expandGlob(folder, rest), ...folders.flatMap(entry => expandGlob(join(folder, entry.name), parts))]
  }
  const matches = wildcardPattern(part)
  if (rest.length > 0) {
    return folders
      .filter(entry => matches.test(entry.name))
      .flatMap(entry => expandGlob(join(folder, entry.name), rest))
  }
  return entries.filter(entry => entry.isFile() && matches.test(entry.name)).map(entry => join(folder, entry.name))
}

/** Converts one part of a glob to a pattern: `*`, `?`, `{a,b}`, `[abc]`, `[!abc]`. */
function wildcardPattern(part: string): RegExp {
  const source = part.replace(/\{[^}]*\}|\[[^\]]+\]|[\s\S]/g, piece => {
    if (piece === '*') return '.*'
    if (piece === '?') return '.'
    if (piece.length > 1 && piece.startsWith('[')) return piece.replace('[!', '[^')
    if (piece.length > 1) return `(?:${piece.slice(1, -1).split(',').map(escapeRegExp).join('|')})`
    return escapeRegExp(piece)
  })
  return new RegExp(`^${source}$`)
}
