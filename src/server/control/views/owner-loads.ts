/** How busy the instances of a deployment are, as the metrics of their GPUs say. */

import type { World } from '../../../simulation/world.ts'
import { engineUtilisation, RequestsInFlight } from '../metrics/engine-values.ts'
import { servingState } from '../metrics/serving-state.ts'

/** The loads of deployments at one moment. */
export class OwnerLoads {
  readonly #world: World
  readonly #inFlight: RequestsInFlight

  constructor(world: World) {
    this.#world = world
    this.#inFlight = new RequestsInFlight(world)
  }

  /** Returns the mean utilisation of the ready instances, rounded to hundredths; null without a ready instance. */
  utilisationOf(deployment: number): number | null {
    const row = this.#world.deployments.read(deployment)
    if (row.ready === 0) return null
    const state = servingState(this.#world, deployment)
    let sum = 0
    for (const { instance } of state.engines) {
      sum += engineUtilisation(this.#world, row, true, state, this.#inFlight.on(instance).length)
    }
    return Math.round((100 * sum) / state.engines.length) / 100
  }
}
