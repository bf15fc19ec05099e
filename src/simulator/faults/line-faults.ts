/** The fault rules that act on lines of batches. */
import type { LineRules } from '../../service/openai/batch-answers.ts'
import { RefusalError } from '../../service/refusals.ts'
import type { World } from '../../simulation/world.ts'
import type { Rules } from './faults-state.ts'
import * as faultKinds from './kinds/index.ts'
import type { FaultKind } from './kinds/kind.ts'
import { type ArmedRule, countMatches, matchesName } from './rule-matching.ts'

/** Receives the rules before and after the lines of a batch, the operation that they call, and the id of the batch. */
type OnHits = (before: Rules, after: Rules, operation: string, batch: string) => void

export class LineFaults implements LineRules {
  readonly #owner: { rules: Rules }
  readonly #onHits: OnHits | undefined
  #operation = ''

  /**
   * @param owner has the rules with their counts
   * @param onHits called after a file whose lines are counted
   */
  constructor(owner: { rules: Rules }, onHits?: OnHits) {
    this.#owner = owner
    this.#onHits = onHits
  }

  fork(): LineFaults {
    return new LineFaults({ rules: this.#owner.rules })
  }

  adopt(fork: LineFaults, batch: string): void {
    const before = this.#owner.rules
    this.#owner.rules = fork.#owner.rules
    this.#onHits?.(before, fork.#owner.rules, fork.#operation, batch)
  }

  strike(world: World, operation: string, model: string): void {
    this.#operation = operation
    const { rules } = this.#owner
    const isHere = ({ rule, operations }: ArmedRule) => rule.in === 'batch' && operations.has(operation)
    if (!rules.rules.some(isHere)) return
    const isOfModel = ({ rule }: ArmedRule) => rule.model === undefined || matchesName(rule.model, model)
    const counted = countMatches(rules.rules, world, one => isHere(one) && isOfModel(one))
    const { triggered } = counted
    this.#owner.rules = { ...rules, rules: counted.rules }
    if (triggered === undefined) return
    const { fault } = triggered.rule
    const { lineError } = faultKinds.FAULT_KINDS[fault.kind] as unknown as FaultKind
    const { status, message } = lineError!.of(fault)
    throw new RefusalError(status, message)
  }
}
