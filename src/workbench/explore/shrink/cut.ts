/** Removes items from a plan. */

import { globOf } from '../../../lib/patterns.ts'
import type { CommandDefinition } from '../../../simulation/operations/command-definition.ts'
import { COMMANDS } from '../../../simulation/operations/commands.ts'
import type { Plan, PlanItem } from '../plan/plan.ts'
import { nameOfRule } from './measure.ts'
import type { Trials } from './trials.ts'

/** Keeps only the items that changed something. */
export async function cutUnfired(trials: Trials): Promise<void> {
  const { plan, result } = trials.best
  const fired = plan.filter((_, i) => result.fired.has(i))
  if (fired.length < plan.length) await trials.accept(fired)
}

/** Keeps only the items in the chain of causes of the violation, or at least only those before its last cause. */
export async function cutByLineage(trials: Trials, signature: string): Promise<void> {
  const { plan, result } = trials.best
  const causes = result.lineage.get(signature) ?? new Set<number>()
  if (causes.size === 0) return
  if (causes.size < plan.length && (await trials.accept(plan.filter((_, i) => causes.has(i))))) return
  // An item that is not a cause by itself can still prepare one. It then strikes before the last cause.
  const strikes = plan.map((item, i) => firstStrike(item, result.requests, i, result.fired))
  const last = Math.max(...[...causes].map(i => strikes[i]!))
  const early = plan.filter((_, i) => causes.has(i) || strikes[i]! <= last)
  if (early.length < plan.length) await trials.accept(early)
}

type Requests = Trials['best']['result']['requests']

/** Returns the first request that an item changed. Unknown for commands, which count as early. */
function firstStrike(item: PlanItem, requests: Requests, position: number, fired: ReadonlySet<number>): number {
  if (!fired.has(position)) return Number.POSITIVE_INFINITY
  if ('crash' in item) return item.crash
  if ('command' in item) return 0
  return hitsOf(item, requests)[0]?.index ?? 0
}

/** Returns the requests whose answers an item changed. */
export function hitsOf({ fault: rule }: Extract<PlanItem, { fault: unknown }>, requests: Requests): Requests {
  // A line of a batch has no request.
  if (rule.in === 'batch') return []
  const faulty = requests.filter(({ fault }) => fault !== undefined)
  const name = nameOfRule(rule)
  const byName = faulty.filter(({ fault }) => fault!.rule === name)
  if (byName.length > 0) return byName
  const patterns = [rule.on].flat().map(globOf)
  return faulty.filter(
    ({ fault, operation }) => fault!.kind === rule.fault.kind && patterns.some(matches => matches(operation)),
  )
}

/** The assumed chance that an item is necessary, before the first round. */
const FIRST_CHANCE = 0.1
/** The factor of that chance from round to round. */
const CHANCE_GROWTH = 1 / (1 - Math.exp(-1))

/**
 * Returns the number of items that are removed together in a round of counter-based delta debugging
 * (arXiv 2408.04735): the size with the highest expected reduction, if each item is necessary with the same chance.
 */
export function subsetSize(round: number): number {
  const chance = FIRST_CHANCE * CHANCE_GROWTH ** round
  return chance >= 1 ? 1 : Math.max(1, Math.round(-1 / Math.log(1 - chance)))
}

/** Removes subsets of groups in rounds, each with smaller subsets than the one before, down to single groups. */
export async function cutSubsets(trials: Trials): Promise<void> {
  let groups = groupItems(trials.best.plan)
  for (let round = 0, size = Number.POSITIVE_INFINITY; size > 1; round++) {
    const next = subsetSize(round)
    // Rounds with the same size would repeat the same trials.
    if (next === size) continue
    size = next
    // From the end: the removal of a late item leaves the coordinates of early ones unchanged.
    for (let end = groups.length; end > 0; end -= size) {
      const rest = groups.filter((_, i) => i < end - size || i >= end)
      if (await trials.accept(rest.flat())) groups = rest
    }
  }
}

/** Removes single items until each one is necessary. */
export async function cutSingles(trials: Trials): Promise<void> {
  for (let isCut = true; isCut; ) {
    isCut = false
    for (const item of trials.best.plan.toReversed()) {
      const rest = trials.best.plan.filter(other => other !== item)
      isCut = (await trials.accept(rest)) || isCut
    }
  }
}

/** Groups items that belong together: a command and the command that ends its failure. */
export function groupItems(plan: Plan): PlanItem[][] {
  const groups: PlanItem[][] = []
  for (const item of plan) {
    const partner = groups.find(([first]) => first !== undefined && (undoes(item, first) || undoes(first, item)))
    if (partner === undefined) groups.push([item])
    else partner.push(item)
  }
  return groups
}

function undoes(item: PlanItem, other: PlanItem): boolean {
  if (!('command' in item && 'command' in other) || item.command.target !== other.command.target) return false
  const { verb } = other.command
  if (!Object.hasOwn(COMMANDS, verb)) return false
  const { undo }: CommandDefinition = COMMANDS[verb as keyof typeof COMMANDS]
  return undo === item.command.verb
}
