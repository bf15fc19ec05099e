/** The pasts of simulators. */

import type { Simulator } from '../../simulator.ts'
import { Past } from './past.ts'

/** The pasts that are kept, one for a simulator. */
export class Pasts {
  readonly #pasts = new WeakMap<Simulator, Past>()

  /** Returns the past of a simulator; undefined if it is not kept. */
  of(sim: Simulator): Past | undefined {
    return this.#pasts.get(sim)
  }

  /**
   * Keeps the past of a simulator from now on. Does nothing if it is kept.
   *
   * @throws RangeError if requests are in progress, or if a replay drives the simulator
   */
  keep(sim: Simulator): Past {
    const past = this.#pasts.get(sim) ?? new Past(sim)
    this.#pasts.set(sim, past)
    return past
  }

  /** Forgets the past of a simulator. Returns false if it was not kept. */
  forget(sim: Simulator): boolean {
    this.#pasts.get(sim)?.stop()
    return this.#pasts.delete(sim)
  }
}
