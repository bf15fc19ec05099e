/** The timeline of a scenario in YAML or JSON: the part that can be played beside a client. */

import { type Micros, micros } from '../../../kernel/duration.ts'
import { LIMITS } from '../../../lib/limits.ts'
import type { Command } from '../../../simulation/operations/commands.ts'
import type { FaultRule } from '../../../simulator/faults/rules.ts'
import type { TimelineAct, TimelinePlan } from '../../../simulator/timelines.ts'
import { type DocumentStep, isRule, type ScenarioData } from './schema.ts'

/** The time and the repetition of the steps around a step. */
interface StepContext {
  readonly at: Micros
  readonly repeat?: { readonly interval: Micros; readonly times: number | undefined }
}

/**
 * Returns the commands and fault rules of a scenario, each with its time after the start. `advance` adds to the times of
 * the steps after it. Steps of the client are left to the client. Steps after an `until` are skipped, because their
 * times are not known beforehand. Each skipped step is listed in `problems`.
 */
export function timelineOf({ title, steps, survival }: ScenarioData, name: string): TimelinePlan {
  if (survival !== undefined) {
    throw new RangeError(
      `Failed to start '${name}': it plays the flow ${survival.flow} and has no timeline. Play it with 'modelhost-sim run'.`,
    )
  }
  const acts: TimelineAct[] = []
  const problems: string[] = []
  const clients: string[] = []

  const skip = ({ position: place }: DocumentStep, why: string) => problems.push(`${place}: not played: ${why}.`)

  const fault = (step: DocumentStep, around: StepContext) => {
    const { fault } = step.body
    if (/\$\{/.test(JSON.stringify(fault))) skip(step, "it refers to a value saved by the scenario's own client")
    else if (isRule(fault)) rule(step, fault as FaultRule, around)
    else {
      const { verb, target, nodeOf, args, at } = fault as { nodeOf?: string; at?: string } & Command
      if (nodeOf !== undefined) return skip(step, 'nodeOf is resolved while a scenario is played; give a target')
      const command = { verb, ...(target !== undefined && { target }), ...(args !== undefined && { args }) }
      const moment = around.at + (at === undefined ? 0 : toMicros(at, step))
      acts.push({ at: moment, command, ...around.repeat })
    }
  }

  const rule = (step: DocumentStep, rule: FaultRule, { at, repeat }: StepContext) => {
    if (repeat === undefined) return acts.push({ at, rule })
    const { interval, times = Number.POSITIVE_INFINITY } = repeat
    if (times > LIMITS.ruleRepeats)
      return skip(step, `a fault rule in 'every' needs 'times', at most ${LIMITS.ruleRepeats}`)
    for (let round = 0; round < times; round++) {
      const named = rule.name === undefined || round === 0 ? {} : { name: `${rule.name}-${round + 1}` }
      acts.push({ at: at + round * interval, rule: { ...rule, ...named } })
    }
  }

  const walkNested = (step: DocumentStep, around: StepContext) => {
    for (const [when, planned] of Object.entries(step.nestedSteps)) {
      if (step.kind === 'at') {
        if (/^\d{4}-/.test(when)) skip(step, 'a virtual time may have passed; give a duration')
        else walk(planned, { ...around, at: around.at + toMicros(when, step) })
      } else if (around.repeat) skip(step, "an 'every' inside another is not supported")
      else {
        const interval = toMicros(when, step)
        const times = step.body.times as number | undefined
        walk(planned, { at: around.at + interval, repeat: { interval, times } })
      }
    }
  }

  const walk = (list: readonly DocumentStep[], around: StepContext) => {
    let { at } = around
    let until: DocumentStep | undefined
    for (const step of list) {
      const isPlayed = step.kind === 'fault' || step.kind === 'at' || step.kind === 'every'
      if (isPlayed && until) skip(step, `its time depends on the 'until' at ${until.position}`)
      else if (step.kind === 'fault') fault(step, { ...around, at })
      else if (step.kind === 'removeFault')
        skip(step, 'a timeline only adds fault rules; give the rule times, or until')
      else if (isPlayed) walkNested(step, { ...around, at })
      else if (step.kind === 'advance') at += toMicros(step.body.advance as string, step)
      else {
        clients.push(step.position)
        if (step.kind === 'until') until = step
      }
    }
  }

  walk(steps, { at: 0 })
  if (clients.length > 0) problems.push(`Left to the client: the steps at ${clients.join(', ')}.`)
  return { name, title, acts, problems }
}

function toMicros(duration: string | number, { position: place }: DocumentStep): Micros {
  try {
    return micros(duration)
  } catch (error) {
    throw new RangeError(`${place}: ${(error as Error).message}`)
  }
}
