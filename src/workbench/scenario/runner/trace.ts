/** Traces: the events of a scenario, one on each line, in a file beside the script. */

import { formatTraceLine } from '../../../kernel/entry.ts'
import type { Entry } from '../../../kernel/journal.ts'

/** The first line in which two traces of one scenario differ. */
export interface TraceDifference {
  /** Counted from 1, in the trace's file. */
  readonly line: number
  /** Undefined at the end of the trace. */
  readonly expected: string | undefined
  readonly found: string | undefined
}

/**
 * Returns the lines of a trace: writing requests, events, commands and checks. Reading requests leave no line, so a
 * client may read as often as it likes.
 */
export function createTrace(title: string, seed: string, record: readonly Entry[]): string[] {
  return [`# ${title} (seed ${seed})`, ...record.flatMap(entry => toTraceLine(entry) ?? [])]
}

/** Returns the line of an entry, or undefined for a reading request. */
export function toTraceLine(entry: Entry): string | undefined {
  if (entry.kind !== 'request') return formatTraceLine(entry)
  if (/^(GET|HEAD) /.test(entry.subject)) return undefined
  const { operation, status } = entry.fields as { operation: string; status: number }
  return formatTraceLine({ ...entry, subject: operation === '' ? entry.subject : operation, fields: { status } })
}

/** A trace file, with a section for each scenario of the script that begins with its headline. */
export class TraceFile {
  readonly #sections: { readonly title: string; readonly at: number; lines: readonly string[] }[] = []

  constructor(text = '') {
    for (const [i, line] of text.split(/\r?\n/).entries()) {
      const head = /^# (.*) \(seed .*\)$/.exec(line)
      if (head) this.#sections.push({ title: head[1]!, at: i + 1, lines: [line] })
      else if (line !== '') {
        const last = this.#sections.at(-1)
        if (last) last.lines = [...last.lines, line]
      }
    }
  }

  get text(): string {
    return this.#sections.map(({ lines }) => `${lines.join('\n')}\n`).join('')
  }

  has(title: string): boolean {
    return this.#sections.some(part => part.title === title)
  }

  /** Returns the first difference between a trace and that in the file, or undefined. */
  findDifference(title: string, found: readonly string[]): TraceDifference | undefined {
    const part = this.#sections.find(other => other.title === title)
    const expected = part?.lines ?? []
    const at = found.findIndex((line, i) => line !== expected[i])
    const first = at < 0 && expected.length > found.length ? found.length : at
    if (first < 0) return undefined
    return { line: (part?.at ?? 1) + first, expected: expected[first], found: found[first] }
  }

  /** Replaces the trace of this title, or adds it. */
  set(title: string, lines: readonly string[]): void {
    const part = this.#sections.find(other => other.title === title)
    if (part) part.lines = lines
    else this.#sections.push({ title, at: 0, lines })
  }

  /** Removes the traces of all other titles. */
  retain(titles: readonly string[]): void {
    const kept = this.#sections.filter(({ title }) => titles.includes(title))
    this.#sections.splice(0, this.#sections.length, ...kept)
  }
}
