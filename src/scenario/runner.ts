/** Runs scenario files and holds each to the trace beside it. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import { findScenarioFiles, LoadError, loadScenarios } from './files.ts'
import { type Result, type RunOptions, runScenario } from './run-scenario.ts'
import type { Scenario } from './scenario.ts'
import { TraceFile } from './trace.ts'

export interface RunFilesOptions extends Pick<RunOptions, 'seed' | 'patienceMs' | 'check'> {
  /** Writes the traces instead of comparing with them. */
  readonly update?: boolean | undefined
  /** Only scenarios whose title, file name or tag holds this word. */
  readonly filter?: string | undefined
  /** Stops at the first failure. */
  readonly bail?: boolean | undefined
  /** What patterns and file names are relative to; the process's folder unless given. */
  readonly folder?: string | undefined
  /** Hears of each file that cannot be played, and the others are; unless given, one such file stops them all. */
  readonly onLoadError?: ((error: LoadError) => void) | undefined
  /** Hears of each scenario as it ends. */
  readonly onResult?: ((result: FileResult) => void) | undefined
}

/** What became of a scenario of a file. */
export interface FileResult extends Result {
  /** Path of the script, relative to the folder of the run. */
  readonly file: string
  /** What was done with its trace: nothing with another seed than its own, or when it failed. */
  readonly traceWas: 'equal' | 'different' | 'missing' | 'written' | 'not compared'
}

/**
 * Plays the scenarios of files, folders and globs one after the other, and compares each trace with the one beside the
 * script.
 *
 * @throws LoadError before anything is played, when a file is missing, can not be read or exports no scenario; without
 *   `onLoadError` for these two
 * @example
 * const results = await runFiles(['scenarios'])
 * expect(results.filter(result => !result.passed)).toEqual([])
 */
export async function runFiles(patterns: readonly string[], options: RunFilesOptions = {}): Promise<FileResult[]> {
  const { folder = process.cwd(), filter } = options
  const files: { readonly file: string; readonly scenarios: readonly Scenario[] }[] = []
  for (const file of findScenarioFiles(patterns, folder)) {
    try {
      files.push({ file, scenarios: await loadScenarios(file, folder) })
    } catch (error) {
      if (!(error instanceof LoadError) || options.onLoadError === undefined) throw error
      options.onLoadError(error)
    }
  }
  const results: FileResult[] = []
  for (const { file, scenarios } of files) {
    const traces = new TraceKeeper(file, scenarios, options)
    for (const scenario of scenarios) {
      if (filter !== undefined && !isMeant(scenario, file, filter)) continue
      const { seed, patienceMs, check } = options
      const played = await runScenario(anchored(scenario, dirname(file)), { seed, patienceMs, check, file })
      const result: FileResult = traces.judge(scenario, {
        ...played,
        file: relative(folder, file),
        traceWas: 'not compared',
      })
      results.push(result)
      options.onResult?.(result)
      if (options.bail && !result.passed) {
        traces.save()
        return results
      }
    }
    traces.save()
  }
  return results
}

/** The scenario with what it names as `./…` or `../…` looked for beside its script, wherever the run was started. */
function anchored(scenario: Scenario, home: string): Scenario {
  const beside = <Source>(source: Source) =>
    typeof source === 'string' && /^\.\.?[\\/]/.test(source) ? resolve(home, source) : source
  const { fixtures, profile } = scenario.options
  return {
    ...scenario,
    options: {
      ...scenario.options,
      ...(fixtures !== undefined && { fixtures: beside(fixtures) }),
      ...(profile !== undefined && { profile: beside(profile) }),
    },
  }
}

/** Where the trace of a script lies. */
export function tracePath(file: string): string {
  return file.replace(/\.m?[jt]s$/, '.trace')
}

/** The trace file of one script while its scenarios are played. */
class TraceKeeper {
  readonly #path: string
  readonly #options: RunFilesOptions
  readonly #file: TraceFile
  readonly #before: string | undefined

  constructor(script: string, scenarios: readonly Scenario[], options: RunFilesOptions) {
    this.#path = tracePath(script)
    this.#options = options
    this.#before = existsSync(this.#path) ? readFileSync(this.#path, 'utf8') : undefined
    this.#file = new TraceFile(this.#before)
    if (options.update) this.#file.keep(scenarios.map(({ title }) => title))
  }

  judge({ title, options }: Scenario, result: FileResult): FileResult {
    const { seed, update } = this.#options
    const ownSeed = seed === undefined || String(seed) === String(options.seed ?? 1)
    if (!result.passed || !ownSeed) return result
    if (update) {
      this.#file.set(title, result.trace)
      return { ...result, traceWas: 'written' }
    }
    const at = result.elapsed
    if (!this.#file.has(title)) {
      const name = basename(this.#path)
      const message =
        `Failed to compare the trace: ${this.#before === undefined ? `there is no ${name} yet` : `${name} holds none of '${title}'`}. ` +
        'Write it with --update, and look through it before you commit it.'
      const failure = { message, at, where: undefined, differences: [], events: [] }
      return { ...result, passed: false, traceWas: 'missing', failure }
    }
    const trace = this.#file.difference(title, result.trace)
    if (trace === undefined) return { ...result, traceWas: 'equal' }
    const message =
      `the trace differs from ${basename(this.#path)} at line ${trace.line}:\n` +
      `  expected ${trace.expected ?? 'its end'}\n` +
      `  found    ${trace.found ?? 'its end'}`
    const failure = { message, at, where: undefined, differences: [], trace, events: [] }
    return { ...result, passed: false, traceWas: 'different', failure }
  }

  save(): void {
    const { text } = this.#file
    if (!this.#options.update || text === '' || text === this.#before) return
    // Half a trace would be compared with ever after: write beside it, then put it in place.
    const draft = `${this.#path}.new`
    writeFileSync(draft, text)
    renameSync(draft, this.#path)
  }
}

function isMeant({ title, options }: Scenario, file: string, filter: string): boolean {
  const wanted = filter.toLowerCase()
  return [title, basename(file), ...(options.tags ?? [])].some(text => text.toLowerCase().includes(wanted))
}
