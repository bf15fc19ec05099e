/** A plan that acts on one world: its fault rules are added, its commands wait for their moments. */

import { micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { CommandError } from '../../../simulation/command-error.ts'
import { FAULT_KINDS } from '../../../simulator/faults/kinds/index.ts'
import type { FaultKind } from '../../../simulator/faults/kinds/kind.ts'
import type { Simulator } from '../../../simulator/simulator-interface.ts'
import { type CommandItem, type Plan, type PlanItem, withContentName } from '../plan/plan.ts'

/** A command that waits for the n-th entry of its anchor. */
interface WaitingCommand {
  readonly position: number
  readonly item: CommandItem
  seen: number
}

export class AppliedPlan {
  readonly #sim: Simulator
  /** Positions of the items that changed something. Fault rules are counted when the plan is stopped. */
  readonly fired = new Set<number>()
  /** Names of fault rules, and the positions of their items. */
  readonly #rules = new Map<string, number>()
  #waiting: WaitingCommand[] = []
  #isStopped = false
  readonly #crashes = new Map<number, number>()
  readonly #stopListening: () => void
  /** The micro-cents per hour that each thing cost before the client began. */
  readonly ratesBefore: ReadonlyMap<string, number>

  /**
   * Adds the fault rules and waits for the anchors.
   *
   * @throws FaultError or CommandError for an invalid item
   */
  constructor(sim: Simulator, plan: Plan) {
    this.#sim = sim
    this.ratesBefore = sim.world.ledger.meters.rates()
    const [item, ...others] = plan
    this.passes = item !== undefined && others.length === 0 && doesPass(item)
    const isLong = item !== undefined && 'fault' in item && (item.fault.for !== undefined || answersOf(item) === 'late')
    this.isFailure = this.passes && !isLong
    for (const [position, item] of plan.entries()) this.#arm(position, item)
    this.#stopListening = this.#waiting.length > 0 ? sim.journal.listen(entry => this.#onEntry(entry)) : () => {}
  }

  /** Returns whether the process of the client ends with its n-th request. */
  endsWith(request: number): boolean {
    const position = this.#crashes.get(request)
    if (position === undefined) return false
    this.fired.add(position)
    return true
  }

  /** Whether it is one temporary fault: of one request, or for some time. */
  readonly passes: boolean
  /** Whether it is a failure of one request: no outage, and no answer that is late or old. */
  readonly isFailure: boolean

  /** Whether each item has begun to act, so that no other one will. */
  get hasActed(): boolean {
    if (this.#isStopped) return true
    const hits = new Map(this.#sim.faults.list().map(rule => [rule.id, rule.hits]))
    const isCrashed = [...this.#crashes.values()].every(position => this.fired.has(position))
    return isCrashed && this.#waiting.length === 0 && [...this.#rules.keys()].every(id => (hits.get(id) ?? 0) > 0)
  }

  /** Returns the position of the item of a fault rule. */
  positionOfRule(name: string): number | undefined {
    return this.#rules.get(name)
  }

  /** Ends the plan: its fault rules are removed, and its waiting commands never come. */
  stop(): void {
    this.#isStopped = true
    this.#stopListening()
    this.#waiting = []
    for (const { id, hits } of this.#sim.faults.list()) {
      const position = this.#rules.get(id)
      if (hits > 0 && position !== undefined) this.fired.add(position)
    }
    this.#sim.faults.clear()
  }

  #arm(position: number, item: PlanItem): void {
    if ('fault' in item) {
      const { id } = this.#sim.faults.add({ ...item.fault, name: this.#freeName(item) })
      this.#rules.set(id, position)
    } else if ('crash' in item) this.#crashes.set(item.crash, position)
    else if (item.after.kind === 'start') this.#schedule(position, item)
    else this.#waiting.push({ position, item, seen: 0 })
  }

  /** Returns its own name or one that follows from its content: the removal of another item changes no draw of this one. */
  #freeName({ fault }: Extract<PlanItem, { fault: unknown }>): string {
    const name = fault.name ?? withContentName(fault).name!
    let free = name
    for (let copy = 2; this.#rules.has(free); copy++) free = `${name}-${copy}`
    return free
  }

  #onEntry(entry: Entry): void {
    if (this.#waiting.length === 0) return
    this.#waiting = this.#waiting.filter(waiting => {
      const { kind, subject, nth = 1 } = waiting.item.after
      if (entry.kind !== kind || (subject !== undefined && entry.subject !== subject)) return true
      waiting.seen++
      if (waiting.seen < nth) return true
      this.#schedule(waiting.position, waiting.item)
      return false
    })
  }

  #schedule(position: number, { command, after, for: duration, undo }: CommandItem): void {
    const { commands } = this.#sim.world
    const offset = after.offset === undefined ? 0 : micros(after.offset)
    const isStart = after.kind === 'start'
    try {
      // Within an event, a command has to wait for the end of the event.
      commands.schedule(command, isStart ? offset : Math.max(1, offset))
      this.fired.add(position)
      if (undo !== undefined && duration !== undefined) commands.schedule(undo, Math.max(1, offset + micros(duration)))
    } catch (error) {
      // Its target may be gone, because an earlier item has changed the world.
      if (!(error instanceof CommandError) || isStart) throw error
    }
  }
}

/** Tells whether a client can end as usual after an item. After an answer that means something else, no client can know. */
function doesPass(item: PlanItem): boolean {
  if ('crash' in item || item.passes !== undefined || 'command' in item) return 'passes' in item && item.passes === true
  const { nth, times, for: lasts } = item.fault
  return (nth ?? times ?? lasts) !== undefined && answersOf(item) !== 'another'
}

function answersOf({ fault }: Extract<PlanItem, { fault: unknown }>): FaultKind['answers'] {
  return (FAULT_KINDS[fault.fault.kind] as unknown as FaultKind).answers
}
