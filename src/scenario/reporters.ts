/** How results are told: for people, for scripts, for a CI server. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { readable, SECOND } from '../kernel/duration.ts'
import { type Failure, timeOf } from './run-scenario.ts'
import type { FileResult } from './runner.ts'

export const REPORTERS = ['pretty', 'json', 'junit'] as const
export type ReporterName = (typeof REPORTERS)[number]

export interface Reporter {
  /** A scenario has ended. */
  result(result: FileResult): void
  /** All have, after this many real milliseconds. */
  end(results: readonly FileResult[], wallMs: number): void
}

export interface ReporterOptions {
  write(text: string): void
  readonly color?: boolean | undefined
  /** What file names are relative to. */
  readonly folder?: string | undefined
}

export function reporter(name: ReporterName, options: ReporterOptions): Reporter {
  if (name === 'json') return { result: () => {}, end: (results, ms) => options.write(json(results, ms)) }
  if (name === 'junit') return { result: () => {}, end: (results, ms) => options.write(junit(results, ms)) }
  return pretty(options)
}

/** The command that plays a scenario again as it was. */
export function replayCommand({ file, seed }: FileResult): string {
  return `npx modelhost-sim run ${quoted(file)} --seed ${quoted(seed)}`
}

function pretty({ write, color = false, folder = process.cwd() }: ReporterOptions): Reporter {
  const paint = (code: number, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
  return {
    result(result) {
      const mark = result.passed ? paint(32, '✓') : paint(31, '✗')
      const note = result.traceWas === 'written' ? ', trace written' : ''
      const times = paint(2, `${virtual(result)} virtual, ${result.wallMs.toFixed(0)} ms${note}`)
      write(`${mark} ${result.title}  ${times}\n`)
      if (result.failure) write(indented(failureText(result, result.failure, folder)))
    },
    end(results, ms) {
      const failed = results.filter(({ passed }) => !passed).length
      const passed = results.length - failed
      const took = `${(ms / 1000).toFixed(1)} s`
      if (failed === 0) write(`\n${counted(passed)} passed in ${took}\n`)
      else write(`\n${paint(31, `${failed} of ${counted(results.length)} failed`)} in ${took}\n`)
    },
  }
}

function failureText(result: FileResult, failure: Failure, folder: string): string {
  const { where } = failure
  const place = where ? `${result.file}:${where.line}:${where.column}` : result.file
  const lines = [`${place} at ${timeOf(failure.at)}, seed ${result.seed}`]
  const source = where && sourceLine(resolve(folder, result.file), where.line)
  if (source) lines.push(`> ${source}`)
  lines.push(failure.message)
  if (failure.events.length > 0) lines.push('what happened last:', ...failure.events.map(event => `  ${event}`))
  lines.push(`play it again: ${replayCommand(result)}`)
  return lines.join('\n')
}

function sourceLine(path: string, line: number): string | undefined {
  try {
    return readFileSync(path, 'utf8').split('\n')[line - 1]?.trim()
  } catch {
    return undefined
  }
}

function json(results: readonly FileResult[], ms: number): string {
  const failed = results.filter(({ passed }) => !passed).length
  const scenarios = results.map(result => {
    const { title, file, passed, seed, elapsed, wallMs, checks, digest, traceWas, failure } = result
    const told = failure && {
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
      seed,
      virtual_s: elapsed / SECOND,
      wall_ms: Math.round(wallMs),
      checks,
      digest,
      trace: traceWas,
      failure: told ?? null,
    }
  })
  const summary = { passed: results.length - failed, failed, wall_ms: Math.round(ms), scenarios }
  return `${JSON.stringify(summary, null, 2)}\n`
}

function junit(results: readonly FileResult[], ms: number): string {
  const failed = results.filter(({ passed }) => !passed).length
  const cases = results.map(result => {
    const open = `    <testcase classname=${attribute(result.file)} name=${attribute(result.title)} time="${(result.wallMs / 1000).toFixed(3)}"`
    if (!result.failure) return `${open}/>`
    const text = [
      result.failure.message,
      `at ${timeOf(result.failure.at)}, seed ${result.seed}`,
      ...result.failure.events,
      replayCommand(result),
    ].join('\n')
    const message = attribute(result.failure.message.split('\n')[0]!)
    return `${open}>\n      <failure message=${message}>${escaped(text)}</failure>\n    </testcase>`
  })
  const counts = `tests="${results.length}" failures="${failed}" time="${(ms / 1000).toFixed(3)}"`
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n` +
    `  <testsuite name="modelhost-sim scenarios" ${counts}>\n${cases.map(text => `${text}\n`).join('')}` +
    '  </testsuite>\n</testsuites>\n'
  )
}

function attribute(text: string): string {
  return `"${escaped(text).replace(/"/g, '&quot;').replace(/\n/g, '&#10;')}"`
}

/** As XML text; characters that XML cannot hold at all are left out. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
}

function virtual({ elapsed }: FileResult): string {
  return elapsed === 0 ? '0s' : readable(elapsed)
}

function counted(count: number): string {
  return count === 1 ? '1 scenario' : `${count} scenarios`
}

function indented(text: string): string {
  return text.replace(/^/gm, '    ').replace(/$/, '\n')
}

function quoted(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
