import { type Duration, type Micros, micros } from '../kernel/duration.ts'
import type { GpuType } from '../store/records.ts'
import { type Command, CommandError } from './commands.ts'
import type { NodeView } from './nodes.ts'
import { type Trouble, troubles } from './troubles.ts'
import type { World } from './world.ts'

/** When a verb takes effect: now, or after a while. */
export interface When {
  /** How long from now. */
  readonly at?: Duration
}

/** What can happen to a node. */
export interface NodeVerbs extends NodeView {
  /** The machine dies; every instance on it is lost. */
  crash(when?: When): void
  /** It is back, with empty caches; when it is up, its GPUs that need service are replaced. */
  repair(when?: When): void
  /** It takes nothing new; what runs stays. */
  cordon(when?: When): void
  uncordon(when?: When): void
  /** It takes nothing new, and what runs on it moves elsewhere. */
  drain(when?: When): void
  /** Its GPUs are slower by a factor; nothing else shows. */
  degrade(factor: number, when?: When): void
  recover(when?: When): void
  /** A spot node is taken back after a notice. */
  preempt(notice?: Duration, when?: When): void
}

/**
 * The fleet and the account in the hands of a test: what goes wrong, and what puts it right. Verbs come in pairs, each
 * takes effect now or, with `{ at: '5m' }`, later.
 *
 * @throws CommandError for a target that does not exist, with the nearest, and for an argument that makes no sense
 * @example
 * sim.cluster.nodeOf(deploy_id).crash()
 * sim.cluster.stockOut('H100-80GB', { at: '10m' })
 */
export interface ClusterVerbs {
  /** The node of this name, as in `h100-0`. */
  node(name: string): NodeVerbs
  /** The node of a deployment's oldest instance that has one, of a hosted instance or of a container. Throws when none has. */
  nodeOf(id: string): NodeVerbs
  nodes(): NodeView[]
  /** What is wrong now, each with the command that puts it right. */
  troubles(): Trouble[]
  /** Puts right what is wrong now; returns what that was. Weather goes on. */
  heal(): Trouble[]
  /** A GPU of a node, counted from 0. `reset` throws for one that needs service: repair its node. */
  gpu(node: string, index: number): { fail(xid: number, when?: When): void; reset(when?: When): void }
  /** A deployment by its id. `crash`: the engine of its oldest instance exits, and with `times` those of its next starts. */
  deployment(deploy_id: string): { crash(times?: number, when?: When): void }
  pool(name: string): { preempt(notice?: Duration, when?: When): void }
  zone(name: string): { down(when?: When): void; up(when?: When): void }
  /** No GPU of this type is handed out any more; what runs goes on. */
  stockOut(gpu: GpuType, when?: When): void
  restock(gpu: GpuType, when?: When): void
  readonly hub: {
    down(when?: When): void
    up(when?: When): void
    /** Downloads run at this share of their rate. */
    throttle(share: number, when?: When): void
    unthrottle(when?: When): void
    gate(repo: string, when?: When): void
    open(repo: string, when?: When): void
    remove(repo: string, when?: When): void
  }
  readonly registry: { down(when?: When): void; up(when?: When): void }
  readonly disk: { fill(node: string, when?: When): void; free(node: string, when?: When): void }
  readonly autoscaler: { freeze(when?: When): void; free(when?: When): void }
  readonly provisioning: { slow(factor: number, when?: When): void; normal(when?: When): void }
  readonly card: { decline(when?: When): void; accept(when?: When): void }
  readonly topup: {
    /** Automatic top-ups come this much later. */
    delay(by: Duration, when?: When): void
    normal(when?: When): void
  }
  readonly limit: {
    set(gpu: GpuType, limit: number | null, when?: When): void
    approve(gpu: GpuType, when?: When): void
    deny(gpu: GpuType, when?: When): void
  }
  readonly price: { set(gpu: GpuType, centsPerHour: number, when?: When): void }
  readonly account: { suspend(reason?: string, when?: When): void; resume(when?: When): void }
  /** A token by its id or name. */
  readonly token: {
    revoke(token: string, when?: When): void
    restore(token: string, when?: When): void
    allowIps(token: string, addresses: readonly string[], when?: When): void
  }
}

/** Gives a command to a world, after a while in microseconds or at once: in this process, or wherever the world is. */
export type Give = (command: Command, delay: Micros) => unknown

/** What can be done to a node without looking at it. */
export type NodeCommands = Omit<NodeVerbs, keyof NodeView>
/** What can be done to the fleet and the account without looking at them. */
export type ClusterCommands = Omit<ClusterVerbs, 'node' | 'nodeOf' | 'nodes' | 'troubles' | 'heal'>

export function clusterVerbs(world: () => World): ClusterVerbs {
  const give: Give = (command, delay) => world().commands.give(command, delay)
  const nodeVerbs = (name: string): NodeVerbs => {
    const { nodes } = world()
    const ordinal = nodes.find(name)
    // Asked of the commands, which know what to say of a name that nobody has.
    if (ordinal === undefined) give({ verb: 'node.cordon', target: name }, 0)
    return { ...nodes.view(ordinal!), ...nodeCommands(give, name) }
  }

  return {
    ...clusterCommands(give),
    node: nodeVerbs,
    nodeOf(id) {
      const { deployments, instances, rentals, nodes } = world()
      const rental = rentals.ordinalOf(id)
      if (rental !== undefined) {
        const { kind, node, state } = rentals.read(rental)
        if (node >= 0) return nodeVerbs(nodes.read(node).id)
        const hint = state === 'creating' || state === 'starting' ? ' Advance the clock past its placement first.' : ''
        throw new CommandError(`Failed to find a node of ${kind} '${id}': it is ${state} and has no GPUs.${hint}`)
      }
      const deployment = deployments.ordinalOf(id)
      if (deployment === undefined) {
        throw new CommandError(
          `Failed to find a node of '${id}': no deployment, hosted instance or container has that id. Check the id.`,
        )
      }
      for (const instance of deployments.read(deployment).instances) {
        const { node } = instances.read(instance)
        if (node >= 0) return nodeVerbs(nodes.read(node).id)
      }
      throw new CommandError(
        `Failed to find a node of deployment '${id}': no instance of it has been placed. ` +
          'Advance the clock past its placement first.',
      )
    },
    nodes: () => world().nodes.list(),
    troubles: () => troubles(world()),
    heal() {
      const found = troubles(world())
      for (const { cure } of found) world().commands.give(cure)
      return found
    },
  }
}

/** The verbs of a node, each as a command that is given. */
export function nodeCommands(send: Give, name: string): NodeCommands {
  const { give, preempt } = grammar(send)
  return {
    crash: when => give({ verb: 'node.crash', target: name }, when),
    repair: when => give({ verb: 'node.repair', target: name }, when),
    cordon: when => give({ verb: 'node.cordon', target: name }, when),
    uncordon: when => give({ verb: 'node.uncordon', target: name }, when),
    drain: when => give({ verb: 'node.drain', target: name }, when),
    degrade: (factor, when) => give({ verb: 'node.degrade', target: name, args: { factor } }, when),
    recover: when => give({ verb: 'node.recover', target: name }, when),
    preempt: preempt('node.preempt', name),
  }
}

/** The verbs of the fleet and the account, each as a command that is given. */
export function clusterCommands(send: Give): ClusterCommands {
  const { give, plain, on, preempt } = grammar(send)
  return {
    gpu: (node, index) => ({
      fail: (xid, when) => give({ verb: 'gpu.fail', target: `${node}/${index}`, args: { xid } }, when),
      reset: when => give({ verb: 'gpu.reset', target: `${node}/${index}` }, when),
    }),
    deployment: deploy_id => ({
      crash: (times, when) =>
        give({ verb: 'deployment.crash', target: deploy_id, ...(times !== undefined && { args: { times } }) }, when),
    }),
    pool: name => ({ preempt: preempt('pool.preempt', name) }),
    zone: name => ({
      down: when => give({ verb: 'zone.down', target: name }, when),
      up: when => give({ verb: 'zone.up', target: name }, when),
    }),
    stockOut: on('pool.stockOut'),
    restock: on('pool.restock'),
    hub: {
      down: plain('hub.down'),
      up: plain('hub.up'),
      throttle: (share, when) => give({ verb: 'hub.throttle', args: { share } }, when),
      unthrottle: plain('hub.unthrottle'),
      gate: on('hub.gate'),
      open: on('hub.open'),
      remove: on('hub.remove'),
    },
    registry: { down: plain('registry.down'), up: plain('registry.up') },
    disk: { fill: on('disk.fill'), free: on('disk.free') },
    autoscaler: { freeze: plain('autoscaler.freeze'), free: plain('autoscaler.free') },
    provisioning: {
      slow: (factor, when) => give({ verb: 'provisioning.slow', args: { factor } }, when),
      normal: plain('provisioning.normal'),
    },
    card: { decline: plain('card.decline'), accept: plain('card.accept') },
    topup: { delay: (by, when) => give({ verb: 'topup.delay', args: { by } }, when), normal: plain('topup.normal') },
    limit: {
      set: (gpu, limit, when) => give({ verb: 'limit.set', target: gpu, args: { limit } }, when),
      approve: on('limit.approve'),
      deny: on('limit.deny'),
    },
    price: { set: (gpu, cents, when) => give({ verb: 'price.set', target: gpu, args: { cents } }, when) },
    account: {
      suspend: (reason, when) =>
        give({ verb: 'account.suspend', ...(reason !== undefined && { args: { reason } }) }, when),
      resume: plain('account.resume'),
    },
    token: {
      revoke: on('token.revoke'),
      restore: on('token.restore'),
      allowIps: (token, addresses, when) => give({ verb: 'token.allowIps', target: token, args: { addresses } }, when),
    },
  }
}

function delayOf({ verb }: Command, at: Duration): Micros {
  try {
    return micros(at)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const reason = error.message.replace(/^Failed to read the duration /, '')
    throw new CommandError(`Failed to obey '${verb}': at is ${reason}`)
  }
}

function grammar(send: Give) {
  const give = (command: Command, when: When = {}) =>
    send(command, when.at === undefined ? 0 : delayOf(command, when.at))
  return {
    give,
    plain: (verb: string) => (when?: When) => give({ verb }, when),
    on: (verb: string) => (target: string, when?: When) => give({ verb, target }, when),
    preempt: (verb: string, target: string) => (notice?: Duration, when?: When) =>
      give({ verb, target, ...(notice !== undefined && { args: { notice } }) }, when),
  }
}
