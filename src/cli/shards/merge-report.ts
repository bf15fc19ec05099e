/** Formats of merged results: text, JSON and JUnit. */

import { escapeXml, xmlAttribute } from '../../lib/quote.ts'
import { formatCount, plural } from '../../lib/text/format-count.ts'
import type { MergedFinding, MergeReport } from '../../workbench/explore/shards/merge.ts'
import type { KnownFinding } from '../../workbench/scenario/documents/known-findings.ts'

/** Returns the entry of a finding among the known ones; undefined if it is new. */
type KnownOf = (finding: MergedFinding) => KnownFinding | undefined

const MAX_LISTED = 20

/** Returns a report for people. */
export function formatMerge(report: MergeReport, knownOf: KnownOf): string {
  const { files, runs, failed, seeds, tests, repeated, differing, findings, digest } = report
  const of = tests.length === 1 ? tests[0]! : plural(tests.length, 'test')
  const lines = [
    `${plural(runs, 'run')} of ${of} in ${plural(files, 'file')}, seeds ${seeds}, digest ${digest}`,
    describeCompleteness(report),
  ]
  if (repeated > 0) {
    const same = differing.length === 0 ? 'with equal digests' : `${differing.length} of them with different digests`
    lines.push(`${plural(repeated, 'run')} more than once, ${same}`)
  }
  for (const { test, seed, results } of differing.slice(0, MAX_LISTED)) {
    lines.push(`Not deterministic: seed ${seed} of ${test} came out differently`)
    lines.push(...results.map(({ digest: one, file, node }) => `  ${one} in ${file}, Node ${node}`))
  }
  lines.push(...listMissing(report))
  lines.push(failed === 0 ? 'Nothing found' : `${plural(findings.length, 'finding')} in ${plural(failed, 'seed')}`)
  for (const finding of findings) {
    const entry = knownOf(finding)
    if (entry === undefined) lines.push(...formatFinding(finding).map(line => `  ${line}`))
    else
      lines.push(
        `  known since ${entry.date}: ${finding.signature} (${entry.reason}): ${plural(finding.count, 'seed')}`,
      )
  }
  return `${lines.join('\n')}\n`
}

/** Returns the report as JSON. Of missing seeds, it has the number and the first thousand. */
export function formatMergeJson({ missing, ...report }: MergeReport, knownOf: KnownOf): string {
  const findings = report.findings.map(finding => ({ ...finding, known: knownOf(finding) }))
  const rest = { findings, missing: missing.length, missingSeeds: missing.slice(0, 1000) }
  return `${JSON.stringify({ ...report, ...rest })}\n`
}

/**
 * Returns a JUnit document: a test for each finding, one for completeness and one for determinism. Known findings are
 * skipped tests.
 */
export function formatMergeJunit(report: MergeReport, knownOf: KnownOf): string {
  const { missing, differing, findings } = report
  const differences = differing.map(
    ({ test, seed, results }) => `seed ${seed} of ${test}: ${results.map(({ file }) => file).join(', ')}`,
  )
  const cases = [
    testcase(
      'every seed has a result',
      missing.length > 0 ? [describeCompleteness(report), ...listMissing(report)] : [],
    ),
    testcase('every seed comes out the same in every process', differences),
    ...findings.map(finding => {
      const problem = formatFinding(finding).slice(1)
      return testcase(finding.signature, problem, finding.test, knownOf(finding)?.reason)
    }),
  ]
  const skipped = findings.filter(finding => knownOf(finding) !== undefined).length
  const failures = findings.length - skipped + Number(missing.length > 0) + Number(differing.length > 0)
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<testsuites name="modelhost-sim merge" tests="${cases.length}" failures="${failures}" skipped="${skipped}">\n` +
    `  <testsuite name=${xmlAttribute(`seeds ${report.seeds}`)} tests="${cases.length}" failures="${failures}" skipped="${skipped}">\n` +
    `${cases.join('')}  </testsuite>\n</testsuites>\n`
  )
}

function testcase(
  name: string,
  problem: readonly string[],
  classname = 'modelhost-sim merge',
  skipped?: string | undefined,
): string {
  const open = `    <testcase classname=${xmlAttribute(classname)} name=${xmlAttribute(name)}`
  const [first] = problem
  if (first === undefined) return `${open}/>\n`
  if (skipped !== undefined) return `${open}>\n      <skipped message=${xmlAttribute(skipped)}/>\n    </testcase>\n`
  const text = escapeXml(problem.join('\n'))
  return `${open}>\n      <failure message=${xmlAttribute(first)}>${text}</failure>\n    </testcase>\n`
}

function describeCompleteness({ missing, expected }: MergeReport): string {
  const all = formatCount(expected)
  return missing.length === 0
    ? `Complete: ${all} of ${all}`
    : `Incomplete: ${formatCount(missing.length)} of ${all} missing`
}

function listMissing({ missing, missingShards }: MergeReport): string[] {
  const shards = missingShards.slice(0, MAX_LISTED).map(shard => `  no file of shard ${shard}`)
  if (missingShards.length > MAX_LISTED) shards.push(`  and of ${missingShards.length - MAX_LISTED} more shards`)
  // Seeds that ended their process come first: they need a look, the others only another run.
  const started = missing.filter(one => one.startedIn !== undefined)
  const ordered = [...started, ...missing.filter(one => one.startedIn === undefined)]
  const seeds = ordered.slice(0, MAX_LISTED).map(({ test, seed, startedIn }) => {
    const reason = startedIn === undefined ? '' : `: started in ${startedIn}, and its process ended`
    return `  seed ${seed} of ${test}${reason}`
  })
  const more = missing.length - MAX_LISTED
  return [...shards, ...seeds, ...(more > 0 ? [`  and ${formatCount(more)} more seeds`] : [])]
}

function formatFinding({ test, signature, count, firstSeed, words, plan, inputs, replay }: MergedFinding): string[] {
  return [
    `${signature}: ${plural(count, 'seed')}, first seed ${firstSeed} of ${test}`,
    words,
    ...(plan === undefined ? [] : [`plan: ${JSON.stringify(plan)}`]),
    ...(inputs === undefined ? [] : [`inputs: ${JSON.stringify(inputs)}`]),
    ...(replay === undefined ? [] : [replay]),
  ]
}
