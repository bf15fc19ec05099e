/** Judgements in the formats of reports for CI. */

import { escapeXml, xmlAttribute } from '../../lib/quote.ts'
import type { JudgeFinding, Judgement } from '../../simulator/judge/judgement.ts'
import { nameClient } from '../../simulator/judge/text.ts'

/** Returns a JUnit document: a test for each rule, which fails with its findings. Findings that do not count are output. */
export function formatJudgementJunit(
  { findings, rules, clients }: Judgement,
  fails: (finding: JudgeFinding) => boolean,
): string {
  const textOf = (finding: JudgeFinding) =>
    [
      `${nameClient(finding.client, clients)}${finding.world === undefined ? '' : `, world ${finding.world}`}: ${finding.words}`,
      ...finding.evidence,
      `What to do: ${finding.advice}`,
    ].join('\n')
  const cases = rules.map(rule => {
    const found = findings.filter(finding => finding.rule === rule)
    const open = `    <testcase classname="judge" name=${xmlAttribute(rule)}`
    if (found.length === 0) return `${open}/>\n`
    const text = escapeXml(found.map(textOf).join('\n\n'))
    const words = xmlAttribute(found[0]!.words)
    const inner = found.some(fails) ? `<failure message=${words}>${text}</failure>` : `<system-out>${text}</system-out>`
    return `${open}>\n      ${inner}\n    </testcase>\n`
  })
  const failures = rules.filter(rule => findings.some(finding => finding.rule === rule && fails(finding))).length
  const suite = `  <testsuite name="judge" tests="${rules.length}" failures="${failures}">\n${cases.join('')}  </testsuite>\n`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="modelhost-sim judge">\n${suite}</testsuites>\n`
}
