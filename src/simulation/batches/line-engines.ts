/** The engines that work on lines of batches, and what each has done of them. */
import type { Micros } from '../../kernel/duration.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { engineOf } from '../deployments/instance-speed.ts'
import type { Instances } from '../deployments/instances.ts'
import type { ModelTarget } from '../deployments/model-lookup.ts'
import type { Nodes } from '../fleet/nodes.ts'
import {
  type EndedRequest,
  type EngineRequests,
  NO_ENGINE_REQUESTS,
  withEndedRequests,
} from '../load/engine-requests.ts'
import { type BatchRow, type BatchWork, doneLinesAt, type LineEngine, progressOf } from './batch-row.ts'

/** The lower parts that it uses. */
export interface LineEnginesParts {
  readonly deployments: Deployments
  readonly instances: Instances
  readonly nodes: Nodes
}

/** The golden section. Its multiples spread the lines over the engines, in any range of lines. */
const SPREAD = 0.618_033_988_749_894_9

/** Returns whether engines of the account work on lines of a batch now. */
export function hasEngines({ status, rate }: Readonly<BatchRow>): boolean {
  return status === 'in_progress' && rate.engines.length > 0
}

/** Attributes the lines of batches on deployments of the account to engines. It has no state of its own. */
export class LineEngines {
  readonly #parts: LineEnginesParts

  constructor(parts: LineEnginesParts) {
    this.#parts = parts
  }

  /** Returns the engines that serve a target now, with their parts by speed. Shared capacity has none. */
  list(target: ModelTarget): readonly LineEngine[] {
    if (target.kind !== 'own') return []
    const { deployments, instances, nodes } = this.#parts
    const { adapter } = target
    const engines = deployments.read(target.deployment).instances.flatMap(instance => {
      const { id, state, node, adapters } = instances.read(instance)
      const isServing =
        state === 'ready' &&
        (adapter === undefined || adapters.some(one => one.adapter === adapter && one.loadEvent === 0))
      return isServing ? [{ instance, id, slowdown: nodes.read(node).slowdown }] : []
    })
    const total = engines.reduce((sum, { slowdown }) => sum + 1 / slowdown, 0)
    let end = 0
    return engines.map((engine, i) => {
      const begin = end
      end = i === engines.length - 1 ? 1 : end + 1 / engine.slowdown / total
      return { ...engine, begin, end }
    })
  }

  /** Adds lines that are done now to the totals of the engines that worked on them. The engine of a lost instance is gone. */
  count({ work, rate: { engines } }: Readonly<BatchRow>, from: number, to: number): void {
    const { instances } = this.#parts
    for (const engine of engines) {
      if (!this.#isAlive(engine)) continue
      const instance = instances.writable(engine.instance)
      instance.requests = this.#withLines(instance.requests, work!, engine, from, to)
    }
  }

  /**
   * Returns the totals of an engine with the lines that are done by now, but not counted yet.
   *
   * @param batches the batches for which `hasEngines` is true
   */
  withUncountedLines(
    totals: EngineRequests | undefined,
    instance: number,
    batches: readonly Readonly<BatchRow>[],
    now: Micros,
  ): EngineRequests | undefined {
    let sum = totals
    for (const row of batches) {
      const engine = row.rate.engines.find(one => one.instance === instance)
      if (engine === undefined || !this.#isAlive(engine)) continue
      const doneLines = doneLinesAt(row.work!, progressOf(row, now).doneTokens)
      if (doneLines > row.doneLines) sum = this.#withLines(sum, row.work!, engine, row.doneLines, doneLines)
    }
    return sum
  }

  #isAlive({ instance, id }: LineEngine): boolean {
    return this.#parts.instances.find(instance)?.id === id
  }

  #withLines(
    totals: EngineRequests = NO_ENGINE_REQUESTS,
    work: BatchWork,
    engine: LineEngine,
    from: number,
    to: number,
  ): EngineRequests {
    const { deployments, instances } = this.#parts
    const row = deployments.read(instances.read(engine.instance).deployment)
    return withEndedRequests(totals, linesOn(engine, work, row, from, to))
  }
}

/** Yields the lines of a range that an engine worked on. A line that fails never reaches an engine. */
function* linesOn(
  { begin, end, slowdown }: LineEngine,
  { lines, promptBefore, answerTokens, isCut }: BatchWork,
  deployment: Readonly<DeploymentRow>,
  from: number,
  to: number,
): Generator<EndedRequest> {
  for (let line = from; line < to; line++) {
    const place = (line * SPREAD) % 1
    if (place < begin || place >= end || lines.errorOf(line) !== undefined) continue
    const promptTokens = promptBefore[line + 1]! - promptBefore[line]!
    const generationTokens = answerTokens[line]!
    const outputTokens = Math.max(1, generationTokens)
    // Lines take all places that the load leaves.
    const engine = engineOf(deployment, promptTokens, outputTokens)
    const point = engine.at(engine.places)
    const tokenTime = point.tokenTime * slowdown
    yield {
      reason: isCut[line] === 1 ? 'length' : 'stop',
      promptTokens,
      cachedTokens: 0,
      generationTokens,
      // A line waits in its batch. The engine gets it once it has a place.
      queueTime: 0,
      prefillTime: point.firstTokenTime * slowdown,
      decodeTime: (outputTokens - 1) * tokenTime,
      tokenTime,
      longestAnswer: generationTokens,
    }
  }
}
