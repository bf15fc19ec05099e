/** What a fault rule does, and by which count or draw it acts, in sentences. */

import type { FaultView } from '../faults/fault-controls.ts'
import { formatNumberOf, formatValue } from './sentence.ts'

/** Says what a fault rule is, when it acts, and how often it has acted. */
export function describeRule({ id, rule, matches, hits }: FaultView): string[] {
  const on = [rule.on].flat().map(formatValue).slice(0, 5).join(', ')
  return [
    `${formatValue(id)} is a fault rule with the fault ${formatValue(rule.fault.kind)}, on ${on}.`,
    describeTrigger(rule),
    ...describeWindow(rule),
    `It has acted on ${hits} of ${formatNumberOf(matches, 'matching request')}.`,
    ...(rule.times === undefined ? [] : [`It acts on ${Math.max(0, rule.times - hits)} more.`]),
  ]
}

/** Says in which time a rule acts, and which entry arms it. */
function describeWindow({ from, until, after }: FaultView['rule']): string[] {
  const format = (time: typeof from) => formatValue(time instanceof Date ? time.toISOString() : time)
  return [
    ...(after === undefined ? [] : [`An entry ${formatValue(after.kind)} arms it.`]),
    ...(from === undefined ? [] : [`It acts from ${format(from)} on, as its rule states.`]),
    ...(until === undefined ? [] : [`It acts until ${format(until)}, as its rule states.`]),
  ]
}

/** Says by which count or draw a rule acts. */
export function describeTrigger({ times, nth, every, chance }: FaultView['rule']): string {
  if (times === 1) return 'It acts on the first matching request.'
  if (times !== undefined) return `It acts on the first ${times} matching requests.`
  if (nth !== undefined) return `It acts on the matching request number ${nth}.`
  if (every !== undefined) return `It acts on each matching request whose number ${every} divides.`
  if (chance === undefined) return 'It acts on each matching request.'
  return `It acts if the draw fault.trigger for a matching request is below its chance of ${chance}.`
}
