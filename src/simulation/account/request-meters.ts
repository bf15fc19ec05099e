import type { Archive } from '../../kernel/archive.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import { type Microcents, tokenCost } from './money.ts'

/** The costs of live requests by model. Their sum is rounded down, so it does not depend on single requests. */
export class RequestMeters {
  /** Σ tokens or units × price in force, and the part of it that is posted. */
  readonly #meters: LayeredMap<{ readonly weighted: bigint; readonly charged: Microcents }>

  constructor(origin?: RequestMeters) {
    this.#meters = origin ? origin.#meters.fork() : new LayeredMap()
  }

  archive(archive: Archive): void {
    this.#meters.archive(archive)
  }

  /** Adds the weight of a request to a model. Returns the micro-cents to post. */
  add(model: string, weight: bigint): Microcents {
    const before = this.#meters.get(model) ?? { weighted: 0n, charged: 0 }
    const weighted = before.weighted + weight
    const charged = tokenCost(weighted)
    this.#meters.set(model, { weighted, charged })
    return charged - before.charged
  }
}
