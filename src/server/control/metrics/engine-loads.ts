import type { Micros } from '../../../kernel/duration.ts'
import type { Steps } from '../../../lib/slices.ts'
import type { InstanceRow } from '../../../simulation/deployments/instance-row.ts'
import { slowdownAt } from '../../../simulation/fleet/node-row.ts'
import type { World } from '../../../simulation/world.ts'
import { LoadReader, type LoadTotals } from './load-reader.ts'

/** An engine with the reader of its load, and the readings at which its work began and ended. */
interface KnownEngine {
  readonly reader: LoadReader
  readonly start: LoadTotals
  end: LoadTotals | undefined
}

/**
 * The offered load of the engines of one deployment. Engines that always had full speed share a reader, since each of
 * them gets the same.
 */
export class EngineLoads {
  readonly #world: World
  readonly #deployment: number
  #shared: LoadReader | undefined
  /** Known engines by the id of their instance. */
  #engines = new Map<string, KnownEngine>()

  constructor(world: World, deployment: number) {
    this.#world = world
    this.#deployment = deployment
  }

  /** Returns the load of each of these instances since its engine started. Time must not go back between two calls. */
  *read(instances: readonly number[]): Steps<LoadTotals[]> {
    const { now } = this.#world.clock
    const rows = instances.map(instance => this.#world.instances.read(instance))
    const engines = new Map<string, KnownEngine>()
    // A reader only goes forward, so starts and ends of all engines are read in their order.
    const byTime = rows
      .flatMap(row => [
        { row, at: row.timeline.ready, isStart: true },
        ...(row.timeline.draining >= 0 ? [{ row, at: row.timeline.draining, isStart: false }] : []),
      ])
      .sort((a, b) => a.at - b.at)
    for (const { row, at, isStart } of byTime) {
      const known = engines.get(row.id) ?? this.#engines.get(row.id)
      if (isStart) engines.set(row.id, this.#keepFitting(row, known) ?? (yield* this.#begin(row, at)))
      else if (known && known.end === undefined) known.end = yield* known.reader.readAt(at)
    }
    this.#engines = engines
    const readings = new Map<LoadReader, LoadTotals>()
    const totals: LoadTotals[] = []
    for (const { id } of rows) {
      const { reader, start, end } = engines.get(id)!
      const reading = end ?? readings.get(reader) ?? (yield* reader.readAt(now))
      if (!end) readings.set(reader, reading)
      totals.push(difference(start, reading))
    }
    return totals
  }

  /** Returns a known engine; undefined if its node has become slow since, so that it needs a reader of its own. */
  #keepFitting(row: Readonly<InstanceRow>, known: KnownEngine | undefined): KnownEngine | undefined {
    return known?.reader === this.#shared && this.#wasSlow(row) && known?.end === undefined ? undefined : known
  }

  *#begin(row: Readonly<InstanceRow>, at: Micros): Steps<KnownEngine> {
    const reader = this.#wasSlow(row) ? this.#ownReader(row) : this.#sharedReader(at)
    return { reader, start: yield* reader.readAt(at), end: undefined }
  }

  #wasSlow({ node }: Readonly<InstanceRow>): boolean {
    const { slowdown, pastSlowdowns } = this.#world.nodes.read(node)
    return slowdown !== 1 || pastSlowdowns.length > 0
  }

  #ownReader({ node, timeline }: Readonly<InstanceRow>): LoadReader {
    return new LoadReader(this.#world, this.#deployment, timeline.ready, at =>
      slowdownAt(this.#world.nodes.read(node), at),
    )
  }

  #sharedReader(from: Micros): LoadReader {
    this.#shared ??= new LoadReader(this.#world, this.#deployment, from)
    return this.#shared
  }
}

function difference(start: LoadTotals, end: LoadTotals): LoadTotals {
  return {
    requests: end.requests - start.requests,
    promptTokens: end.promptTokens - start.promptTokens,
    generationTokens: end.generationTokens - start.generationTokens,
    histograms: end.histograms.map((count, i) => count - start.histograms[i]!),
  }
}
