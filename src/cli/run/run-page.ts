/** The saved page of a scenario that is run. */

import { toSnakeCase } from '../../lib/text/snake-case.ts'
import { type Recording, recordSimulator } from '../../simulator/history/record.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { FileResult, RunFilesOptions } from '../../workbench/scenario/runner/jobs.ts'
import { loadFiles } from '../../workbench/scenario/runner/runner.ts'
import { UsageError } from '../command.ts'
import { requirePageFile, writePageFile } from '../pages/page-file.ts'

/** Flags of several plays, or of none here. */
const EXCLUDED = ['seeds', 'out', 'shard', 'workers'] as const
type ExcludedFlags = { readonly [Flag in (typeof EXCLUDED)[number]]?: unknown }

export class RunPage {
  readonly #file: string
  #recording: Recording | undefined

  private constructor(file: string) {
    this.#file = file
  }

  /**
   * Checks that one scenario will be played, and that its page can be written.
   *
   * @throws UsageError for several scenarios, another flag that excludes --html, and a path that cannot be written
   */
  static async prepare(
    file: string,
    patterns: readonly string[],
    options: Pick<RunFilesOptions, 'folder' | 'filter' | 'tags'>,
    flags: ExcludedFlags,
  ): Promise<RunPage> {
    requirePageFile(file)
    const excluded = EXCLUDED.find(name => flags[name] !== undefined && flags[name] !== false)
    if (excluded !== undefined) {
      const flag = toSnakeCase(excluded).replaceAll('_', '-')
      throw new UsageError(
        `Failed to write --html '${file}': a page has one play of this process, and --${flag} is for other plays. Leave one of them out.`,
      )
    }
    const quiet = { ...options, onLoadError: () => {} }
    const titles = (await loadFiles(patterns, quiet)).flatMap(({ scenarios }) => scenarios.map(({ title }) => title))
    if (titles.length > 1) {
      throw new UsageError(
        `Failed to write --html '${file}': ${titles.length} scenarios match, and a page has one. Give its file, or --filter and its title, as in --filter '${titles[0]}'.`,
      )
    }
    return new RunPage(file)
  }

  /** Records a world from its start. */
  readonly record = (sim: Simulator): void => {
    this.#recording ??= recordSimulator(sim)
  }

  /** Writes the page of a play, whether it passed or not. Returns whether there was a world. */
  async write({ title, passed }: FileResult): Promise<boolean> {
    if (this.#recording === undefined) return false
    this.#recording.stop()
    const worlds = [{ title: `the scenario '${title}'`, recording: this.#recording.text }]
    await writePageFile(this.#file, { title: `${title}: ${passed ? 'passed' : 'failed'}`, worlds })
    return true
  }
}
