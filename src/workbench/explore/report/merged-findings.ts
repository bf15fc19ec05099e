/** Findings as a reader gets them: one for each cause, those that do the most harm first. */

import { stableJson } from '../../../lib/json-values.ts'
import { groupBy } from '../../../lib/lists.ts'
import { OPTIONAL_RULE_NAMES, RULE_NAMES } from '../../../simulator/judge/rules/index.ts'
import type { Plan, PlanItem } from '../plan/plan.ts'
import type { BrokenInvariant } from '../run/runner.ts'
import { toParagraph } from './finding-words.ts'
import type { FindingWords } from './item-words.ts'

type OfCause = Pick<BrokenInvariant, 'invariant' | 'signature' | 'words' | 'cause'> & { readonly plan?: Plan }

/** Rules whose violation is part of that of another rule, if one plan breaks both at one place. */
const PART_OF: Readonly<Record<string, string>> = { readsEnd: 'settles' }

/** What a merged finding needs. Its places are findings of their own, without places. */
interface Placed<Finding> extends OfCause {
  readonly why: string
  readonly story: FindingWords
  readonly also: readonly Finding[]
}

/** The invariants of a user are not among them. They come first. */
const ORDER: readonly string[] = [...RULE_NAMES, ...OPTIONAL_RULE_NAMES]

/**
 * Returns findings by cause, in their order. Findings of one invariant have one cause if its rule says so, or if the same
 * happened at one operation and only the end of the client differs. So have findings at one operation if the plan of one
 * has the faults of the other and a crash: a crash before the fault does not make another defect. A client that
 * polls for ever after the end of a thing has one cause, too, and its wait leads.
 */
export function groupByCause<Finding extends OfCause>(findings: readonly Finding[]): [Finding, ...Finding[]][] {
  const causeOf = ({ signature, cause, words }: Finding) => cause ?? `${withoutEnd(signature)} ${words}`
  const groups = groupBy(findings, finding => `${finding.invariant} ${causeOf(finding)}`)
  const wholeOf = (part: Finding) =>
    [...groups.values()].find(whole =>
      whole.some(other => other.invariant === PART_OF[part.invariant] && strikeOf(part) === strikeOf(other)),
    )
  for (const [key, group] of groups) {
    if (PART_OF[group[0]!.invariant] === undefined) continue
    const whole = group.map(wholeOf).find(one => one !== undefined)
    if (whole === undefined) continue
    whole.push(...group)
    groups.delete(key)
  }
  for (const [key, group] of groups) {
    const simpler = [...groups.values()].find(([other]) => addsCrash(group[0]!, other!))
    if (simpler === undefined) continue
    simpler.push(...group)
    groups.delete(key)
  }
  return [...groups.values()] as [Finding, ...Finding[]][]
}

/** Tells whether a finding has the rule, the operation and the faults of a simpler one, and a crash. */
function addsCrash({ signature, plan = [] }: OfCause, simpler: OfCause): boolean {
  const [faults, fewer] = [new Set(plan.map(faultOf)), new Set(simpler.plan?.map(faultOf))]
  const isOfOnePlace = withoutEnd(signature) === withoutEnd(simpler.signature) && fewer.size > 0
  return isOfOnePlace && faults.has('crash') && !fewer.has('crash') && [...fewer].every(fault => faults.has(fault))
}

function withoutEnd(signature: string): string {
  return signature.replace(/\/\w+$/, '')
}

/** Returns what an item of a plan does, without its moment and its operation, which can be any. */
function faultOf(item: PlanItem): string {
  if ('fault' in item) return stableJson(item.fault.fault)
  return 'command' in item ? item.command.verb : 'crash'
}

/** Returns the plan and the place of a finding. */
function strikeOf({ plan, signature }: OfCause): string {
  return stableJson([plan, signature.split('@')[1]])
}

/** Returns one finding for each cause: the first one that was found, with the others as its places. */
export function mergeFindings<Finding extends Placed<Finding>>(findings: readonly Finding[]): Finding[] {
  const merged = groupByCause(findings.flatMap(splitFinding)).map(([first, ...also]) => withPlaces(first, also))
  return merged.sort((one, other) => ORDER.indexOf(one.invariant) - ORDER.indexOf(other.invariant))
}

/** Returns a finding and those at its other places, each alone. */
export function splitFinding<Finding extends Placed<Finding>>(finding: Finding): Finding[] {
  return finding.also.length === 0 ? [finding] : [withPlaces(finding, []), ...finding.also]
}

function withPlaces<Finding extends Placed<Finding>>(finding: Finding, also: readonly Finding[]): Finding {
  // What a part says is in no other line: it names the status that the client did not know.
  const places = also.map(({ invariant, signature, story: { what, advice } }) =>
    PART_OF[invariant] === finding.invariant ? `${signature} (${what} ${advice})` : signature,
  )
  const story = { ...finding.story, also: places }
  return { ...finding, also, story, why: toParagraph(story) }
}
