/** A strict parser of both text formats, written from their grammars. It shares no code with the writer. */

export interface ParsedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Unix seconds; undefined without a time stamp. */
  readonly time: number | undefined
}

export interface ParsedFamily {
  readonly name: string
  type: string
  help: string | undefined
  unit: string | undefined
  readonly samples: ParsedSample[]
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*/
const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)$|^NaN$/
const SUFFIXES: Readonly<Record<'prometheus' | 'openmetrics', Readonly<Record<string, readonly string[]>>>> = {
  prometheus: { gauge: [''], counter: [''], histogram: ['_bucket', '_sum', '_count'] },
  openmetrics: {
    ...{ gauge: [''], unknown: [''], counter: ['_total', '_created'], info: ['_info'] },
    histogram: ['_bucket', '_count', '_sum', '_created'],
  },
}

/**
 * Returns the families of a page by name. Throws for every break of the format: metadata without samples or behind them,
 * interleaved or repeated families and series, wrong suffixes, wrong buckets, times that do not increase, and an
 * OpenMetrics text that does not end with `# EOF`.
 */
export function parseExposition(text: string, format: 'prometheus' | 'openmetrics'): Map<string, ParsedFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const lines = text.slice(0, -1).split('\n')
  if (format === 'openmetrics' && lines.pop() !== '# EOF') throw new Error('# EOF is missing')
  const families = new Map<string, ParsedFamily>()
  let family: ParsedFamily | undefined
  for (const line of lines) {
    const metadata = /^# (HELP|TYPE|UNIT) (\S+) (.*)$/.exec(line)
    if (metadata) {
      const [, word, name = '', rest = ''] = metadata
      if (family?.name !== name) {
        if (families.has(name)) throw new Error(`family ${name} is interleaved`)
        family = { name, type: '', help: undefined, unit: undefined, samples: [] }
        families.set(name, family)
      }
      if (family.samples.length > 0) throw new Error(`metadata of ${name} follows its samples`)
      if (word === 'TYPE') {
        if (family.type !== '' || !(rest in SUFFIXES[format])) throw new Error(`wrong type: ${line}`)
        family.type = rest
      } else if (word === 'HELP') family.help = rest
      else if (format === 'openmetrics' && name.endsWith(`_${rest}`)) family.unit = rest
      else throw new Error(`wrong unit: ${line}`)
      continue
    }
    if (line === '' || line.startsWith('#')) throw new Error(`no sample: '${line}'`)
    const sample = parseSample(line, format)
    const suffixes = SUFFIXES[format][family?.type ?? ''] ?? []
    if (!family || !suffixes.some(suffix => sample.name === family!.name + suffix)) {
      throw new Error(`${sample.name} does not belong to ${family?.name} (${family?.type})`)
    }
    family.samples.push(sample)
  }
  for (const { name, type, samples } of families.values()) {
    if (samples.length === 0) throw new Error(`${name} has no samples`)
    checkSeries(name, samples)
    if (type === 'histogram') checkHistogram(name, samples)
    if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} is below 0`)
    if (type === 'info' && samples.some(({ value }) => value !== 1)) throw new Error(`${name} is not 1`)
  }
  return families
}

function parseSample(line: string, format: 'prometheus' | 'openmetrics'): ParsedSample {
  const name = NAME.exec(line)?.[0]
  if (name === undefined) throw new Error(`no name: ${line}`)
  const { labels, length } = parseLabels(line, name.length)
  const rest = line.slice(name.length + length)
  const [empty, value = '', time, ...more] = rest.split(' ')
  if (empty !== '' || !NUMBER.test(value) || more.length > 0) throw new Error(`wrong value: ${line}`)
  if (time !== undefined && !/^-?\d+(?:\.\d+)?$/.test(time)) throw new Error(`wrong time: ${line}`)
  const seconds = time === undefined ? undefined : Number(time) / (format === 'prometheus' ? 1000 : 1)
  return { name, labels, value: toNumber(value), time: seconds }
}

interface ParsedLabels {
  readonly labels: Readonly<Record<string, string>>
  /** Number of characters with the braces. */
  readonly length: number
}

const NO_LABELS: ParsedLabels = { labels: {}, length: 0 }
/** Labels by their text with the braces. The samples of a page have few different ones. */
const labelsByText = new Map<string, ParsedLabels>()

/** Returns the labels that begin at a position of a line. */
function parseLabels(line: string, from: number): ParsedLabels {
  if (line[from] !== '{') return NO_LABELS
  // A value may have braces, so the text up to the last one is the labels if it was parsed before, and only then.
  const text = line.slice(from, line.lastIndexOf('}') + 1)
  const known = labelsByText.get(text)
  if (known !== undefined) return known
  const labels: Record<string, string> = {}
  let rest = line.slice(from + 1)
  while (!rest.startsWith('}')) {
    const label = LABEL_NAME.exec(rest)?.[0] ?? ''
    const value = /^="((?:[^"\\\n]|\\["\\n])*)"(,(?!\}))?/.exec(rest.slice(label.length))
    if (label === '' || label in labels || !value) throw new Error(`wrong labels: ${line}`)
    labels[label] = value[1]!.replaceAll(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
    rest = rest.slice(label.length + value[0].length)
    if (value[2] === undefined && !rest.startsWith('}')) throw new Error(`wrong labels: ${line}`)
  }
  const parsed = { labels, length: line.length - from - rest.length + 1 }
  if (parsed.length === text.length) labelsByText.set(text, parsed)
  return parsed
}

function toNumber(text: string): number {
  return text.endsWith('Inf') ? Number(text.replace('Inf', 'Infinity')) : Number(text)
}

/** Keys by labels: with all of them, and without that of a bucket. Equal labels of a page are one object. */
const labelKeys = new WeakMap<ParsedSample['labels'], { readonly all: string; readonly metric: string }>()

function keysOf(labels: ParsedSample['labels']): { readonly all: string; readonly metric: string } {
  const known = labelKeys.get(labels)
  if (known !== undefined) return known
  const entries = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))
  const keys = { all: JSON.stringify(entries), metric: JSON.stringify(entries.filter(([label]) => label !== 'le')) }
  labelKeys.set(labels, keys)
  return keys
}

export function seriesKey({ name, labels }: Pick<ParsedSample, 'name' | 'labels'>): string {
  return `${name} ${keysOf(labels).all}`
}

/** The metric of a sample: its series without the labels and suffixes that belong to a histogram. */
function metricKey({ labels }: ParsedSample): string {
  return keysOf(labels).metric
}

function checkSeries(family: string, samples: readonly ParsedSample[]): void {
  const times = new Map<string, number | undefined>()
  const ended = new Set<string>()
  let last = ''
  for (const sample of samples) {
    const metric = metricKey(sample)
    if (metric !== last && ended.has(metric)) throw new Error(`the series of ${family} ${metric} are interleaved`)
    ended.add(metric)
    last = metric
    const key = seriesKey(sample)
    if (times.has(key) && !((times.get(key) ?? Number.POSITIVE_INFINITY) < (sample.time ?? 0))) {
      throw new Error(`${key} is repeated, or its times do not increase`)
    }
    times.set(key, sample.time)
  }
}

function checkHistogram(family: string, samples: readonly ParsedSample[]): void {
  const points = new Map<string, ParsedSample[]>()
  for (const sample of samples) {
    const key = `${metricKey(sample)} ${sample.time}`
    const point = points.get(key)
    if (point === undefined) points.set(key, [sample])
    else point.push(sample)
  }
  for (const [key, point] of points) {
    const buckets = point.filter(({ name }) => name.endsWith('_bucket'))
    const bounds = buckets.map(({ labels }) => toNumber(labels.le!.replace('+', '')))
    const counts = buckets.map(({ value }) => value)
    const isSorted = (numbers: number[], strict: boolean) =>
      numbers.every((number, i) => i === 0 || number > numbers[i - 1]! || (!strict && number === numbers[i - 1]))
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || !isSorted(bounds, true))
      throw new Error(`${family}: bounds ${key}`)
    if (!isSorted(counts, false)) throw new Error(`${family}: the buckets of ${key} decrease`)
    const [count, sum] = ['_count', '_sum'].map(suffix => point.filter(({ name }) => name === family + suffix))
    if (count?.length !== 1 || sum?.length !== 1) throw new Error(`${family}: ${key} has no count or no sum`)
    if (count[0]!.value !== counts.at(-1)) throw new Error(`${family}: the bucket +Inf of ${key} is not the count`)
    if (!(sum[0]!.value >= 0)) throw new Error(`${family}: the sum of ${key} is below 0`)
  }
}
