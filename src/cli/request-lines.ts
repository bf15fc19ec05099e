/** The lines that `serve` prints for the requests that it answered. */

import type { ServedRequest } from '../server/http/server.ts'
import { UsageError } from './command.ts'

export const LOG_FORMATS = ['text', 'json', 'none'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Longest reason in a line of text. */
const MAX_REASON_LENGTH = 160

/** Returns a line for a request, with its line break. */
export function requestLine(request: ServedRequest, format: Exclude<LogFormat, 'none'>): string {
  if (format === 'json') return `${JSON.stringify(request)}\n`
  const { time, world, method, path, status, operation, decidedBy, reason } = request
  const parts = [
    time.replace('T', ' ').replace(/\.\d+Z$/, ''),
    status === 0 ? '---' : String(status),
    `${method} ${path}`,
    ...(operation === '' ? [] : [operation]),
    ...(world === 'default' ? [] : [`in ${world}`]),
    ...describeDecision(decidedBy, reason),
  ]
  return `${toPrintable(parts.join('  '))}\n`
}

/** Returns what decided the answer, or nothing for a success of the request alone. */
function describeDecision(decidedBy: ServedRequest['decidedBy'], reason: string | undefined): string[] {
  const decider = decidedBy === 'none' ? 'request' : decidedBy
  if (reason !== undefined) return [`${decider}: ${shorten(reason)}`]
  return decidedBy === 'none' ? [] : [decider]
}

function shorten(reason: string): string {
  return reason.length <= MAX_REASON_LENGTH ? reason : `${reason.slice(0, MAX_REASON_LENGTH)}…`
}

/** Replaces control characters, so that a request cannot write to the terminal. */
function toPrintable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?')
}

/** Returns the format of the lines for requests. Throws UsageError for flags that contradict each other. */
export function logFormat({ log, quiet }: { readonly log: LogFormat | undefined; readonly quiet: boolean }): LogFormat {
  if (quiet && log !== undefined && log !== 'none') {
    throw new UsageError(`Failed to read --quiet: --log ${log} contradicts it. Leave one of them out.`)
  }
  return quiet ? 'none' : (log ?? (process.stdout.isTTY === true ? 'text' : 'none'))
}
