/** Writes the metrics of a simulation with time stamps as an OpenMetrics file, whole or not at all. */
import { closeSync, openSync, renameSync, writeSync } from 'node:fs'
import { SECOND } from '../../kernel/duration.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { describeFileError } from '../../lib/file-errors.ts'
import { globOf } from '../../lib/glob.ts'
import { LIMITS } from '../../lib/limits.ts'
import { formatCount } from '../../lib/text/format-count.ts'
import { ENGINE_METRICS } from '../../server/control/metrics/engine-metrics.ts'
import { EngineReader } from '../../server/control/metrics/engine-values.ts'
import { GPU_METRICS, readGpus } from '../../server/control/metrics/gpu-metrics.ts'
import { type Labels, type MetricTable, type MetricValues, widthOf } from '../../server/control/metrics/metric.ts'
import { header, OPENMETRICS_END, samplesOf } from '../../server/control/metrics/metrics-text.ts'
import {
  DEPLOYMENT_METRICS,
  EVENT_METRICS,
  readDeployments,
  readWorld,
  WORLD_METRICS,
} from '../../server/control/metrics/world-metrics.ts'
import type { World } from '../../simulation/world.ts'
import { UsageError } from '../command.ts'
import { draftOf, removeDraft } from '../files/output-file.ts'
import { MetricSpill, type SpilledMetric, type SpilledSource, SpilledTable } from './metric-spill.ts'

const TABLES = [WORLD_METRICS, EVENT_METRICS, DEPLOYMENT_METRICS, ENGINE_METRICS, GPU_METRICS]
const CHUNK_CHARS = 1 << 16

/**
 * Returns the names of the metrics that patterns select, separated by commas; `*` matches any text.
 *
 * @throws UsageError for a pattern that selects nothing
 */
export function selectMetrics(patterns: string): ReadonlySet<string> {
  const names = TABLES.flatMap(({ metrics }) => metrics.map(({ name }) => name))
  return new Set(
    patterns.split(',').flatMap(pattern => {
      const selects = globOf(pattern.trim().replace(/_(?:total|info)$/, ''))
      const selected = names.filter(name => selects(name) || selects(`${name}_info`))
      if (selected.length > 0) return selected
      const advice = formatSuggestion(pattern.trim(), names, 'docs/metrics.md lists the metrics.')
      throw new UsageError(`Failed to read --metrics: '${pattern.trim()}' selects no metric. ${advice}`)
    }),
  )
}

/**
 * A file of metrics that grows with the simulation. Its format puts all points of a series together, so the points go to
 * a file of numbers first, and memory does not grow with time.
 */
export class OpenMetricsFile {
  readonly #path: string
  readonly #world: World
  readonly #engines: EngineReader
  readonly #tables: readonly SpilledTable[]
  readonly #draft: string
  readonly #spillPath: string
  readonly #spillFile: number
  #samples = 0

  /** @throws UsageError if the folder cannot be written */
  constructor(path: string, world: World, selected: ReadonlySet<string>) {
    this.#path = path
    this.#world = world
    this.#engines = new EngineReader(world)
    this.#draft = draftOf(path)
    this.#spillPath = draftOf(path, '.points')
    this.#spillFile = this.#guard(() => openSync(this.#spillPath, 'w+'))
    const spill = new MetricSpill(this.#spillFile)
    this.#tables = TABLES.map(table => {
      const metrics = table.metrics.filter(({ name }) => selected.has(name))
      return new SpilledTable(spill, table, metrics)
    }).filter(({ metrics }) => metrics.length > 0)
  }

  /**
   * Adds a point of each series for the present time.
   *
   * @param remaining points after this one
   * @throws UsageError if the file would have too many samples
   */
  addPoint(remaining: number): void {
    const { clock } = this.#world
    const time = clock.epochMs / 1000 + clock.now / SECOND
    const samples = this.#guard(() =>
      this.#tables.reduce((sum, table) => sum + table.add(time, this.#read(table.table)), 0),
    )
    this.#samples += samples
    const expected = this.#samples + samples * remaining
    if (expected <= LIMITS.openMetricsSamples) return
    const [most, made] = [LIMITS.openMetricsSamples, expected].map(formatCount)
    throw new UsageError(
      `Failed to write --openmetrics '${this.#path}': it would have ${made} samples, and ${most} are the most. ` +
        "Give a longer --step, or fewer metrics, as in --metrics 'vllm:num_requests_*'.",
    )
  }

  /** Writes the file. */
  finish(): void {
    this.#guard(() => {
      for (const table of this.#tables) table.flush()
      const file = openSync(this.#draft, 'w')
      try {
        let text = ''
        for (const piece of this.#texts()) {
          text += piece
          if (text.length < CHUNK_CHARS) continue
          writeAll(file, text)
          text = ''
        }
        writeAll(file, text)
      } finally {
        closeSync(file)
      }
      renameSync(this.#draft, this.#path)
    })
    this.discard()
  }

  /** Removes what is not complete. */
  discard(): void {
    try {
      closeSync(this.#spillFile)
    } catch {
      // It is closed already.
    }
    for (const path of [this.#spillPath, this.#draft]) removeDraft(path)
  }

  #read(table: MetricTable): MetricValues[] {
    if (table === ENGINE_METRICS) return this.#engines.readAll()
    if (table === GPU_METRICS) return readGpus(this.#world)
    if (table === DEPLOYMENT_METRICS) return readDeployments(this.#world)
    return readWorld(this.#world).filter(values => values.table === table)
  }

  *#texts(): Generator<string> {
    for (const table of this.#tables) {
      for (const spilled of table.metrics) {
        let isFirst = true
        for (const source of table.sources.values()) {
          for (const text of sourceTexts(table, spilled, source)) {
            if (isFirst && text !== '') yield header(spilled.metric, 'openmetrics')
            isFirst &&= text === ''
            yield text
          }
        }
      }
    }
    yield OPENMETRICS_END
  }

  /** Calls a step, and turns an error of the file system into one about the flag. */
  #guard<Result>(step: () => Result): Result {
    try {
      return step()
    } catch (error) {
      this.discard()
      if ((error as NodeJS.ErrnoException).code === undefined) throw error
      throw new UsageError(
        `Failed to write --openmetrics '${this.#path}': ${describeFileError(error)}. Free some space, or give a file elsewhere.`,
      )
    }
  }
}

/** Yields the samples of a metric of one source: all points of a series together. */
function* sourceTexts(table: SpilledTable, spilled: SpilledMetric, source: SpilledSource): Generator<string> {
  const { metric, column, labelColumn } = spilled
  if (labelColumn >= 0) {
    const indexes = new Set<number>()
    for (const { columns } of source.read(labelColumn, 1)) for (const index of columns[0]!) indexes.add(index)
    for (const index of indexes) {
      const labels = { ...source.labels, ...table.labelsAt(index) }
      yield* seriesTexts(spilled, source, labels, column, at => at === index)
    }
    return
  }
  if (metric.variants === undefined) yield* seriesTexts(spilled, source, source.labels, column)
  for (const [i, variant] of (metric.variants ?? []).entries()) {
    yield* seriesTexts(spilled, source, { ...source.labels, ...variant }, column + i)
  }
}

/** @param hasLabels whether a point belongs to the series, by the index of its changing labels */
function* seriesTexts(
  { metric, labelColumn }: SpilledMetric,
  source: SpilledSource,
  labels: Labels,
  column: number,
  hasLabels?: (index: number) => boolean,
): Generator<string> {
  const { variants: _, ...single } = metric
  const width = widthOf(single)
  const times = source.read(0, 1)
  const indexes = hasLabels && source.read(labelColumn, 1)
  for (const { points, columns } of source.read(column, width)) {
    const [timesOfChunk] = (times.next().value as { columns: Float64Array[] }).columns
    const indexesOfChunk = (indexes?.next().value as { columns: Float64Array[] } | undefined)?.columns[0]
    const numbers = new Float64Array(width)
    let text = ''
    for (let point = 0; point < points; point++) {
      if (indexesOfChunk && !hasLabels!(indexesOfChunk[point]!)) continue
      for (let i = 0; i < width; i++) numbers[i] = columns[i]![point]!
      text += samplesOf(single, labels, numbers, 'openmetrics', ` ${timesOfChunk![point]}`, source.maxTokenBound)
    }
    yield text
  }
}

function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}
