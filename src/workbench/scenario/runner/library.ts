/** Scenarios of `POST /_sim/scenarios/{name}/start`, found by name in folders. */
import { basename } from 'node:path'
import type { ScenarioRun, TimelineLibrary, TimelinePlan } from '../../../simulator/timelines.ts'
import * as scenarioFiles from './files.ts'
import { LoadError } from './import-script.ts'

const DATA_FILE = /(\.scenario)?\.(ya?ml|json)$/

/**
 * The scenarios in YAML and JSON in folders, at any depth, by their file names without the ending. If two have the same
 * name, that of the earlier folder counts. Files are read at each call, so that edits apply at once.
 *
 * @example (await new Library(['scenarios']).read('hub-outage')).acts
 */
export class ScenarioLibrary implements TimelineLibrary {
  readonly #folders: readonly string[]

  constructor(folders: readonly string[]) {
    this.#folders = folders
  }

  names(): readonly string[] {
    return [...this.#files().keys()].sort()
  }

  async read(name: string): Promise<TimelinePlan> {
    const file = this.#fileOf(name)
    // Loaded on demand: most servers play no scenario, and the YAML parser slows the start.
    const { readScenarioDocument: readDocument } = await import('../documents/parse.ts')
    const { DocumentError } = await import('../documents/problems.ts')
    const { timelineOf } = await import('../documents/timeline.ts')
    try {
      return timelineOf(readDocument(file, basename(file)), name)
    } catch (error) {
      if (!(error instanceof DocumentError || error instanceof RangeError)) throw error
      throw new RangeError(`Failed to read the scenario '${name}': ${error.message}`, { cause: error })
    }
  }

  async run(name: string): Promise<ScenarioRun> {
    const file = this.#fileOf(name)
    // Loaded on demand: few servers run a scenario.
    const { runWhole } = await import('./run-whole.ts')
    try {
      return await runWhole(file)
    } catch (error) {
      if (!(error instanceof LoadError || error instanceof RangeError)) throw error
      throw new RangeError(`Failed to run the scenario '${name}': ${error.message}`, { cause: error })
    }
  }

  #fileOf(name: string): string {
    const file = this.#files().get(name)
    if (file === undefined) throw new RangeError(`Failed to find the scenario '${name}': unknown name.`)
    return file
  }

  #files(): Map<string, string> {
    const found = this.#folders.toReversed().flatMap(filesIn)
    return new Map(found.map(file => [basename(file).replace(DATA_FILE, ''), file]))
  }
}

function filesIn(folder: string): string[] {
  try {
    return scenarioFiles.findScenarioFiles([`${folder}/**/*`]).filter(file => DATA_FILE.test(file))
  } catch (error) {
    // A folder without scenarios.
    if (error instanceof LoadError) return []
    throw error
  }
}
