/** The oracle check: before an exploration says that it found nothing, its invariants have seen what they are for. */

import {
  OPTIONAL_RULE_NAMES,
  type OptionalRuleName,
  RULE_NAMES,
  type RuleName,
} from '../../../simulator/judge/rules/index.ts'
import type { NamedFlow } from '../flow.ts'
import { type InvariantSettings, isOn } from '../invariants.ts'
import type { FlowRunner } from '../run/runner.ts'
import { CARELESS_CONDUCT, CARELESS_FLOWS, type CarelessFlow } from './careless-flows.ts'
import { ExploreError } from './explore-error.ts'

/** What an exploration would have seen. */
export interface OracleReport {
  /** The invariants that are on, rules of conduct included, each with what a careless client did wrong. */
  readonly seen: readonly { readonly invariant: RuleName | OptionalRuleName; readonly words: string }[]
  /** Invariants of the user. The careless clients do not break them. */
  readonly unchecked: readonly string[]
}

/** Runs careless clients, each once for its lifetime. Explorations of one process can share it. */
export class OracleCheck {
  readonly #createRunner: (flow: NamedFlow) => FlowRunner
  #words: Promise<ReadonlyMap<string, string>> | undefined
  #conductWords: Promise<ReadonlyMap<string, string>> | undefined

  constructor(createRunner: (flow: NamedFlow) => FlowRunner) {
    this.#createRunner = createRunner
  }

  /**
   * Returns what the invariants that are on have seen. Their settings do not matter: the careless clients have their own.
   *
   * @throws ExploreError if an invariant that is on saw nothing, which is a defect of the tool
   */
  async check(settings: InvariantSettings): Promise<OracleReport> {
    const names = RULE_NAMES.filter(name => isOn(settings, name))
    const optional = OPTIONAL_RULE_NAMES.filter(name => settings[name] === true)
    this.#words ??= this.#run(CARELESS_FLOWS)
    if (optional.length > 0) this.#conductWords ??= this.#run([CARELESS_CONDUCT])
    const words = new Map([...(await this.#words), ...((await this.#conductWords) ?? [])])
    const on = [...names, ...optional]
    const blind = on.filter(name => !words.has(name))
    if (blind.length > 0) {
      throw new ExploreError(
        `Failed to check the invariants: ${blind.join(', ')} did not see what a careless client does wrong. ` +
          'Report this as a defect of modelhost-sim.',
      )
    }
    const unchecked = Object.keys(settings).filter(name => typeof settings[name] === 'function')
    return { seen: on.map(invariant => ({ invariant, words: words.get(invariant)! })), unchecked }
  }

  /** Runs careless clients, and returns the first words of each invariant that they broke. */
  async #run(flows: readonly CarelessFlow[]): Promise<ReadonlyMap<string, string>> {
    const words = new Map<string, string>()
    for (const { flow, plans } of flows) {
      const runner = this.#createRunner(flow)
      try {
        for (const plan of plans) {
          const { broken } = await runner.run(plan)
          for (const violation of broken)
            if (!words.has(violation.invariant)) words.set(violation.invariant, violation.words)
        }
      } finally {
        await runner.dispose()
      }
    }
    return words
  }
}
