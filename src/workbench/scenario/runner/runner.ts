/** Runs scenario files and compares each with the trace beside it. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { describeFileError } from '../../../lib/errors.ts'
import { isSnapshotFixture } from '../../../simulator/options.ts'
import { failureOf } from '../play/failures.ts'
import { runScenario } from '../play/run-scenario.ts'
import { hasFixedSeed, type Scenario } from '../scenario.ts'
import { describeNoScenarios, findScenarioFiles, loadScenarios } from './files.ts'
import { guardProcess, withStrayFailure } from './guards.ts'
import { LoadError } from './import-script.ts'
import { withResolvedPaths } from './paths.ts'
import { TraceFile } from './trace.ts'
import {
  defaultWorkerCount,
  type FileResult,
  type PlayerOptions,
  type PlayJob,
  type RunFilesOptions,
  Workers,
} from './workers.ts'

/** A file and its selected scenarios. */
export interface ScenarioFile {
  readonly file: string
  readonly allScenarios: readonly Scenario[]
  readonly scenarios: readonly Scenario[]
}

/** Few enough seeds in a job that the workers finish at about the same time. */
const MAX_SEEDS_PER_JOB = 25

/** See `lazy.ts`. */
export async function runFiles(patterns: readonly string[], options: RunFilesOptions = {}): Promise<FileResult[]> {
  const files = await loadFiles(patterns, options)
  const jobs = files.flatMap(({ file, scenarios }) =>
    scenarios.flatMap(scenario => createJobs(file, scenario, options)),
  )
  const total = jobs.reduce((sum, { seeds }) => sum + seeds.length, 0)
  const results: FileResult[] = []
  let done = 0
  const onPlayed = () => options.onProgress?.(++done, total)
  const { worker, workers = defaultWorkerCount(total) } = options
  const pool =
    workers > 1 && jobs.length > 1 && worker !== undefined
      ? new Workers(worker, Math.min(workers, jobs.length))
      : undefined
  const release = guardProcess()
  try {
    const pending = pool && jobs.map(job => pool.play(job, onPlayed))
    // Awaited in the order of the files. A rejection before its turn must not be unhandled.
    for (const promise of pending ?? []) promise.catch(() => {})
    for (const [i, job] of jobs.entries()) {
      if (!pending) options.onPlay?.(job.title, relative(job.folder, job.file))
      for (const result of pending ? await pending[i]! : await playJob(job, onPlayed, options.onWorld)) {
        results.push(result)
        options.onResult?.(result)
      }
      if (options.bail && results.some(({ passed }) => !passed)) return results
    }
  } finally {
    pool?.close()
    release()
    if (options.update) for (const { file, allScenarios: all } of files) removeStaleTraces(file, all)
  }
  return results
}

/** Loads the scenarios of patterns that `filter` and `tags` select. */
export async function loadFiles(
  patterns: readonly string[],
  options: Pick<RunFilesOptions, 'folder' | 'filter' | 'tags' | 'onLoadError'>,
): Promise<ScenarioFile[]> {
  const { folder = process.cwd() } = options
  const files: ScenarioFile[] = []
  const named = new Set(patterns.map(pattern => resolve(folder, pattern)))
  const found = findScenarioFiles(patterns, folder)
  let helperModules = 0
  for (const file of found) {
    try {
      const all = await loadScenarios(file, folder, !named.has(file))
      if (all.length === 0) helperModules++
      else
        files.push({ file, allScenarios: all, scenarios: all.filter(scenario => isSelected(scenario, file, options)) })
    } catch (error) {
      if (!(error instanceof LoadError) || options.onLoadError === undefined) throw error
      options.onLoadError(error)
    }
  }
  requireOwnTraces(files, folder)
  if (helperModules === found.length) throw new LoadError(describeNoScenarios(patterns, folder))
  requireKnownTags(options.tags ?? [], files)
  return files
}

/** Rejects two scripts with one trace file: each would replace the trace of the other. */
function requireOwnTraces(files: readonly ScenarioFile[], folder: string): void {
  const scripts = new Map<string, string>()
  for (const { file, allScenarios: all } of files) {
    if (all.every(({ runFlow }) => runFlow !== undefined)) continue
    const trace = tracePath(file)
    const other = scripts.get(trace)
    if (other !== undefined) {
      throw new LoadError(
        `Failed to load ${relative(folder, file)}: its trace ${basename(trace)} is that of ${basename(other)}, too. Rename one of the two scripts.`,
      )
    }
    scripts.set(trace, file)
  }
}

/** @throws LoadError for an unknown tag, with the nearest known tag */
export function requireKnownTags(tags: readonly string[], files: readonly ScenarioFile[]): void {
  const known = new Set(files.flatMap(({ allScenarios: all }) => all.flatMap(({ options }) => options.tags ?? [])))
  const unknownTag = tags.find(tag => !known.has(tag))
  if (unknownTag === undefined) return
  const advice = formatSuggestion(unknownTag, known, "'modelhost-sim run --list' lists the tags.")
  throw new LoadError(`Failed to find scenarios: unknown tag '${unknownTag}'. ${advice}`)
}

function createJobs(file: string, { title, options: own }: Scenario, options: RunFilesOptions): PlayJob[] {
  const { folder = process.cwd(), seed, names, stuckTimeoutMs, check, update, bail = false } = options
  const ofEach = { file, title, folder, bail, names, stuckTimeoutMs, check, update }
  const asked = options.seeds ?? [seed === undefined ? undefined : String(seed)]
  const seeds = hasFixedSeed(own) && options.seeds !== undefined ? [undefined] : asked
  const jobs: PlayJob[] = []
  for (let from = 0; from < seeds.length; from += MAX_SEEDS_PER_JOB) {
    jobs.push({ ...ofEach, seeds: seeds.slice(from, from + MAX_SEEDS_PER_JOB) })
  }
  return jobs
}

/** Plays one scenario with each of its seeds. */
export async function playJob(
  job: PlayJob,
  onPlayed?: () => void,
  onWorld?: RunFilesOptions['onWorld'],
): Promise<FileResult[]> {
  const scenarios = await loadScenarios(job.file, job.folder)
  const scenario = scenarios.find(one => one.title === job.title)!
  const player = new ScenarioPlayer(scenario, scenarios.length > 1, { ...job, onWorld })
  const results: FileResult[] = []
  for (const seed of job.seeds) {
    results.push(await player.play(seed))
    onPlayed?.()
    if (job.bail && !results.at(-1)!.passed) break
  }
  return player.save(results)
}

/** Plays one loaded scenario, and compares each play with its trace, or updates the trace. */
export class ScenarioPlayer {
  readonly #scenario: Scenario
  readonly #isOneOfMany: boolean
  readonly #options: PlayerOptions
  readonly #tracePath: string
  readonly #previousText: string | undefined
  readonly #traces: TraceFile

  /** @param isOneOfMany whether its file contains other scenarios */
  constructor(scenario: Scenario, isOneOfMany: boolean, options: PlayerOptions) {
    this.#scenario = { ...scenario, options: withResolvedPaths(scenario.options, dirname(options.file)) }
    this.#isOneOfMany = isOneOfMany
    this.#options = options
    this.#tracePath = tracePath(options.file)
    this.#previousText = existsSync(this.#tracePath) ? readFileSync(this.#tracePath, 'utf8') : undefined
    this.#traces = new TraceFile(this.#previousText)
  }

  /** @param seed undefined for the scenario's own seed */
  async play(seed: string | undefined): Promise<FileResult> {
    const { folder, update: _, ...options } = this.#options
    const { file, names } = options
    const played = await runScenario(this.#scenario, { ...options, seed })
    const location = {
      file: relative(folder, file),
      isOneOfMany: this.#isOneOfMany,
      ...(typeof names === 'string' && { names }),
    }
    return this.#compare(seed, { ...withStrayFailure(played, file), ...location, traceOutcome: 'not compared' })
  }

  #compare(seed: string | undefined, result: FileResult): FileResult {
    const { title, options, runFlow } = this.#scenario
    // A world restored from a snapshot has the seed of the snapshot.
    const ownSeed = seed === undefined || isSnapshotFixture(options.fixtures) || seed === String(options.seed ?? 1)
    if (!result.passed || !ownSeed || runFlow !== undefined) return result
    if (this.#options.update) {
      this.#traces.set(title, result.trace)
      return { ...result, traceOutcome: 'written' }
    }
    const name = basename(this.#tracePath)
    if (!this.#traces.has(title)) {
      const missing = this.#previousText === undefined ? `${name} is missing` : `${name} has no trace of '${title}'`
      const message = `Failed to compare the trace: ${missing}. Write it with --update, and review it before you commit it.`
      return { ...result, passed: false, traceOutcome: 'missing', failure: failureOf(message, result.elapsed) }
    }
    const trace = this.#traces.findDifference(title, result.trace)
    if (trace === undefined) return { ...result, traceOutcome: 'equal' }
    const message =
      `the trace differs from ${name} at line ${trace.line}:\n` +
      `  expected ${trace.expected ?? 'its end'}\n` +
      `  found    ${trace.found ?? 'its end'}\n` +
      'If the change is intended, write the trace again with --update, and review it before you commit it.'
    return {
      ...result,
      passed: false,
      traceOutcome: 'different',
      failure: failureOf(message, result.elapsed, { trace }),
    }
  }

  /** Writes the traces if they are to be updated. Returns the results, failed if that was not possible. */
  save(results: FileResult[]): FileResult[] {
    if (!this.#options.update) return results
    try {
      writeTraceFile(this.#tracePath, this.#traces.text, this.#previousText)
      return results
    } catch (error) {
      if (!(error instanceof LoadError)) throw error
      const { message } = error
      return results.map(result => {
        if (result.traceOutcome !== 'written') return result
        return { ...result, passed: false, traceOutcome: 'missing', failure: failureOf(message, result.elapsed) }
      })
    }
  }
}

/** Returns the path of a script's trace. */
export function tracePath(file: string): string {
  return file.replace(/\.(m?[jt]s|ya?ml|json)$/, '.trace')
}

/** Removes the traces of scenarios that the script no longer has. */
function removeStaleTraces(script: string, scenarios: readonly Scenario[]): void {
  const path = tracePath(script)
  if (!existsSync(path)) return
  const before = readFileSync(path, 'utf8')
  const file = new TraceFile(before)
  file.retain(scenarios.map(({ title }) => title))
  writeTraceFile(path, file.text, before)
}

function writeTraceFile(path: string, text: string, before: string | undefined): void {
  if (text === '' || text === before) return
  // A partial trace would fail every later run: write a draft beside it, then rename.
  const draft = `${path}.new`
  try {
    writeFileSync(draft, text)
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new LoadError(
      `Failed to write the trace ${basename(path)}: ${describeFileError(error)}. Make its folder writable or free some space, then repeat --update.`,
    )
  }
}

/** Returns whether `filter` and `tags` select a scenario. */
export function isSelected(
  { title, options }: Scenario,
  file: string,
  { filter, tags }: Pick<RunFilesOptions, 'filter' | 'tags'>,
): boolean {
  const ownTags = options.tags ?? []
  if (tags !== undefined && !tags.some(tag => ownTags.includes(tag))) return false
  if (filter === undefined) return true
  const lowerFilter = filter.toLowerCase()
  return [title, basename(file), ...ownTags].some(text => text.toLowerCase().includes(lowerFilter))
}
