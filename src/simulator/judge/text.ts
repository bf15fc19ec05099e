/** A judgement as text, for terminals. */

import { formatSeconds, formatTraceLine } from '../../kernel/entry.ts'
import { plural } from '../../lib/text/numbers.ts'
import { escapeControls, wrapText } from '../../lib/text/words.ts'
import type { JudgedClient, JudgeFinding, Judgement } from './judgement.ts'
import type { ObservedRequest } from './observation.ts'
import type { Evidence } from './rule.ts'
import { shortenPath } from './words.ts'

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

/** Returns a fact as one line. */
export function formatEvidence(evidence: Evidence): string {
  if (evidence.kind === 'entry') return formatTraceLine(evidence.entry)
  if (evidence.kind === 'request') return formatRequest(evidence.request)
  const { time, kind, subject, microcents } = evidence.posting
  return `${formatSeconds(time)} ${kind} ${subject} $${(-microcents / 1e8).toFixed(6)}`
}

/** Returns a request and its end as one line: seconds since the epoch of the world, then what the client saw. */
export function formatRequest(request: ObservedRequest): string {
  const { index, sentAt, method, path, outcome, status, readError } = request
  const failure = readError === undefined ? '' : ` (${readError})`
  const result =
    outcome === 'answered' ? `${status}${failure}` : outcome === 'failed' ? `no connection${failure}` : 'no answer'
  return `${formatSeconds(sentAt)} request ${index}: ${method} ${shortenPath(path)} → ${result}`
}
