/** Evidence as lines of text. */

import { formatSeconds, formatTraceLine } from '../../kernel/trace-line.ts'
import type { ObservedRequest } from './observation.ts'
import type { Evidence } from './rule.ts'
import { shortenPath } from './words.ts'

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
