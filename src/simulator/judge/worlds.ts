/** Judges worlds that follow each other in a recording: a reset or a restore begins the next one. */

import type { Simulator } from '../simulator-interface.ts'
import { judge, judgeWorld, knowsClient, requireCreated, type WorldJudgement } from './judge.ts'
import type { JudgedClient, Judgement, JudgeOptions } from './judgement.ts'

/** The judgements of the worlds so far. */
export class JudgedWorlds {
  readonly #options: JudgeOptions
  /** By world. Undefined: it has no such client. */
  readonly #worlds: (WorldJudgement | undefined)[] = []

  constructor(options: JudgeOptions) {
    this.#options = options
  }

  /** Judges a world at its end. @throws RangeError for invalid options and rules */
  add(sim: Simulator): void {
    const { client } = this.#options
    const isKnown = client === undefined || knowsClient(sim, client)
    this.#worlds.push(isKnown ? judgeWorld(sim, this.#options) : undefined)
  }

  /**
   * Judges the last world, and returns one judgement of all.
   *
   * @throws RangeError for invalid options: also for a client that no world has, and for a thing to keep that no client
   * of any world created
   */
  conclude(sim: Simulator): Judgement {
    if (this.#worlds.length === 0) return judge(sim, this.#options)
    this.add(sim)
    const known = this.#worlds.flatMap(world => world ?? [])
    // Names the client that is unknown.
    if (known.length === 0) return judge(sim, this.#options)
    requireCreated(
      this.#options.keep ?? [],
      known.flatMap(({ created }) => created),
    )
    return {
      findings: this.#worlds.flatMap((world, index) =>
        (world?.judgement.findings ?? []).map(finding => ({ ...finding, world: index + 1 })),
      ),
      rules: known[0]!.judgement.rules,
      clients: mergeClients(known.flatMap(({ judgement }) => judgement.clients)),
      dropped: known.reduce((sum, { judgement }) => sum + judgement.dropped, 0),
      worlds: this.#worlds.length,
    }
  }
}

/** Adds up the requests of each client. */
function mergeClients(clients: readonly JudgedClient[]): JudgedClient[] {
  const merged = new Map<string, JudgedClient>()
  for (const one of clients) {
    const before = merged.get(one.client)
    merged.set(one.client, before === undefined ? one : { ...before, requests: before.requests + one.requests })
  }
  return [...merged.values()]
}
