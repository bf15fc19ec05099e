/** Scenarios in folders, found by their names: what `POST /_sim/scenarios/{name}/start` chooses from. */
import { basename } from 'node:path'
import type { TimelineLibrary, TimelinePlan } from '../../simulator/timelines.ts'
import { findScenarioFiles, LoadError } from './files.ts'

const DATA_FILE = /(\.scenario)?\.(ya?ml|json)$/

/**
 * The scenarios in YAML and JSON that lie in folders and below them, by their file names without the ending. Of two that
 * have the same name the one in the earlier folder counts. Files are read anew each time, so an edit shows at once.
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
    const file = this.#files().get(name)
    if (file === undefined) throw new RangeError(`Failed to find the scenario '${name}': there is none of that name.`)
    // Most servers never play one: their start does not pay for a reader of YAML.
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

  #files(): Map<string, string> {
    const found = this.#folders.toReversed().flatMap(filesIn)
    return new Map(found.map(file => [basename(file).replace(DATA_FILE, ''), file]))
  }
}

function filesIn(folder: string): string[] {
  try {
    return findScenarioFiles([`${folder}/**/*`]).filter(file => DATA_FILE.test(file))
  } catch (error) {
    // A folder without any scenario.
    if (error instanceof LoadError) return []
    throw error
  }
}
