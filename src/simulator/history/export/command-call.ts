/** A command as a call of the cluster API. */

import { type CommandTiming, findCommandMethod } from '../../../simulation/operations/command-methods.ts'
import { COMMANDS, type Command } from '../../../simulation/operations/commands.ts'

/**
 * One step to a command: `[{ name: 'nodeOf', args: [id] }, { name: 'crash', args: [] }]`. Without `args` a property.
 */
export interface CommandStep {
  readonly name: string
  readonly args?: readonly unknown[]
}

/** A command to the fleet as a script writes it. */
export type CommandPath = readonly CommandStep[]

/** Returns the steps to a command from the cluster: its selector or its group, and its method. */
export function toCommandPath({ verb, target, args = {} }: Command, timing?: CommandTiming): CommandPath {
  const name = verb as keyof typeof COMMANDS
  const { owner, group, method } = findCommandMethod(name)
  const { args: declared = {} } = COMMANDS[name] as { readonly args?: object }
  // A left out argument has a place of its own before the time.
  const values = Object.keys(declared).map(argument => args[argument as keyof typeof args])
  const given = timing === undefined ? values.filter(value => value !== undefined) : [...values, timing]
  const subject = target === undefined ? [] : [target]
  if (owner === 'group') return [{ name: group }, { name: method, args: [...subject, ...given] }]
  if (owner === 'cluster') return [{ name: method, args: [...subject, ...given] }]
  const [, node, index] = /^(.*)\/(.*)$/s.exec(target ?? '') ?? [undefined, target, Number.NaN]
  return [
    { name: group, args: group === 'gpu' ? [node, Number(index)] : subject },
    { name: method, args: given },
  ]
}

/**
 * Returns the call of a command, as in `cluster.node("h100-0").crash()`.
 *
 * @param at the time from now, as in `10m`. Default: now
 */
export function toCommandCall(command: Command, at?: string): string {
  const timing = at === undefined ? undefined : { at }
  const format = (value: unknown) =>
    timing !== undefined && value === timing ? `{ at: '${at}' }` : (JSON.stringify(value) ?? 'undefined')
  const steps = toCommandPath(command, timing).map(({ name, args }) =>
    args === undefined ? name : `${name}(${args.map(format).join(', ')})`,
  )
  return ['cluster', ...steps].join('.')
}
