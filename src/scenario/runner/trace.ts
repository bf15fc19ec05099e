/** Traces: what happened in a scenario, a line an event, in a file beside the script. */
import { type Entry, formatTraceLine } from '../../kernel/journal.ts'

/** The first line in which two traces of one scenario differ. */
export interface TraceDifference {
  /** Counted from 1, in the trace's file. */
  readonly line: number
  /** Undefined where the trace ends. */
  readonly expected: string | undefined
  readonly found: string | undefined
}

/**
 * The lines of a trace: what was written, what happened, what was done to the fleet, what was checked. Looks at the
 * world leave no line, so a client may look as often as it likes.
 */
export function createTrace(title: string, seed: string, record: readonly Entry[]): string[] {
  return [formatHeadline(title, seed), ...record.flatMap(entry => toTraceLine(entry) ?? [])]
}

/** The line of one entry; undefined for a look at the world. */
export function toTraceLine(entry: Entry): string | undefined {
  if (entry.kind !== 'request') return formatTraceLine(entry)
  if (/^(GET|HEAD) /.test(entry.subject)) return undefined
  const { operation, status } = entry.fields as { operation: string; status: number }
  return formatTraceLine({ ...entry, subject: operation === '' ? entry.subject : operation, fields: { status } })
}

/**
 * A trace file: of each scenario of the script a part that begins with its headline.
 */
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

  /** Compares a trace with the one in the file; undefined when they are the same. */
  findDifference(title: string, found: readonly string[]): TraceDifference | undefined {
    const part = this.#sections.find(other => other.title === title)
    const expected = part?.lines ?? []
    const at = found.findIndex((line, i) => line !== expected[i])
    const first = at < 0 && expected.length > found.length ? found.length : at
    if (first < 0) return undefined
    return { line: (part?.at ?? 1) + first, expected: expected[first], found: found[first] }
  }

  /** Puts a trace in, in place of the one of this title. */
  set(title: string, lines: readonly string[]): void {
    const part = this.#sections.find(other => other.title === title)
    if (part) part.lines = lines
    else this.#sections.push({ title, at: 0, lines })
  }

  /** Drops the parts of scenarios that the script has no more. */
  retain(titles: readonly string[]): void {
    const kept = this.#sections.filter(({ title }) => titles.includes(title))
    this.#sections.splice(0, this.#sections.length, ...kept)
  }
}

function formatHeadline(title: string, seed: string): string {
  return `# ${title} (seed ${seed})`
}
