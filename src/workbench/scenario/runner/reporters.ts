/** Formats of results: for people, for scripts and for CI servers. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { formatDuration, SECOND } from '../../../kernel/duration.ts'
import { attempt } from '../../../lib/errors.ts'
import { escapeXml, shellQuote, xmlAttribute } from '../../../lib/quote.ts'
import { plural } from '../../../lib/text/numbers.ts'
import { escapeControls } from '../../../lib/text/words.ts'
import { type Failure, formatVirtualTime } from '../play/failures.ts'
import type { FileResult } from './workers.ts'

export const REPORTERS = ['pretty', 'json', 'junit'] as const
export type ReporterName = (typeof REPORTERS)[number]

export interface Reporter {
  /** Called when a scenario has ended. */
  result(result: FileResult): void
  /**
   * Called when all scenarios have ended, with the real milliseconds it took.
   *
   * @param loadErrors the messages of the files that could not be loaded
   */
  end(results: readonly FileResult[], wallMs: number, loadErrors: readonly string[]): void
}

export interface ReporterOptions {
  write(text: string): void
  readonly color?: boolean | undefined
  /** Folder that file names are relative to. */
  readonly folder?: string | undefined
  /** Whether each scenario is played with many seeds and gets one line for all. */
  readonly seeded?: boolean | undefined
}

export function reporter(name: ReporterName, options: ReporterOptions): Reporter {
  if (name === 'json') return { result: () => {}, end: (...ended) => options.write(formatJson(...ended)) }
  if (name === 'junit') return { result: () => {}, end: (...ended) => options.write(formatJunit(...ended, options)) }
  return options.seeded ? seeded(options) : prettyReporter(options)
}

/** Returns the command that repeats a play. */
export function replayCommand({ file, seed, title, isOneOfMany, names }: FileResult): string {
  const filterFlag = isOneOfMany ? ` --filter ${shellQuote(title)}` : ''
  const namesFlag = names === undefined ? '' : ` --names ${shellQuote(names)}`
  const seedFlag = seed === undefined ? '' : ` --seed ${shellQuote(seed)}`
  return `npx modelhost-sim run ${shellQuote(file)}${filterFlag}${seedFlag}${namesFlag}`
}

function prettyReporter({ write, color = false, folder = process.cwd() }: ReporterOptions): Reporter {
  const paint = createPainter(color)
  return {
    result(result) {
      const mark = result.passed ? paint(32, '✓') : paint(31, '✗')
      const note = result.traceOutcome === 'written' ? ', trace written' : ''
      const times = paint(2, `${formatVirtualDuration(result)} virtual, ${result.wallMs.toFixed(0)} ms${note}`)
      write(`${mark} ${escapeControls(result.title)}  ${times}\n`)
      if (result.failure) write(indent(failureText(result, result.failure, folder)))
      else if (result.idleFaults) write(indent(`Not tested: ${describeIdleFaults(result.idleFaults)}`))
    },
    end(results, ms, loadErrors) {
      const failed = results.filter(({ passed }) => !passed).length
      const took = `in ${(ms / 1000).toFixed(1)} s${formatUnloaded(loadErrors, paint)}`
      write(formatTotal(results.length, failed, took, paint))
    },
  }
}

/** Like `pretty`, with one line for all seeds of a scenario. */
function seeded(options: ReporterOptions): Reporter {
  const { write, color = false, folder = process.cwd() } = options
  const paint = createPainter(color)
  let group: FileResult[] = []
  const failing: { readonly first: FileResult; readonly seeds: readonly string[] }[] = []
  const flush = () => {
    const [one] = group
    if (one === undefined) return
    const failed = group.filter(({ passed }) => !passed)
    const wall = group.reduce((sum, { wallMs }) => sum + wallMs, 0) / group.length
    const took = paint(2, `${plural(group.length, 'seed')}, ${wall.toFixed(0)} ms each`)
    const [first] = failed
    if (first === undefined) write(`${paint(32, '✓')} ${escapeControls(one.title)}  ${took}\n`)
    else {
      const seeds = failed.map(({ seed }) => String(seed))
      failing.push({ first, seeds })
      write(`${paint(31, '✗')} ${escapeControls(one.title)}  ${failed.length} of ${took}\n`)
      write(indent(failureText(first, first.failure!, folder)))
    }
    group = []
  }
  return {
    result(result) {
      if (group.length > 0 && (group[0]!.title !== result.title || group[0]!.file !== result.file)) flush()
      group.push(result)
    },
    end(results, ms, loadErrors) {
      flush()
      const scenarios = new Set(results.map(({ file, title }) => `${file}\n${title}`)).size
      const took = `in ${plural(results.length, 'play')} and ${(ms / 1000).toFixed(1)} s${formatUnloaded(loadErrors, paint)}`
      write(formatTotal(scenarios, failing.length, took, paint))
      for (const { first, seeds } of failing) {
        write(
          `  ${escapeControls(first.title)}: ${plural(seeds.length, 'seed')} (${formatSeeds(seeds)})\n    ${replayCommand(first)}\n`,
        )
      }
    },
  }
}

function formatTotal(scenarios: number, failed: number, took: string, paint: ReturnType<typeof createPainter>): string {
  const all = plural(scenarios, 'scenario')
  return failed === 0 ? `\n${all} passed ${took}\n` : `\n${paint(31, `${failed} of ${all} failed`)} ${took}\n`
}

/** Says why a scenario that passed proves little. */
function describeIdleFaults(count: number): string {
  const faults = count === 1 ? 'a fault of the plan' : `${count} faults of the plan`
  return `${faults} did not happen, because the request or the moment never came. If the client has changed, explore it again for a new plan.`
}

const MAX_LISTED_SEEDS = 12

function formatSeeds(seeds: readonly string[]): string {
  const more = seeds.length - MAX_LISTED_SEEDS
  return `${seeds.slice(0, MAX_LISTED_SEEDS).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}

function failureText(result: FileResult, failure: Failure, folder: string): string {
  const { where } = failure
  const place = where ? `${result.file}:${where.line}:${where.column}` : result.file
  const lines = [
    `${place} at ${formatVirtualTime(failure.at)}${result.seed === undefined ? '' : `, seed ${result.seed}`}`,
  ]
  const script = where && attempt(() => readFileSync(resolve(folder, result.file), 'utf8'))
  const source = script?.split('\n')[where!.line - 1]?.trim()
  if (source) lines.push(`> ${source}`)
  lines.push(failure.message)
  if (failure.events.length > 0) lines.push('last events:', ...failure.events.map(event => `  ${event}`))
  lines.push(`repeat: ${replayCommand(result)}`)
  return lines.join('\n')
}

function formatJson(results: readonly FileResult[], ms: number, loadErrors: readonly string[]): string {
  const failed = results.filter(({ passed }) => !passed).length
  const scenarios = results.map(result => {
    const { title, file, passed, seed, elapsed, wallMs, checks, digest, traceOutcome: traceWas, failure } = result
    const { idleFaults } = result
    const failureJson = failure && {
      message: failure.message,
      at_s: failure.at / SECOND,
      where: failure.where ?? null,
      differences: failure.differences,
      trace: failure.trace ?? null,
      events: failure.events,
      replay: replayCommand(result),
    }
    return {
      title,
      file,
      passed,
      seed: seed ?? null,
      virtual_s: elapsed / SECOND,
      wall_ms: Math.round(wallMs),
      checks,
      digest,
      trace: traceWas,
      ...(idleFaults !== undefined && { idle_faults: idleFaults }),
      failure: failureJson ?? null,
    }
  })
  const summary = {
    passed: results.length - failed,
    failed,
    not_loaded: loadErrors,
    wall_ms: Math.round(ms),
    scenarios,
  }
  return `${JSON.stringify(summary, null, 2)}\n`
}

function formatJunit(
  results: readonly FileResult[],
  ms: number,
  loadErrors: readonly string[],
  options: ReporterOptions,
): string {
  const { folder = process.cwd() } = options
  const failed = results.filter(({ passed }) => !passed).length
  const cases = results.map(result => {
    // Readers of reports keep only the last of several results with equal names.
    const name = xmlAttribute(options.seeded ? `${result.title} (seed ${result.seed})` : result.title)
    const open = `    <testcase classname=${xmlAttribute(result.file)} name=${name} time="${(result.wallMs / 1000).toFixed(3)}"`
    if (!result.failure) {
      const idle = result.idleFaults && xmlAttribute(describeIdleFaults(result.idleFaults))
      return idle ? `${open}>\n      <skipped message=${idle}/>\n    </testcase>` : `${open}/>`
    }
    const message = xmlAttribute(summaryLine(result.failure.message))
    const text = escapeXml(failureText(result, result.failure, folder))
    return `${open}>\n      <failure message=${message}>${text}</failure>\n    </testcase>`
  })
  const errors = loadErrors.map(message => {
    const summary = xmlAttribute(summaryLine(message))
    return `    <testcase name=${summary}>\n      <error message=${summary}>${escapeXml(message)}</error>\n    </testcase>`
  })
  const tests = results.length + errors.length
  const errorCount = errors.length === 0 ? '' : ` errors="${errors.length}"`
  const counts = `tests="${tests}" failures="${failed}"${errorCount} time="${(ms / 1000).toFixed(3)}"`
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n` +
    `  <testsuite name="modelhost-sim scenarios" ${counts}>\n${[...cases, ...errors].map(text => `${text}\n`).join('')}` +
    '  </testsuite>\n</testsuites>\n'
  )
}

/** Returns the first line of a message, and the second if the first ends in a colon. */
export function summaryLine(message: string): string {
  const [first, second] = message.split('\n') as [string, string?]
  return first.endsWith(':') && second !== undefined ? `${first} ${second.trim()}` : first
}

function formatVirtualDuration({ elapsed }: FileResult): string {
  return elapsed === 0 ? '0s' : formatDuration(elapsed)
}

function formatUnloaded(loadErrors: readonly string[], paint: ReturnType<typeof createPainter>): string {
  const { length } = loadErrors
  return length === 0 ? '' : `; ${paint(31, `${plural(length, 'file')} could not be loaded`)}`
}

function createPainter(color: boolean): (code: number, text: string) => string {
  return (code, text) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
}

function indent(text: string): string {
  return escapeControls(text).replace(/^/gm, '    ').replace(/$/, '\n')
}
