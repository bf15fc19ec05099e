/** The table of commands as methods of a cluster: `hub.down` is `cluster.hub.down()`, `zone.down` is `cluster.zone(name).down()`. */

import type { GpuType } from '../../data/records/gpu-config.ts'
import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import type { ArgumentKind, ArgumentOf, CommandDefinition } from './command-definition.ts'
import { COMMANDS, type Command, type CommandArguments, CommandError } from './commands.ts'

/** When a command takes effect: now, or after a while. */
export interface CommandTiming {
  /** How long from now. */
  readonly at?: Duration
}

/** Sends a command to a world in this process or elsewhere, to take effect after `delay` microseconds. */
export type SendCommand = (command: Command, delay: Micros) => unknown

/** Groups whose commands are methods of one thing that the cluster selects: `cluster.zone('a').down()`. */
const SELECTORS = ['node', 'gpu', 'deployment', 'hosted', 'batch', 'pool', 'zone'] as const
type Selector = (typeof SELECTORS)[number]

type Table = typeof COMMANDS
type Name = keyof Table
type GroupOf<N extends Name> = N extends `${infer Group}.${string}` ? Group : never
type MethodOf<N extends Name> = N extends `${string}.${infer Method}` ? Method : never

/** Where a command is: a method of what a selector returns, of a group, or of the cluster itself as `stockOut`. */
type OwnerOf<N extends Name> =
  GroupOf<N> extends Selector ? (Table[N] extends { readonly target: GroupOf<N> } ? 'selector' : 'cluster') : 'group'
type NamesOf<Owner> = { [N in Name]: OwnerOf<N> extends Owner ? N : never }[Name]
type InGroup<N extends Name, Group> = N extends `${Group & string}.${string}` ? N : never

type TargetParameter<N extends Name> =
  OwnerOf<N> extends 'selector'
    ? []
    : Table[N] extends { readonly target: infer Target }
      ? [target: Target extends 'gpuType' | 'offeredGpuType' ? GpuType : string]
      : []
/** No command has more than one argument. */
type ArgumentParameter<N extends Name> = Table[N] extends { readonly args: infer Args }
  ? Args[keyof Args] extends { readonly kind: infer Kind extends ArgumentKind; readonly optional: true }
    ? [value?: ArgumentOf<Kind>]
    : Args[keyof Args] extends { readonly kind: infer Kind extends ArgumentKind }
      ? [value: ArgumentOf<Kind>]
      : never
  : []
type Method<N extends Name> = (...args: [...TargetParameter<N>, ...ArgumentParameter<N>, when?: CommandTiming]) => void
type Methods<Names extends Name> = { readonly [N in Names as MethodOf<N>]: Method<N> }

type SelectorParameters = { readonly [S in Selector]: S extends 'gpu' ? [node: string, index: number] : [name: string] }

/** The commands of a node. */
export type NodeCommands = Methods<InGroup<NamesOf<'selector'>, 'node'>>

/** Every command of the table but those of a node. */
export type ClusterCommands = {
  readonly [S in Exclude<Selector, 'node'>]: (
    ...args: SelectorParameters[S]
  ) => Methods<InGroup<NamesOf<'selector'>, S>>
} & { readonly [G in GroupOf<NamesOf<'group'>>]: Methods<InGroup<NamesOf<'group'>, G>> } & Methods<NamesOf<'cluster'>>

interface CommandMethod {
  readonly verb: Name
  readonly owner: 'selector' | 'group' | 'cluster'
  readonly group: string
  readonly method: string
}

const METHODS: readonly CommandMethod[] = (Object.keys(COMMANDS) as Name[]).map(verb => {
  const [group, method] = verb.split('.') as [string, string]
  if (!isSelector(group)) return { verb, owner: 'group', group, method }
  const { target }: CommandDefinition = COMMANDS[verb]
  return { verb, owner: target === group ? 'selector' : 'cluster', group, method }
})
const GROUPS: ReadonlySet<string> = new Set(METHODS.filter(({ owner }) => owner === 'group').map(({ group }) => group))

/** Returns where the method of a command is. */
export function findCommandMethod(verb: Name): CommandMethod {
  return METHODS.find(method => method.verb === verb)!
}

/** Whether `cluster[name]` is a function that returns commands. */
export function isSelector(name: string): boolean {
  return (SELECTORS as readonly string[]).includes(name)
}

/** Whether `cluster[name]` is an object of commands. */
export function isCommandGroup(name: string): boolean {
  return GROUPS.has(name)
}

/** Rejects the missing name of a node, before a command is known. */
export function assertNodeName(name: unknown): asserts name is string {
  if (typeof name === 'string' && name !== '') return
  throw new CommandError("Failed to select a node: its name is missing. Give one, as in cluster.node('h100-0').")
}

/** Returns the commands of a node as methods that send them. */
export function createNodeCommands(send: SendCommand, name: string): NodeCommands {
  return selectedMethods(send, 'node', name) as NodeCommands
}

/** Returns the commands of the fleet and the account as methods that send them. */
export function createClusterCommands(send: SendCommand): ClusterCommands {
  const cluster: Record<string, unknown> = {}
  for (const group of GROUPS) cluster[group] = {}
  for (const { verb, owner, group, method } of METHODS) {
    if (owner === 'cluster') cluster[method] = createMethod(send, verb)
    else if (owner === 'group') (cluster[group] as Record<string, unknown>)[method] = createMethod(send, verb)
    else if (group !== 'node') cluster[group] ??= createSelector(send, group)
  }
  return cluster as ClusterCommands
}

function createSelector(send: SendCommand, group: string) {
  if (group === 'gpu') return (node: string, index: number) => selectedMethods(send, group, `${node}/${index}`)
  return (name: string) => selectedMethods(send, group, name)
}

function selectedMethods(send: SendCommand, group: string, target: string) {
  const commands = METHODS.filter(command => command.owner === 'selector' && command.group === group)
  return Object.fromEntries(commands.map(({ verb, method }) => [method, createMethod(send, verb, target)]))
}

/** Returns a method whose parameters are the target, unless it is selected already, the argument, and the timing. */
function createMethod(send: SendCommand, verb: Name, selected?: string) {
  const definition: CommandDefinition = COMMANDS[verb]
  const hasTargetParameter = selected === undefined && definition.target !== undefined
  const argumentNames = Object.keys(definition.args ?? {})
  return (...parameters: unknown[]): unknown => {
    const rest = [...parameters]
    const target = hasTargetParameter ? (rest.shift() as string) : selected
    const values = argumentNames.map(name => [name, rest.shift()] as const).filter(([, value]) => value !== undefined)
    const { at } = (rest[0] ?? {}) as CommandTiming
    const command: Command = {
      verb,
      ...(target !== undefined && { target }),
      ...(values.length > 0 && { args: Object.fromEntries(values) as CommandArguments }),
    }
    return send(command, at === undefined ? 0 : toDelay(verb, at))
  }
}

function toDelay(verb: string, at: Duration): Micros {
  try {
    return micros(at)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const reason = error.message.replace(/^Failed to read the duration /, '')
    throw new CommandError(`Failed to execute '${verb}': at is ${reason}`)
  }
}
