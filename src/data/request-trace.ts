/** Traces of single requests, in the public forms: CSV and JSON lines with a time, tokens of the prompt and of the answer. */
import { elapsedAt } from '../kernel/clock.ts'
import { SECOND } from '../kernel/duration.ts'
import { findSyntaxFault, tryParseJson } from '../lib/json-text.ts'
import { LIMITS } from '../lib/limits.ts'
import { formatValue } from '../lib/zod-problems.ts'

/** Requests of a trace are counted in bins of this many seconds, and their burstiness around means of `WINDOW` bins. */
const BIN = 10
const WINDOW = 30

interface TracedRequest {
  readonly line: number
  /** What its time is, in words. */
  readonly form: string
  readonly seconds: number
  readonly prompt: number
  readonly answer: number
  /** Hashes of the blocks of its prompt. Equal beginnings have equal ones. */
  readonly hashes?: readonly unknown[] | undefined
}

/** A trace of requests as a load has it: rates, and means and spreads of the requests. */
export interface RequestTrace {
  /** The rates as CSV of seconds and requests/s. */
  readonly text: string
  readonly prompt_tokens: number
  readonly output_tokens: number
  readonly burstiness: number
  readonly prompt_spread: number
  /** Share of the prompt tokens that an earlier prompt had; missing if the trace has no hashes. */
  readonly cached_share?: number
}

/** Names of columns and fields. Case and all but letters are ignored. */
const NAMES = {
  seconds: ['timestamp', 'time', 'arrived_at', 'arrival_time'],
  prompt: ['prompt_tokens', 'input_tokens', 'context_tokens', 'request_tokens', 'num_prefill_tokens', 'input_length'],
  answer: [
    ...['answer_tokens', 'completion_tokens', 'output_tokens', 'generated_tokens', 'response_tokens'],
    ...['num_decode_tokens', 'output_length'],
  ],
  hashes: ['hash_ids'],
} as const
type Column = keyof typeof NAMES

const COLUMNS: ReadonlyMap<string, Column> = new Map(
  (Object.keys(NAMES) as Column[]).flatMap(column => NAMES[column].map(name => [lettersOf(name), column] as const)),
)

/** The known names of the columns that a trace of requests needs. */
export const REQUEST_COLUMNS = (['seconds', 'prompt', 'answer'] as const)
  .map(column => NAMES[column].join(' or '))
  .join(', ')

/** Returns the cells of a row of CSV, without the spaces and the quotes around them. */
function cellsOf(row: string): string[] {
  if (!row.includes('"')) return row.split(',').map(cell => cell.trim())
  const cells = `,${row}`.matchAll(/,\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))/g)
  return Array.from(cells, ([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain!).trim())
}

const LINE_END = /\r\n?|\n/

/** Returns the rows of CSV that are not empty, each with its first line. A cell with quotes can have line ends. */
export function csvRowsOf(text: string): { line: number; cells: readonly string[] }[] {
  const lines = text.replace(/^\uFEFF/, '').split(LINE_END)
  const hasOddQuotes = (line: string) => line.split('"').length % 2 === 0
  const rows: { line: number; cells: readonly string[] }[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = i + 1
    let row = lines[i]!
    if (hasOddQuotes(row) && cellsOf(row).some(cell => cell.startsWith('"'))) {
      let last = i + 1
      while (last < lines.length && !hasOddQuotes(lines[last]!)) last++
      if (last < lines.length) {
        row = lines.slice(i, last + 1).join('\n')
        i = last
      }
    }
    if (row.trim() !== '') rows.push({ line, cells: cellsOf(row) })
  }
  return rows
}

export function isNumber(text: string): boolean {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)
}

/** How JSON lines begin, and an array of requests that is refused. */
const JSON_START = /^\s*(?:\[\s*)?\{/

/** Tells whether a text is a trace of single requests, and not one of rates. */
export function isRequestTrace(text: string): boolean {
  const first = text.split(LINE_END, 1)[0]!.trim()
  const { prompt, answer } = columnsOf(cellsOf(first).map(lettersOf))
  return JSON_START.test(text) || prompt >= 0 || answer >= 0
}

/**
 * Returns a trace of requests as rates of each 10 s since its first request.
 *
 * @param from seconds of the trace that are left out, and `lasts` how many follow
 * @param isRepeated whether the load starts over at its end. Otherwise its rate is 0 then
 * @throws RangeError with the line that cannot be read
 */
export function readRequestTrace(
  text: string,
  { from = 0, lasts = Number.POSITIVE_INFINITY, isRepeated = false } = {},
): RequestTrace {
  const all = JSON_START.test(text) ? jsonRequests(text) : csvRequests(text)
  const other = all.find(({ form }) => form !== all[0]!.form)
  if (other !== undefined) {
    const [{ line, form }] = all as [TracedRequest]
    const reason = `its time is ${other.form}, and that of line ${line} is ${form}`
    throw new RangeError(`line ${other.line}: ${reason}. Write all in one form`)
  }
  const start = all.reduce((least, { seconds }) => Math.min(least, seconds), Number.POSITIVE_INFINITY) + from
  const requests = all
    .filter(({ seconds }) => seconds >= start && seconds - start < lasts)
    .sort((a, b) => a.seconds - b.seconds)
  if (requests.length === 0) throw new RangeError('it has no request in this span')
  const counts = new Map<number, number>()
  for (const { seconds } of requests) {
    const bin = Math.floor((seconds - start) / BIN)
    counts.set(bin, (counts.get(bin) ?? 0) + 1)
  }
  const last = [...counts.keys()].at(-1)!
  // A row of bins without requests has one line. The last two lines tell the period of a load that is repeated whole.
  const lines = new Set([0, last - 1, ...[...counts.keys()].flatMap(bin => [bin, bin + 1])])
  const isCut = isRepeated && lasts < Number.POSITIVE_INFINITY
  const hasPauseAtEnd = !isRepeated || (isCut && (last + 1) * BIN < lasts)
  const end = hasPauseAtEnd ? last + 1 : last
  const widthOf = (bin: number) => (isCut ? Math.min(BIN, lasts - bin * BIN) : BIN)
  const kept = [...lines].filter(bin => bin >= 0 && bin <= end).sort((a, b) => a - b)
  const prompts = requests.map(({ prompt }) => prompt)
  const prompt = meanOf(prompts)
  const cachedShare = shareOfKnownBlocks(requests)
  return {
    text: kept.map(bin => `${bin * BIN},${(counts.get(bin) ?? 0) / widthOf(bin)}`).join('\n'),
    prompt_tokens: Math.max(1, prompt),
    output_tokens: Math.max(1, meanOf(requests.map(({ answer }) => answer))),
    burstiness: Math.max(1, dispersionOf(counts, last + 1)),
    prompt_spread: meanOf(prompts.map(tokens => (tokens / prompt - 1) * (tokens / prompt - 1))),
    ...(cachedShare !== undefined && { cached_share: cachedShare }),
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Returns variance over mean of the counts of so many bins, around the mean of each window. */
function dispersionOf(counts: ReadonlyMap<number, number>, bins: number): number {
  let [squares, total] = [0, 0]
  for (const first of new Set([...counts.keys()].map(bin => bin - (bin % WINDOW)))) {
    const window = Array.from({ length: Math.min(WINDOW, bins - first) }, (_, i) => counts.get(first + i) ?? 0)
    const mean = meanOf(window)
    squares += window.reduce((sum, count) => sum + (count - mean) * (count - mean), 0)
    total += mean * window.length
  }
  const degrees = bins - Math.ceil(bins / WINDOW)
  return degrees > 0 ? squares / degrees / (total / bins) : 1
}

function shareOfKnownBlocks(requests: readonly TracedRequest[]): number | undefined {
  const known = new Set<unknown>()
  let [blocks, hits] = [0, 0]
  for (const { hashes = [] } of requests) {
    blocks += hashes.length
    for (const hash of hashes) {
      if (known.has(hash)) hits++
      else known.add(hash)
    }
  }
  return blocks === 0 ? undefined : hits / blocks
}

function columnsOf(letters: readonly string[]): Record<Column, number> {
  const columns = letters.map(name => COLUMNS.get(name))
  return {
    ...{ seconds: columns.indexOf('seconds'), hashes: columns.indexOf('hashes') },
    ...{ prompt: columns.indexOf('prompt'), answer: columns.indexOf('answer') },
  }
}

/** Returns the columns of a line. Rejects two names of one column. */
function uniqueColumnsOf(line: number, names: readonly string[]): Record<Column, number> {
  const letters = names.map(lettersOf)
  const columns = letters.map(name => COLUMNS.get(name))
  const second = columns.findIndex((column, i) => column !== undefined && columns.indexOf(column) < i)
  if (second < 0) return columnsOf(letters)
  const first = columns.indexOf(columns[second])
  const [name, other] = [first, second].map(place => names[place]!.trim())
  const isTwice = letters[first] === letters[second]
  const problem = isTwice ? `the column '${other}' is there twice` : `'${name}' and '${other}' mean the same column`
  throw new RangeError(`line ${line}: ${problem}. Leave one of them out`)
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '')
}

function csvRequests(text: string): TracedRequest[] {
  const [header, ...rows] = csvRowsOf(text)
  const columns = uniqueColumnsOf(1, header?.cells ?? [])
  if (Math.min(columns.seconds, columns.prompt, columns.answer) < 0)
    throw new RangeError(`line 1: its header needs ${REQUEST_COLUMNS}`)
  return rows.map(({ line, cells }) =>
    toRequest(line, LEAST_MILLIS, ...[columns.seconds, columns.prompt, columns.answer].map(place => cells[place])),
  )
}

function jsonRequests(text: string): TracedRequest[] {
  if (!text.trimStart().startsWith('{')) {
    throw new RangeError('it is a JSON array. Give JSON lines: each object on its own line, without [ ] and commas')
  }
  const rows = text.split(LINE_END).flatMap((line, i) => {
    if (line.trim() === '') return []
    const value = tryParseJson(line)
    if (typeof value !== 'object' || value === null) throw new RangeError(`line ${i + 1}: it is not a JSON object`)
    const fault = findSyntaxFault(line, true)
    if (fault !== undefined) throw new RangeError(`line ${i + 1}: ${fault.reason}`)
    const fields = Object.entries(value)
    const columns = uniqueColumnsOf(
      i + 1,
      fields.map(([name]) => name),
    )
    const cell = (place: number) => fields[place]?.[1] as unknown
    const hashes = cell(columns.hashes)
    return [{ line: i + 1, cells: [columns.seconds, columns.prompt, columns.answer].map(cell), hashes }]
  })
  // Numbers of JSON lines are milliseconds, as in the traces of Mooncake, unless all are seconds since 1970.
  const least = rows.reduce((known, { cells }) => Math.min(known, Number(cells[0])), Number.POSITIVE_INFINITY)
  const millisFrom = least >= LEAST_UNIX_SECONDS && least < 10 * LEAST_UNIX_SECONDS ? LEAST_MILLIS : 0
  return rows.map(({ line, cells, hashes }) => {
    const request = toRequest(line, millisFrom, ...cells)
    return Array.isArray(hashes) ? { ...request, hashes } : request
  })
}

/** @param millisFrom the least number of a time that is in milliseconds, and not in seconds */
function toRequest(line: number, millisFrom: number, time?: unknown, ...tokens: unknown[]): TracedRequest {
  const [prompt, answer] = tokens.map((cell, i) => {
    const count = Number(String(cell ?? '').trim() || Number.NaN)
    if (count >= 0 && count <= LIMITS.loadTokens) return count
    const column = (['prompt', 'answer'] as const)[i]!
    throw wrongCell(line, `tokens of the ${column}`, cell, NAMES[column], `a number from 0 to ${LIMITS.loadTokens}`)
  }) as [number, number]
  const written = String(time ?? '').trim()
  const isCount = isNumber(written)
  const least = [0, millisFrom, 1e3 * LEAST_MILLIS, 1e6 * LEAST_MILLIS]
  const unit = isCount ? least.findLastIndex(from => Number(written) >= from) : 0
  const seconds = isCount ? Number(written) / 1000 ** unit : secondsOfDate(written)
  if (!Number.isFinite(seconds) || (isCount && seconds < 0)) {
    throw wrongCell(line, 'time', time, NAMES.seconds, 'a number from 0, or a date as in 2026-03-02T09:00:00')
  }
  const form = isCount ? `a number of ${UNITS[unit]}` : 'a date'
  return { line, form, seconds, prompt, answer }
}

function wrongCell(line: number, what: string, cell: unknown, names: readonly string[], form: string): RangeError {
  return new RangeError(`line ${line}: the ${what} (${names.join(' or ')}): expected ${form}, got ${formatValue(cell)}`)
}

/** Times of CSV from this on are milliseconds since 1970. As seconds, they are 3,000 years away. So is each smaller unit. */
const LEAST_MILLIS = 1e11
const UNITS = ['seconds', 'milliseconds', 'microseconds', 'nanoseconds']
/** Ten digits: a time of 2001. As milliseconds since the start of a trace, it is 11 days away. */
const LEAST_UNIX_SECONDS = 1e9

/** Returns the seconds of a date with a time, in UTC unless it has an offset. */
function secondsOfDate(text: string): number {
  const [, day, time, offset = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,9})?)([+-]\d\d:?\d\d)?/.exec(text.trim()) ?? []
  return elapsedAt(`${day}T${time}${offset}`, 0) / SECOND
}
