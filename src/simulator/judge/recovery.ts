/** How a client ended under one temporary fault. */

import type { Grade, Observation } from './observation.ts'

/** The longest error in a line about a crash, in characters. */
const MAX_ERROR = 120

const CRASHES = /^(?:TypeError|ReferenceError|RangeError)$/
/** Errors with these words come from the platform. */
const OF_PLATFORM =
  /fetch failed|terminated|Body (?:is unusable|has already)|network|Invalid URL|Failed to parse URL|UND_ERR|E(?:CONN|NOTFOUND|PIPE)/i
/** What languages print of errors in the code of a program. */
const PRINTED_CRASH =
  /(?:^|\s)(?:TypeError|ReferenceError|RangeError|AttributeError|KeyError|IndexError|NameError|panic:)/m

/** A frame of Python in the code of a client. */
const PYTHON_FRAME = /File "(?![^"]*(?:site-packages|lib\/python|<))(?:[^"]*[/\\])?([^"]+)", line (\d+)/g

/** Returns how a client ended. */
export function gradeOf({ end }: Pick<Observation, 'end'>, hasSaid: boolean): Grade {
  if (end.kind === 'returned') return hasSaid ? 'said' : 'usual'
  if (end.kind === 'unsettled') return 'endless'
  if (end.isUnhandled) return 'crash'
  const { error } = end
  const printed = printedBy(error)
  if (printed !== undefined) {
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

/** Returns what the command printed whose end an error is; undefined for the error of a function. */
export function printedBy(error: unknown): string | undefined {
  const printed = (error as { readonly output?: unknown } | null | undefined)?.output
  return typeof printed === 'string' ? printed : undefined
}

/** Returns an error with its name. What a command printed has the name already. */
export function nameError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  return printedBy(error) === undefined ? `${error.name}: ${error.message}` : error.message
}

/** Returns an error of the code of a client in one line, with its place. */
export function describeCrash(error: unknown): string {
  const line = String(nameError(error)).replace(/^exit code \d+: /, '')
  return `${line.split('\n', 1)[0]!.slice(0, MAX_ERROR)}${placeOfCrash(error)}`
}

/** Returns where the code of the client failed, as in `, at client.mjs:13`; `''` if it is unknown. */
export function placeOfCrash(error: unknown): string {
  const stack = printedBy(error) ?? (error instanceof Error ? (error.stack ?? '') : '')
  const line = stack.split('\n').find(one => /^\s+at /.test(one) && !one.includes('node:'))
  const place = [...stack.matchAll(PYTHON_FRAME)].at(-1) ?? /([^/\\(]+):(\d+):\d+\)?$/.exec(line ?? '')
  return place === null ? '' : `, at ${place[1]!.replace(/\?.*/, '')}:${place[2]}`
}
