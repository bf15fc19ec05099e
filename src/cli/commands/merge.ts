/** `modelhost-sim merge`: joins the results of shards. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Argv } from 'yargs'
import { type MergedFinding, mergeResults } from '../../workbench/explore/shards/merge.ts'
import { parseSeedRange } from '../../workbench/explore/shards/seed-range.ts'
import { UsageError } from '../command.ts'
import { KnownFindings } from '../explore/known.ts'
import { requireWritable, writeTextFile } from '../files/output-file.ts'
import { FINDING_EXIT_CODES, findingCodeFlag } from '../shards/flags.ts'
import { formatMerge, formatMergeJson, formatMergeJunit } from '../shards/merge-report.ts'
import { text } from '../values.ts'

export const command = 'merge <files..>'
export const describe = 'Join the results of shards, and tell what is missing and what was found'
export const example = 'merge results --expect 1..1000'

export interface MergeArguments {
  files: readonly string[]
  known?: string | undefined
  expect?: string | undefined
  json?: boolean | undefined
  junit?: string | undefined
  findingCode?: number | undefined
}

export function builder(argv: Argv): Argv<MergeArguments> {
  return argv
    .positional('files', { type: 'string', array: true, describe: 'Files of --out, or folders of them' })
    .options({
      expect: {
        type: 'string',
        requiresArg: true,
        coerce: text('expect'),
        describe: 'Seeds that must have a result, as in 1..1000. Default: those of the files',
      },
      known: {
        type: 'string',
        requiresArg: true,
        coerce: text('known'),
        describe: 'File of known findings, which do not fail. Default: explore.known.yaml, if there is one',
      },
      json: { type: 'boolean', default: false, describe: 'Print JSON' },
      junit: {
        type: 'string',
        requiresArg: true,
        coerce: text('junit'),
        describe: 'Also write the findings to this file, in the format of JUnit',
      },
      ...findingCodeFlag(),
    })
    .example('$0 merge results --expect 1..1000', 'the files results-1.ndjson, results-2.ndjson … of a folder')
    .epilogue(FINDING_EXIT_CODES) as unknown as Argv<MergeArguments>
}

export async function handler(args: MergeArguments): Promise<void> {
  process.exitCode = await merge(args, text => process.stdout.write(text))
}

/**
 * Runs the command and returns its exit code: 3 if a seed is missing, that for findings if one is new or a seed came out
 * differently.
 *
 * @param folder the one with the file of known findings
 *
 * @throws UsageError or RangeError for a file that cannot be read or written
 */
export async function merge(
  { files, known: knownFile, expect, json, junit, findingCode = 1 }: MergeArguments,
  write: (text: string) => void,
  folder = process.cwd(),
): Promise<number> {
  const range = expect === undefined ? undefined : parseSeedRange(expect, '--expect')
  if (junit !== undefined) requireWritable(junit, 'junit')
  const known = await KnownFindings.read(knownFile, folder)
  const report = mergeResults(files.flatMap(listResultsFiles), range)
  const knownOf = ({ test, signature }: MergedFinding) => known.find(test, signature)
  write(json ? formatMergeJson(report, knownOf) : formatMerge(report, knownOf))
  if (junit !== undefined) writeTextFile(junit, formatMergeJunit(report, knownOf), 'junit')
  if (report.missing.length > 0) return 3
  const isNew = (finding: MergedFinding) => knownOf(finding) === undefined
  return report.findings.some(isNew) || report.differing.length > 0 ? findingCode : 0
}

const RESULTS_FILE = /^results-\d+\.ndjson$/

/** Returns the path, or the results files of a folder at any depth: a CI server gives each artifact a folder. */
function listResultsFiles(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  const found = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && RESULTS_FILE.test(entry.name))
    .map(entry => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
  if (found.length > 0) return found
  throw new UsageError(
    `Failed to merge ${path}: it contains no results-1.ndjson or the like. Give the folder of --out.`,
  )
}
