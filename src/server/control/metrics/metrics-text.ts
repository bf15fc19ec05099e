/** Writes metrics as text: the Prometheus format 0.0.4, and OpenMetrics 1.0. */

import { parseAccept } from 'hono/utils/accept'
import { groupBy } from '../../../lib/lists.ts'
import type { Labels, Metric, MetricValues } from './metric.ts'

export const TEXT_FORMATS = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
} as const
export type TextFormat = keyof typeof TEXT_FORMATS

/** Characters of a piece of a page. */
const PIECE_CHARACTERS = 60_000

/**
 * Yields the page of metrics of sources, in pieces. Sources with the same metrics follow each other in their order.
 *
 * @param hide hides secrets in labels, which have texts of clients. Default: they stay
 */
export function* metricsPage(
  sources: Iterable<MetricValues>,
  format: TextFormat,
  hide: (text: string) => string = text => text,
): Generator<string> {
  const labelTexts = new Map<Labels, string>()
  let text = ''
  for (const [metrics, sourcesOfKind] of groupBy(sources, one => one.metrics)) {
    for (const [index, metric] of metrics.entries()) {
      let isFirst = true
      for (const { labels, values } of sourcesOfKind) {
        const { numbers, ownLabels } = values[index]!
        const known = ownLabels === undefined ? labelTexts.get(labels) : undefined
        const labelText = known ?? hide(formatLabels({ ...labels, ...ownLabels }))
        if (ownLabels === undefined) labelTexts.set(labels, labelText)
        const samples = samplesOf(metric, labelText, numbers, format)
        if (samples === '') continue
        text += isFirst ? header(metric, format) + samples : samples
        isFirst = false
        if (text.length < PIECE_CHARACTERS) continue
        yield text
        text = ''
      }
    }
  }
  yield format === 'openmetrics' ? `${text}# EOF\n` : text
}

/** Returns the lines of metadata of a metric. */
function header(metric: Metric<never>, format: TextFormat): string {
  const { type, help, unit, hasBareName } = metric
  const isOpenMetrics = format === 'openmetrics'
  const name = isOpenMetrics ? metric.name : sampleName(metric)
  const plainType = type === 'info' ? 'gauge' : type
  const openType = type === 'counter' && hasBareName ? 'unknown' : type
  return (
    `# HELP ${name} ${escapeHelp(help, format)}\n# TYPE ${name} ${isOpenMetrics ? openType : plainType}\n` +
    (isOpenMetrics && unit ? `# UNIT ${name} ${unit}\n` : '')
  )
}

/** Returns the samples of a metric of one source. A value of NaN has no sample. */
function samplesOf(metric: Metric<never>, labelText: string, numbers: readonly number[], format: TextFormat): string {
  const { name, variants, bounds } = metric
  let lines = ''
  if (bounds === undefined) {
    for (const [i, value] of numbers.entries()) {
      if (Number.isNaN(value)) continue
      const all = variants ? joinLabels(labelText, formatLabels(variants[i]!)) : labelText
      lines += `${sampleName(metric)}${braces(all)} ${formatValue(value)}\n`
    }
    return lines
  }
  const bucket = `${name}_bucket{${joinLabels(labelText, 'le="')}`
  for (const [i, bound] of bounds.entries()) {
    if (!Number.isNaN(numbers[i])) lines += `${bucket}${formatBound(bound)}"} ${formatValue(numbers[i]!)}\n`
  }
  const count = numbers[bounds.length]!
  const end = `${bucket}+Inf"} ${formatValue(count)}\n`
  const countLine = `${name}_count${braces(labelText)} ${formatValue(count)}\n`
  const sumLine = `${name}_sum${braces(labelText)} ${formatValue(numbers[bounds.length + 1]!)}\n`
  return format === 'openmetrics' ? lines + end + countLine + sumLine : lines + end + sumLine + countLine
}

function sampleName({ name, type, hasBareName }: Metric<never>): string {
  if (type === 'counter' && !hasBareName) return `${name}_total`
  return type === 'info' ? `${name}_info` : name
}

/** Returns labels as text without braces. */
function formatLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(',')
}

function joinLabels(one: string, other: string): string {
  return one === '' ? other : other === '' ? one : `${one},${other}`
}

function braces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

/** The bounds of OpenMetrics are floats, as the Python client of the engine writes them in both formats. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}

function formatValue(value: number): string {
  return value === Number.POSITIVE_INFINITY ? '+Inf' : String(value)
}

function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function escapeHelp(help: string, format: TextFormat): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped
}

/** Returns the format that an Accept header prefers. Default: the Prometheus text format. */
export function acceptedFormat(accept: string): TextFormat {
  const ranges = parseAccept(accept)
  const qualityOf = (media: string) =>
    Math.max(0, ...ranges.map(({ type, q }) => (type.toLowerCase() === media ? q : 0)))
  const openmetrics = qualityOf('application/openmetrics-text')
  return openmetrics > 0 && openmetrics >= qualityOf('text/plain') ? 'openmetrics' : 'prometheus'
}
