/** A judgement as text, for terminals. */

import { escapeControls } from '../../lib/text/control-characters.ts'
import { plural } from '../../lib/text/format-count.ts'
import { wrapText } from '../../lib/text/wrap.ts'
import type { JudgedClient, JudgeFinding, Judgement } from './judgement.ts'

const LINE_CHARACTERS = 110

/** Formats a judgement: what was looked at, then each finding with its evidence, its advice and its source. */
export function formatJudgement(judgement: Judgement): string {
  const { findings, clients, rules, dropped, worlds } = judgement
  const requests = clients.reduce((sum, client) => sum + client.requests, 0)
  const head = `${plural(clients.length, 'client')}, ${plural(requests, 'request')}${worlds === undefined ? '' : ` in ${worlds} worlds`}, ${plural(rules.length, 'rule')}: ${plural(findings.length, 'finding')}`
  const lines = [head]
  if (dropped > 0) lines.push(`${plural(dropped, 'older request')} not judged: no longer kept`)
  for (const [i, finding] of findings.entries()) lines.push('', ...formatFinding(finding, i + 1, judgement))
  return `${escapeControls(lines.join('\n'))}\n`
}

/** Names a client with its token, as in "client tok_1 (ci)". */
export function nameClient(id: string, clients: readonly JudgedClient[]): string {
  if (id === '*') return 'several clients'
  if (id === '') return 'client without a token'
  const name = clients.find(({ client }) => client === id)?.name ?? ''
  return name === '' ? `client ${id}` : `client ${id} (${name})`
}

function formatFinding(finding: JudgeFinding, number: number, { clients, worlds }: Judgement): string[] {
  const { rule, client, words, evidence, source, advice } = finding
  return [
    `${number}. ${rule}, ${nameClient(client, clients)}${finding.world === undefined ? '' : `, world ${finding.world} of ${worlds}`}`,
    ...indented(words),
    ...evidence.map(line => `     ${line}`),
    ...indented(`What to do: ${advice}`),
    ...indented(`Why: ${source}`),
  ]
}

/** Breaks a text into lines with an indentation of three spaces. */
function indented(text: string): string[] {
  return wrapText(text, LINE_CHARACTERS, '   ')
}
