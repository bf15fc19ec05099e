/** What a fault rule does, and by which count or draw it acts, in sentences. */

import type { FaultView } from '../../faults/faults.ts'
import { formatValue } from './sentence.ts'

/** Says what a fault rule is, when it acts, and how often it has acted. */
export function describeRule({ id, rule, matches, hits }: FaultView): string[] {
  const on = [rule.on].flat().map(formatValue).slice(0, 5).join(', ')
  return [
    `${formatValue(id)} is a fault rule with the fault ${formatValue(rule.fault.kind)}, on ${on}.`,
    describeTrigger(rule),
    `It has acted on ${hits} of ${matches} matching requests.`,
    ...(rule.times === undefined ? [] : [`It acts on ${Math.max(0, rule.times - hits)} more.`]),
  ]
}

/** Says by which count or draw a rule acts. */
export function describeTrigger({ times, nth, every, chance }: FaultView['rule']): string {
  if (times !== undefined) return `It acts on the first ${times} matching requests.`
  if (nth !== undefined) return `It acts on the matching request number ${nth}.`
  if (every !== undefined) return `It acts on each matching request whose number ${every} divides.`
  if (chance === undefined) return 'It acts on each matching request.'
  return `It acts if the draw fault.trigger for a matching request is below its chance of ${chance}.`
}
