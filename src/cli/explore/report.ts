/** Formats of explored flows: text for people, a line of JSON for each flow, and JUnit. */

import { dirname } from 'node:path'
import { escapeXml, xmlAttribute } from '../../lib/quote.ts'
import { formatCount, plural } from '../../lib/text/numbers.ts'
import { hideSecrets } from '../../lib/text/secrets.ts'
import { escapeControls, wrapText } from '../../lib/text/words.ts'
import type { ExplainedFinding, FlowReport } from '../../workbench/explore/explore-flow.ts'
import type { Plan } from '../../workbench/explore/plan/plan.ts'
import { describeCard, describeJudged } from '../../workbench/explore/report/card-words.ts'
import { toLabelledTexts } from '../../workbench/explore/report/item-words.ts'
import type { SortedFindings } from './known.ts'

/** A flow that was explored. */
export interface ExploredFlow {
  readonly report: FlowReport
  readonly findings: SortedFindings
  /** The scenario of a finding, as YAML. */
  scenarioOf(finding: ExplainedFinding): string
  /** The file of the scenario, if it was written. */
  fileOf(finding: ExplainedFinding): string | undefined
  /** Returns the line of a shell that plays a file or a folder of scenarios. */
  play(file: string): string
}

const MAX_LISTED = 10
const KEEP = 'To keep each finding as a test, give --write and a folder.'

/** What the runs of each stage are. */
const RUNS = {
  base: 'without faults',
  singles: 'with one fault',
  pairs: 'with two faults',
  swarm: 'with a random plan',
  shrinking: 'to shrink findings',
} as const satisfies Readonly<Record<keyof FlowReport['runsOf'], string>>

/** Returns the report for people. */
export function formatFlow({ report, findings, fileOf, play }: ExploredFlow, knownFile: string): string {
  const { flow, runs, runsOf, points, surfaced } = report
  const { fresh, known, gone } = findings
  const stages = (Object.keys(RUNS) as (keyof typeof RUNS)[]).filter(stage => runsOf[stage] > 0)
  const named = stages.map(stage => `${formatCount(runsOf[stage])} ${RUNS[stage]}`).join(', ')
  const lines = [
    `${flow}: ${plural(runs, 'run')}${named && ` (${named})`}, ${plural(points, 'single fault')}, ${describeEnd(report)}`,
    ...describeCard(report.card, report.findings.length, countUntried(report)),
  ]
  const files = fresh.map(fileOf)
  for (const [i, finding] of fresh.entries())
    lines.push('', ...formatFinding(finding, i + 1, files[i] && play(files[i])))
  const written = files.find(file => file !== undefined)
  if (fresh.length > 0) lines.push('', written === undefined ? KEEP : `To play each again: ${play(dirname(written))}`)
  // The card says that no fault was tried.
  const isUntried = report.findings.length === 0 && runsOf.singles + runsOf.swarm === 0
  if (!isUntried) lines.push(`${plural(fresh.length, known.length === 0 ? 'finding' : 'new finding')}`)
  for (const { finding, entry } of known) {
    lines.push(`  known since ${entry.date}: ${finding.signature} (${entry.reason})`)
  }
  for (const { signature, date } of gone) {
    lines.push(`  known since ${date}, and not found any more: ${signature}. Remove it from ${knownFile}`)
  }
  if (surfaced.length > 0) {
    lines.push(`${plural(surfaced.length, 'violation')} that no client can prevent:`)
    for (const { signature, reason } of surfaced.slice(0, MAX_LISTED)) lines.push(`  ${signature}: ${reason}`)
  }
  if (report.findings.length === 0 && !isUntried) lines.push(...describeWorth(report))
  lines.push(...describeJudged(report.card), ...describeUnreached(report))
  const hint = report.stoppedBecause === 'aborted' ? '' : '. A higher --budget runs more'
  if (report.unreachedPairs > 0) lines.push(`${plural(report.unreachedPairs, 'pair')} of faults not run${hint}`)
  for (const note of report.notes) lines.push(...wrapText(note, LINE_CHARACTERS))
  return escapeControls(hideSecrets(`${lines.join('\n')}\n`))
}

/** Returns the whole card as lines. */
function cardLines(report: FlowReport): string[] {
  const { card, findings } = report
  return [...describeCard(card, findings.length, countUntried(report)), ...describeJudged(card)]
}

/** Returns the report as one line of JSON. */
export function formatFlowJson({ report, findings, scenarioOf, fileOf }: ExploredFlow): string {
  const { flow, runs, runsOf, points, unreached, unreachedPairs, matrix, surfaced } = report
  const { chanceOfNew, stoppedBecause, notes } = report
  const toJson = (finding: ExplainedFinding, known?: object) => {
    const { invariant, signature, plan, inputs, shrunk, why, evidence, stage, seed } = finding
    const world = Object.keys(shrunk?.world ?? {}).length > 0 ? shrunk?.world : undefined
    return {
      ...{ invariant, signature, plan, world, inputs },
      ...{ scenario: scenarioOf(finding), why, evidence, stage, seed },
      also: finding.also.map(({ signature, plan, why, evidence }) => ({ signature, plan, why, evidence })),
      shrinking: shrunk && { runs: shrunk.runs, minimal: shrunk.isMinimal },
      ...{ file: fileOf(finding), known },
    }
  }
  const all = [
    ...findings.fresh.map(finding => toJson(finding)),
    ...findings.known.map(({ finding, entry: { reason, date } }) => toJson(finding, { reason, date })),
  ]
  const more = {
    ...{ surfaced, chance_of_new: chanceOfNew, stopped_because: stoppedBecause, gone: findings.gone },
    ...{ runs_of: runsOf, unreached_pairs: unreachedPairs, matrix, notes },
  }
  const card = { ...report.card, lines: cardLines(report) }
  return `${hideSecrets(JSON.stringify({ flow, runs, points, unreached, findings: all, card, ...more }))}\n`
}

/** Returns a JUnit document: a suite for each flow, a test for each finding. Known findings are skipped tests. */
export function formatFlowsJunit(flows: readonly ExploredFlow[]): string {
  const suites = flows.map(({ report, findings: { fresh, known } }) => {
    const { flow } = report
    const open = ({ signature }: ExplainedFinding) =>
      `    <testcase classname=${xmlAttribute(flow)} name=${xmlAttribute(signature)}`
    const cases = [
      ...fresh.map(finding => {
        const text = escapeXml(`${finding.why}\nplan: ${formatPlan(finding.plan)}`)
        return `${open(finding)}>\n      <failure message=${xmlAttribute(finding.words)}>${text}</failure>\n    </testcase>\n`
      }),
      ...known.map(({ finding, entry: { reason } }) => {
        return `${open(finding)}>\n      <skipped message=${xmlAttribute(reason)}/>\n    </testcase>\n`
      }),
    ]
    // A suite without tests is not a result for some readers.
    if (cases.length === 0) cases.push(`    <testcase classname=${xmlAttribute(flow)} name="nothing found"/>\n`)
    const counts = `tests="${cases.length}" failures="${fresh.length}" skipped="${known.length}"`
    return `  <testsuite name=${xmlAttribute(flow)} ${counts}>\n${cases.join('')}    <system-out>${escapeXml(cardLines(report).join('\n'))}</system-out>\n  </testsuite>\n`
  })
  return hideSecrets(
    `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="modelhost-sim explore">\n${suites.join('')}</testsuites>\n`,
  )
}

function formatFinding(
  { signature, story, plan }: ExplainedFinding,
  number: number,
  line: string | undefined,
): string[] {
  const texts = toLabelledTexts(story).flatMap(([label, text]) =>
    formatLabelled(label, wrapText(text, LINE_CHARACTERS)),
  )
  const plans = formatLabelled('Plan', [formatPlan(plan)])
  const repeat = line === undefined ? [] : formatLabelled('Repeat', [line])
  return [`${number}. ${signature}`, ...[...texts, ...plans, ...repeat].map(line => `   ${line}`)]
}

/** Characters of the longest label, and a gap. */
const LABEL_CHARACTERS = 15

/** Returns lines beside their label. */
function formatLabelled(label: string, lines: readonly string[]): string[] {
  return lines.map((line, i) => `${(i === 0 ? label : '').padEnd(LABEL_CHARACTERS)}${line}`)
}

/** Returns a plan in short: names of rules follow from their content. */
export function formatPlan(plan: Plan): string {
  if (plan.length === 0) return 'no fault'
  return JSON.stringify(plan, (key, value: unknown) => (key === 'name' ? undefined : value))
}

const WORDS_OF_END = {
  done: 'each was run',
  saturated: 'the chance of something new is under 1 %',
  budget: 'the budget is spent',
  aborted: 'stopped',
  unsettled: 'it does not end even without a fault',
} as const satisfies Readonly<Record<FlowReport['stoppedBecause'], string>>

function describeEnd({ stoppedBecause, chanceOfNew, isReproducible, runsOf }: FlowReport): string {
  const chance =
    stoppedBecause === 'budget' && runsOf.swarm > 0 ? `; the chance of something new is ${percent(chanceOfNew)}` : ''
  const isTimed = stoppedBecause === 'budget' && !isReproducible
  return `${WORDS_OF_END[stoppedBecause]}${chance}${isTimed ? '; with a budget in real time, another run can differ' : ''}`
}

export function percent(share: number): string {
  return `${share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)} %`
}

/** Returns the number of single faults that were not run. */
export function countUntried({ unreached }: Pick<FlowReport, 'unreached'>): number {
  return unreached.filter(isNotRun).length
}

/** Says what it is worth that nothing was found. */
function describeWorth({ points, unreached, runsOf, stoppedBecause }: FlowReport): string[] {
  if (stoppedBecause === 'unsettled') return []
  const more = runsOf.pairs + runsOf.swarm > 0 ? '' : ' Next: --faults pairs.'
  const unchanged = unreached.length === 0 ? '' : `, of which ${formatCount(unreached.length)} changed nothing`
  const lines = [`  No finding in ${plural(points, 'single fault')}${unchanged}.${more}`]
  if (runsOf.pairs > 0) lines.push(`  No finding in ${plural(runsOf.pairs, 'pair')} of faults.`)
  if (runsOf.swarm > 0) {
    // Without a failure in n runs, the probability is at most 3 / n with 95 % confidence.
    const share = percent(Math.min(1, 3 / runsOf.swarm))
    lines.push(
      `  No finding in ${plural(runsOf.swarm, 'random plan')}: with 95 % confidence, at most ${share} of them have one.`,
    )
  }
  return lines
}

function describeUnreached({ unreached, points }: FlowReport): string[] {
  const [notRun, unchanged] = [unreached.filter(isNotRun), unreached.filter(point => !isNotRun(point))]
  const of = (count: number) => `${formatCount(count)} of ${plural(points, 'single fault')}`
  const lines = notRun.length === 0 ? [] : [`${of(notRun.length)} ${notRun.length === 1 ? 'was' : 'were'} not run`]
  if (unchanged.length === 0) return lines
  lines.push(`${of(unchanged.length)} changed nothing:`)
  for (const { operation, class: name, place } of unchanged.slice(0, MAX_LISTED)) {
    lines.push(`  ${operation} ${name} at ${place}`)
  }
  const more = unchanged.length - MAX_LISTED
  return more > 0 ? [...lines, `  and ${formatCount(more)} more`] : lines
}

const isNotRun = ({ reason }: FlowReport['unreached'][number]) => reason === 'notRun'

const LINE_CHARACTERS = 90
