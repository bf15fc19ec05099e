/** `modelhost-sim merge`: joins the results of shards. */
import { readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../../lib/errors.ts'
import { formatCount, plural } from '../../lib/text/numbers.ts'
import { escapeControls } from '../../lib/text/words.ts'
import { type MergedFinding, type MergeReport, mergeResults } from '../../workbench/explore/shards/merge.ts'
import type { KnownFinding } from '../../workbench/scenario/documents/known-findings.ts'
import { type CommandIo, PROCESS_IO, UsageError } from '../command.ts'
import { KNOWN_FLAG, KnownFindings } from '../explore/known.ts'
import { percent } from '../explore/report.ts'
import { type ArgumentsOf, toggle, words } from '../flags.ts'
import { progressOnTerminal } from '../progress.ts'
import { FINDING_CODE, FINDING_EXIT_CODES, formatFinding } from '../shards/play.ts'

export const command = 'merge <files..>'
export const describe = 'Join the results of shards, and tell what is missing and what was found'
export const example = 'merge results'

export const flags = { known: KNOWN_FLAG, json: toggle('Print JSON'), 'finding-code': FINDING_CODE }
export const positional = { files: words('Files of --out, or folders of them') }
export const examples = [['$0 merge results', 'the files results-1.ndjson, results-2.ndjson … of a folder']]
export const epilogue = FINDING_EXIT_CODES

type MergeArguments = Partial<ArgumentsOf<typeof flags>> & { readonly files: readonly string[] }

export async function handler(args: MergeArguments): Promise<void> {
  process.exitCode = await merge(args, PROCESS_IO)
}

/**
 * Runs the command and returns its exit code: 3 if a run is missing, that for findings if one is new or a seed came out
 * differently.
 *
 * @param folder the one with the file of known findings
 *
 * @throws UsageError or RangeError for a file that cannot be read
 */
export async function merge(
  { files, known: knownFile, json, findingCode = 1 }: MergeArguments,
  io: CommandIo,
  folder = process.cwd(),
): Promise<number> {
  const known = await KnownFindings.read(knownFile, folder)
  const results = files.flatMap(listResultsFiles)
  // A file that is given twice, as itself and by its folder, counts once.
  const distinct = [...new Map(results.map(file => [attempt(() => realpathSync(file)) ?? file, file])).values()]
  const progress = progressOnTerminal(io)
  const showRead = (done: number) =>
    progress?.update(`${done} of ${plural(distinct.length, 'file')} read`, done, distinct.length)
  let report: MergeReport
  try {
    report = mergeResults(distinct, showRead)
  } finally {
    progress?.clear()
  }
  const findings = report.findings.map(finding => ({ ...finding, known: known.find(finding.test, finding.signature) }))
  io.out(json ? `${JSON.stringify({ ...report, findings })}\n` : formatMerge(report, findings))
  if (report.missing > 0) return 3
  return findings.some(finding => finding.known === undefined) || report.differing.length > 0 ? findingCode : 0
}

/** Returns the path, or the results files of a folder at any depth: a CI server gives each artifact a folder. */
function listResultsFiles(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  const found = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && /^results-\d+\.ndjson$/.test(entry.name))
    .map(entry => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
  if (found.length > 0) return found
  throw new UsageError(
    `Failed to merge ${path}: it contains no results-1.ndjson or the like. Give the folder of --out.`,
  )
}

const MAX_LISTED = 20

function formatMerge(
  { files, runs, failed, seeds, tests, expected, missing, incomplete, repeated, differing, digest }: MergeReport,
  findings: readonly (MergedFinding & { readonly known: KnownFinding | undefined })[],
): string {
  const of = tests.length === 1 ? tests[0]! : plural(tests.length, 'test')
  const all = formatCount(expected)
  const lines = [
    `${plural(runs, 'run')} of ${of} in ${plural(files, 'file')}, seeds ${seeds}, digest ${digest}`,
    missing === 0 ? `Complete: ${all} of ${all}` : `Incomplete: ${formatCount(missing)} of ${all} missing`,
    ...list(incomplete, ({ shard, hasFile, runs, test, seed }) => {
      const end = hasFile ? 'ended early' : 'has no file'
      return [`  shard ${shard} ${end}: ${plural(runs, 'run')} missing, the first with seed ${seed} of ${test}`]
    }),
    repeated === 0
      ? 'Played twice: nothing'
      : `Played twice: ${plural(repeated, 'run')}, ${percent(repeated / (runs + repeated))} of what was played, ` +
        `with ${differing.length === 0 ? 'equal digests' : `different digests of ${plural(differing.length, 'seed')}`}`,
    ...list(differing, ({ test, seed, results }) => [
      `Not deterministic: seed ${seed} of ${test} came out differently`,
      ...results.map(result => `  ${result.digest} in ${result.file}, Node ${result.node}`),
    ]),
    failed === 0 ? 'Nothing found' : `${plural(findings.length, 'finding')} in ${plural(failed, 'run')}`,
  ]
  const causes = findings.map(({ known, ...finding }) => {
    if (known === undefined) return formatFinding(finding)
    return `  known since ${known.date}: ${finding.signature} (${known.reason}): ${plural(finding.count, 'seed')}\n`
  })
  return escapeControls(`${lines.join('\n')}\n${causes.join('')}`)
}

/** Returns the lines of the first items, and how many items there are beside them. */
function list<Item>(items: readonly Item[], linesOf: (item: Item) => readonly string[]): string[] {
  const more = items.length - MAX_LISTED
  return [...items.slice(0, MAX_LISTED).flatMap(linesOf), ...(more > 0 ? [`  and ${formatCount(more)} more`] : [])]
}
