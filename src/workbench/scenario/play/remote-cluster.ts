/** Commands to the fleet of a world on a running server. */

import type { NodeView } from '../../../simulation/fleet/nodes.ts'
import {
  assertNodeName,
  type ClusterCommands,
  createClusterCommands,
  createNodeCommands,
  type SendCommand,
} from '../../../simulation/operations/command-methods.ts'
import type { CommandPath } from './environment.ts'
import { unknownCommandError } from './local.ts'
import type { RemoteWorld } from './remote-world.ts'

export class RemoteCluster {
  readonly #world: RemoteWorld

  constructor(world: RemoteWorld) {
    this.#world = world
  }

  /** Executes a command, or reads the state of the fleet. */
  async run(path: CommandPath): Promise<unknown> {
    const [first, second] = path
    const { name, args } = first!
    if (name === 'nodes') return this.#nodes()
    if (name === 'activeFailures') return this.#world.request('GET', '/troubles')
    if (name === 'recoverAll') return this.#world.request('POST', '/heal')
    if (name !== 'node' && name !== 'nodeOf') return this.#call(path, createClusterCommands(this.#send), path)
    if (name === 'node') assertNodeName(args?.[0])
    const node = name === 'node' ? String(args?.[0]) : await this.#nodeOfDeployment(String(args?.[0]))
    if (second?.name === 'view') return this.#viewOf(node)
    return this.#call(path, createNodeCommands(this.#send, node), path.slice(1))
  }

  readonly #send: SendCommand = (command, delay) => {
    this.#world.changeCount++
    return this.#world.request('POST', '/commands', { ...command, ...(delay > 0 && { at: `${delay}us` }) })
  }

  async #call(path: CommandPath, target: object, steps: CommandPath): Promise<void> {
    let value: unknown = target
    for (const { name, args } of steps) {
      const member = (value as Record<string, unknown>)[name]
      if (args === undefined) value = member
      else if (typeof member === 'function') value = member.apply(value, args)
      else throw unknownCommandError(path, name, commandNamesOf(value as object, target))
    }
    await value
  }

  async #nodeOfDeployment(deploy_id: string): Promise<string> {
    const { name } = await this.#world.request('GET', `/cluster/deployments/${encodeURIComponent(deploy_id)}/node`)
    return name
  }

  async #nodes(): Promise<NodeView[]> {
    return this.#world.request('GET', '/cluster/nodes')
  }

  async #viewOf(name: string): Promise<NodeView> {
    const node = (await this.#nodes()).find(node => node.name === name)
    // A command reports an unknown name, with the nearest known one.
    return node ?? this.#world.request('POST', '/commands', { verb: 'node.cordon', target: name })
  }
}

/** Returns the names that an unknown command is compared with. */
function commandNamesOf(value: object, target: ClusterCommands | object): string[] {
  const names = Object.keys(value)
  return value === target && 'hub' in target ? ['node', 'nodeOf', 'nodes', ...names] : names
}
