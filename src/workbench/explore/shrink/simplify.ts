/** Replaces the items of a plan by simpler ones. */

import { type Duration, formatDuration, micros } from '../../../kernel/duration.ts'
import type { Fault, FaultRule } from '../../../simulator/faults/rules.ts'
import { withoutQuery } from '../plan/coordinates.ts'
import type { CommandItem, PlanItem } from '../plan/plan.ts'
import { hitsOf } from './cut.ts'
import { happensAfterEffect, isVague, rankOfFault, SIMPLE_FAULTS } from './measure.ts'
import type { Trials } from './trials.ts'

/** Counts up to this one are tried one after the other, higher ones by bisection. */
const MAX_LINEAR_COUNT = 8
/** Durations that are tried in place of longer ones. */
const ROUND_DURATIONS: readonly Duration[] = ['1s', '10s', '1m', '10m', '1h', '1d']

type RuleItem = Extract<PlanItem, { fault: unknown }>

/** Calls `simplify` for each item, and again for those that took its place. No request shows what a rule for lines hit. */
async function forEachItem(trials: Trials, simplify: (item: PlanItem, swap: Swap) => Promise<void>): Promise<void> {
  for (const item of trials.best.plan) {
    const swap: Swap = (old, ...others) =>
      trials.accept(trials.best.plan.flatMap(one => (one === old ? others : [one])))
    const isOfLines = 'fault' in item && item.fault.in === 'batch'
    if (!isOfLines && trials.best.plan.includes(item)) await simplify(item, swap)
  }
}

/** Tries the best plan with other items in place of one. */
type Swap = (old: PlanItem, ...others: readonly PlanItem[]) => Promise<boolean>

/** Replaces chances by the requests that were hit, counts by the smallest count, and outages by the shortest one. */
export async function concretize(trials: Trials): Promise<void> {
  await forEachItem(trials, async (item, swap) => {
    if (!('fault' in item)) return
    const rule = item.fault
    if (rule.for !== undefined) await shortenOutage(item, swap)
    else if (isVague(rule)) await nameRequests(trials, item, swap)
    else if (rule.times !== undefined) await lowerCount(item, rule.times, swap)
  })
}

/** Replaces a rule that draws, or that has no count, by the requests that it hit: one of them, or all of them. */
async function nameRequests(trials: Trials, item: RuleItem, swap: Swap): Promise<void> {
  const { requests } = trials.best.result
  const { chance: _, every: __, ...rule } = item.fault
  const named = hitsOf(item, requests).map(hit => {
    const isCounted = (other: typeof hit) =>
      other.operation === hit.operation &&
      (rule.path === undefined || withoutQuery(other.path) === withoutQuery(hit.path))
    const nth = requests.filter(other => other.index <= hit.index && isCounted(other)).length
    const path = rule.path === undefined ? {} : { path: withoutQuery(hit.path) }
    return { fault: unnamed({ ...rule, ...path, on: hit.operation, nth }) }
  })
  for (const one of named.slice(0, MAX_LINEAR_COUNT)) if (await swap(item, one)) return
  const isRepeated = item.fault.chance === undefined
  const counted: RuleItem = { fault: unnamed({ ...rule, times: named.length }) }
  if (isRepeated && (await swap(item, counted))) await lowerCount(counted, named.length, swap)
  else await swap(item, ...named)
}

/** Finds the smallest count of a rule: one after the other, then by bisection. */
async function lowerCount(item: RuleItem, times: number, swap: Swap): Promise<void> {
  const withCount = (count: number): RuleItem => ({ fault: unnamed({ ...item.fault, times: count }) })
  for (let count = 1; count <= Math.min(times - 1, MAX_LINEAR_COUNT); count++) {
    if (await swap(item, withCount(count))) return
  }
  let current = item
  for (let low = MAX_LINEAR_COUNT, high = times; high - low > 1; ) {
    const middle = Math.floor((low + high) / 2)
    const next = withCount(middle)
    if (await swap(current, next)) {
      high = middle
      current = next
    } else low = middle
  }
}

async function shortenOutage(item: RuleItem, swap: Swap): Promise<void> {
  const { for: lasts, ...single } = item.fault
  if (await swap(item, { fault: unnamed(single) })) return
  for (const shorter of durationsBelow(lasts!)) {
    if (await swap(item, { fault: unnamed({ ...single, for: shorter }) })) return
  }
}

/** Replaces faults by simpler kinds. */
export async function simplifyKinds(trials: Trials): Promise<void> {
  await forEachItem(trials, async (item, swap) => {
    if (!('fault' in item)) return
    const rank = rankOfFault(item.fault.fault)
    const isRead = hitsOf(item, trials.best.result.requests).every(({ method }) => method === 'GET')
    for (const fault of SIMPLE_FAULTS) {
      // A read has no effect, so a fault after it is the fault before it.
      const isRepeated = isRead && 'effect' in fault && happensAfterEffect(fault)
      if (rankOfFault(fault) >= rank) return
      if (!isRepeated && (await swap(item, { fault: unnamed({ ...item.fault, fault }) }))) return
    }
  })
}

/** Moves commands to their anchors, and shortens every duration. */
export async function simplifyTimes(trials: Trials): Promise<void> {
  await forEachItem(trials, async (item, swap) => {
    if ('command' in item) {
      const moved = await moveToAnchor(item, swap)
      if (moved.for === undefined) return
      for (const shorter of durationsBelow(moved.for)) if (await swap(moved, { ...moved, for: shorter })) return
    } else if ('fault' in item && item.fault.fault.kind === 'latency') {
      const { delay, ...fault } = item.fault.fault
      for (const shorter of durationsBelow(delay)) {
        const faster: Fault = { ...fault, delay: shorter }
        if (await swap(item, { fault: unnamed({ ...item.fault, fault: faster }) })) return
      }
    }
  })
}

async function moveToAnchor(item: CommandItem, swap: Swap): Promise<CommandItem> {
  const { offset, ...anchor } = item.after
  if (offset === undefined) return item
  const atAnchor: CommandItem = { ...item, after: anchor }
  if (await swap(item, atAnchor)) return atAnchor
  for (const shorter of durationsBelow(offset)) {
    const earlier: CommandItem = { ...item, after: { ...anchor, offset: shorter } }
    if (await swap(item, earlier)) return earlier
  }
  return item
}

function durationsBelow(duration: Duration): Duration[] {
  return ROUND_DURATIONS.filter(one => micros(one) < micros(duration)).map(one => formatDuration(micros(one)))
}

/** Removes the name of a rule. The runner derives a name from the content, which has changed. */
function unnamed(rule: FaultRule): RuleItem['fault'] {
  const { name: _, ...rest } = rule
  return rest
}
