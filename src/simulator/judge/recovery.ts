/** How a client ended under one temporary fault. */

import type { Grade, Observation } from './observation.ts'

const CRASHES = /^(?:TypeError|ReferenceError|RangeError)$/
/** Errors with these words come from the platform. */
const OF_PLATFORM =
  /fetch failed|terminated|Body (?:is unusable|has already)|network|Invalid URL|Failed to parse URL|UND_ERR|E(?:CONN|NOTFOUND|PIPE)/i
/** What languages print of errors in the code of a program. */
const PRINTED_CRASH =
  /(?:^|\s)(?:TypeError|ReferenceError|RangeError|AttributeError|KeyError|IndexError|NameError|panic:)/m

/** Returns how a client ended. */
export function gradeOf({ end }: Pick<Observation, 'end'>, hasSaid: boolean): Grade {
  if (end.kind === 'returned') return hasSaid ? 'said' : 'usual'
  if (end.kind === 'unsettled') return 'endless'
  const { error } = end
  // What a command printed.
  const printed = (error as { readonly output?: unknown } | null)?.output
  if (typeof printed === 'string') {
    if (PRINTED_CRASH.test(printed) && !OF_PLATFORM.test(printed)) return 'crash'
    return /Traceback|\n\s+at /.test(printed) ? 'raw' : 'gaveUp'
  }
  if (!(error instanceof Error)) return 'gaveUp'
  const { name, message, cause } = error
  if (CRASHES.test(name)) return cause !== undefined || OF_PLATFORM.test(message) ? 'raw' : 'crash'
  const isOfPlatform =
    /^(?:SyntaxError|AbortError|TimeoutError)$/.test(name) || (OF_PLATFORM.test(message) && name === 'Error')
  return isOfPlatform && error.constructor.name.length > 0 ? 'raw' : 'gaveUp'
}

/** Returns where the code of the client failed, as in `, at client.mjs:13`; `''` if it is unknown. */
export function placeOfCrash(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const line = stack.split('\n').find(one => /^\s+at /.test(one) && !one.includes('node:'))
  const place = /([^/\\(]+):(\d+):\d+\)?$/.exec(line ?? '')
  return place === null ? '' : `, at ${place[1]!.replace(/\?.*/, '')}:${place[2]}`
}
