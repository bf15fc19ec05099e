/** A command as a call of the cluster API. */

import { findCommandMethod } from '../../../simulation/operations/command-methods.ts'
import { COMMANDS, type Command } from '../../../simulation/operations/commands.ts'

/**
 * Returns the call of a command, as in `sim.cluster.node("h100-0").crash()`.
 *
 * @param cluster the source text of the cluster
 * @param at the time from now, as in `10m`. Default: now
 */
export function toCommandCall(cluster: string, { verb, target, args = {} }: Command, at?: string): string {
  const name = verb as keyof typeof COMMANDS
  const { owner, group, method } = findCommandMethod(name)
  const { args: declared = {} } = COMMANDS[name] as { readonly args?: object }
  // A left out argument has a place of its own before the time.
  const values = Object.keys(declared).map(
    argument => JSON.stringify(args[argument as keyof typeof args]) ?? 'undefined',
  )
  const given = at === undefined ? values.filter(value => value !== 'undefined') : [...values, `{ at: '${at}' }`]
  const subject = target === undefined ? [] : [JSON.stringify(target)]
  if (owner !== 'selector') {
    return `${owner === 'group' ? `${cluster}.${group}` : cluster}.${method}(${[...subject, ...given].join(', ')})`
  }
  const slash = target?.lastIndexOf('/') ?? -1
  const selected =
    group === 'gpu' && slash >= 0 ? [JSON.stringify(target!.slice(0, slash)), target!.slice(slash + 1)] : subject
  return `${cluster}.${group}(${selected.join(', ')}).${method}(${given.join(', ')})`
}
