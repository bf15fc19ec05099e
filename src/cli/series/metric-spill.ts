import { readSync, writeSync } from 'node:fs'
import {
  type Labels,
  type Metric,
  type MetricTable,
  type MetricValues,
  widthOf,
} from '../../server/control/metrics/metric.ts'
import { formatLabels } from '../../server/control/metrics/metrics-text.ts'

/** Points of a source that are written together. */
const CHUNK_POINTS = 32
const NUMBER_BYTES = 8

/** A metric of the file, and where its numbers begin among the columns of a point. */
export interface SpilledMetric {
  readonly metric: Metric
  readonly column: number
  /** The column that says which of the changing labels a point has; -1 without such labels. */
  readonly labelColumn: number
}

/** A part of a spill file: points of one source, column by column. */
interface Chunk {
  readonly position: number
  readonly points: number
}

/** The points of one source: those in the spill file, and the last ones in memory. */
export class SpilledSource {
  readonly labels: Labels
  readonly maxTokenBound: number | undefined
  readonly #file: MetricSpill
  readonly #width: number
  readonly #chunks: Chunk[] = []
  /** Column by column. */
  #points: Float64Array | undefined
  #count = 0

  constructor(file: MetricSpill, width: number, { labels, maxTokenBound }: MetricValues) {
    this.#file = file
    this.#width = width
    this.labels = labels
    this.maxTokenBound = maxTokenBound
  }

  add(point: ArrayLike<number>): void {
    this.#points ??= new Float64Array(CHUNK_POINTS * this.#width)
    for (let column = 0; column < this.#width; column++) {
      this.#points[column * CHUNK_POINTS + this.#count] = point[column]!
    }
    this.#count++
    if (this.#count === CHUNK_POINTS) this.flush()
  }

  /** Writes the points in memory to the spill file. */
  flush(): void {
    if (this.#points === undefined || this.#count === 0) return
    this.#chunks.push({ position: this.#file.append(this.#points), points: this.#count })
    this.#points = undefined
    this.#count = 0
  }

  /** Yields columns of all points in the order of their times: for each chunk the number of points, and each column. */
  *read(first: number, count: number): Generator<{ points: number; columns: Float64Array[] }> {
    for (const { position, points } of this.#chunks) {
      const numbers = this.#file.read(position + first * CHUNK_POINTS * NUMBER_BYTES, count * CHUNK_POINTS)
      const columns = Array.from({ length: count }, (_, i) =>
        numbers.subarray(i * CHUNK_POINTS, i * CHUNK_POINTS + points),
      )
      yield { points, columns }
    }
  }
}

/** The points of all sources with one table, in the order in which the sources came. */
export class SpilledTable {
  readonly metrics: readonly SpilledMetric[]
  readonly sources = new Map<string, SpilledSource>()
  readonly table: MetricTable
  readonly #width: number
  readonly #changingLabels = new Map<string, number>()
  readonly #file: MetricSpill
  #current = new Set<SpilledSource>()

  /** Column 0 is the time. */
  constructor(file: MetricSpill, table: MetricTable, metrics: readonly Metric[]) {
    let width = 1
    this.metrics = metrics.map(metric => {
      const column = width
      width += widthOf(metric)
      return { metric, column, labelColumn: metric.hasOwnLabels ? width++ : -1 }
    })
    this.#file = file
    this.#width = width
    this.table = table
  }

  /** Adds a point of each source. Sources that are missing now are written to the file. Returns the number of samples. */
  add(time: number, all: readonly MetricValues[]): number {
    const current = new Set<SpilledSource>()
    const point = new Float64Array(this.#width)
    point[0] = time
    let samples = 0
    for (const values of all) {
      const key = formatLabels(values.labels)
      let source = this.sources.get(key)
      if (source === undefined) {
        source = new SpilledSource(this.#file, this.#width, values)
        this.sources.set(key, source)
      }
      for (const { metric, column, labelColumn } of this.metrics) {
        const width = widthOf(metric)
        const offset = this.table.offsetOf(metric.name)
        point.set(values.values.subarray(offset, offset + width), column)
        samples += metric.bounds === undefined ? width : width + 1
        if (labelColumn >= 0) point[labelColumn] = this.#labelsIndex(values.ownLabels?.[metric.name] ?? {})
      }
      source.add(point)
      current.add(source)
    }
    for (const source of this.#current) if (!current.has(source)) source.flush()
    this.#current = current
    return samples
  }

  /** Returns changing labels by their index. */
  labelsAt(index: number): Labels {
    return JSON.parse([...this.#changingLabels.keys()][index]!)
  }

  #labelsIndex(labels: Labels): number {
    const text = JSON.stringify(labels)
    const index = this.#changingLabels.get(text) ?? this.#changingLabels.size
    this.#changingLabels.set(text, index)
    return index
  }

  flush(): void {
    for (const source of this.sources.values()) source.flush()
  }
}

/** An open file of numbers. */
export class MetricSpill {
  readonly #file: number
  #size = 0

  constructor(file: number) {
    this.#file = file
  }

  /** Appends numbers. Returns their position in bytes. */
  append(numbers: Float64Array): number {
    const position = this.#size
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at, bytes.length - at, position + at)
    this.#size += bytes.length
    return position
  }

  read(position: number, count: number): Float64Array {
    const numbers = new Float64Array(count)
    const bytes = new Uint8Array(numbers.buffer)
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(this.#file, bytes, at, bytes.length - at, position + at)
      if (read === 0) throw new Error('Failed to read the points of metrics: their file was cut.')
      at += read
    }
    return numbers
  }
}
