import type { Archive } from '../../../kernel/archive.ts'
import { AppendLog } from '../../../kernel/layered-map.ts'
import { NumberLog } from '../../../kernel/number-log.ts'
import { LIMITS } from '../../../lib/limits.ts'

/** The costs of the newest requests to models, by request id. */
export class RequestCosts {
  readonly #ids: AppendLog<string>
  /** Nano-dollars, at the positions of the ids. */
  readonly #costs: NumberLog

  constructor(origin?: RequestCosts) {
    this.#ids = origin ? origin.#ids.fork() : new AppendLog(LIMITS.requestCosts)
    this.#costs = origin ? origin.#costs.fork() : new NumberLog(1, LIMITS.requestCosts)
  }

  archive(archive: Archive): void {
    this.#ids.archive(archive)
    this.#costs.archive(archive)
  }

  add(id: string, nanoDollars: number): void {
    this.#ids.push(id)
    this.#costs.push([nanoDollars])
  }

  /** Returns the nano-dollars of the given requests. Unknown and forgotten requests are missing. */
  find(ids: readonly string[]): Map<string, number> {
    const missing = new Set(ids)
    const found = new Map<string, number>()
    const oldest = Math.max(0, this.#ids.length - LIMITS.requestCosts)
    for (let i = this.#ids.length - 1; i >= oldest && missing.size > 0; i--) {
      const id = this.#ids.at(i)!
      if (missing.delete(id)) found.set(id, this.#costs.at(i, 0))
    }
    return found
  }
}
