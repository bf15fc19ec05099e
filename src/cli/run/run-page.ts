/** The saved page of a scenario that is run. */

import { type Recording, recordSimulator } from '../../simulator/history/record.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { loadFiles } from '../../workbench/scenario/runner/runner.ts'
import type { FileResult, RunFilesOptions } from '../../workbench/scenario/runner/workers.ts'
import { UsageError } from '../command.ts'
import { requirePageFile, writePageFile } from '../pages/page-file.ts'

/** Flags of several plays, or of none here. */
const EXCLUDED = ['seeds', 'out', 'shard', 'workers'] as const
type ExcludedFlags = { readonly [Flag in (typeof EXCLUDED)[number]]?: unknown }

/** The page of a scenario that is run. */
export interface RunPage {
  /** Records a world from its start. */
  record(sim: Simulator): void
  /** Writes the page of a play, whether it passed or not. Returns whether there was a world. */
  write(result: FileResult): Promise<boolean>
}

/**
 * Checks that one scenario will be played, and that its page can be written.
 *
 * @throws UsageError for several scenarios, another flag that excludes --html, and a path that cannot be written
 */
export async function prepareRunPage(
  file: string,
  patterns: readonly string[],
  options: Pick<RunFilesOptions, 'folder' | 'filter' | 'tags'>,
  flags: ExcludedFlags,
): Promise<RunPage> {
  requirePageFile(file)
  const excluded = EXCLUDED.find(name => flags[name] !== undefined && flags[name] !== false)
  if (excluded !== undefined) {
    throw new UsageError(
      `Failed to write --html '${file}': a page has one play of this process, and --${excluded} is for other plays. Leave one of them out.`,
    )
  }
  const quiet = { ...options, onLoadError: () => {} }
  const titles = (await loadFiles(patterns, quiet)).flatMap(({ scenarios }) => scenarios.map(({ title }) => title))
  if (titles.length > 1) {
    throw new UsageError(
      `Failed to write --html '${file}': ${titles.length} scenarios match, and a page has one. Give its file, or --filter and its title, as in --filter '${titles[0]}'.`,
    )
  }
  let recording: Recording | undefined
  return {
    record(sim) {
      recording ??= recordSimulator(sim)
    },
    async write({ title, passed }) {
      if (recording === undefined) return false
      recording.stop()
      const worlds = [{ title: `the scenario '${title}'`, recording: recording.text }]
      await writePageFile(file, { title: `${title}: ${passed ? 'passed' : 'failed'}`, worlds })
      return true
    },
  }
}
