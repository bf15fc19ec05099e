import type { GpuType } from '../../data/records/records.ts'
import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { Instances } from '../deployments/instances.ts'
import type { NodeView } from '../fleet/nodes.ts'
import type { Rentals } from '../rentals/rentals.ts'
import { type ActiveFailure, activeFailures, type FailingParts } from './active-faults.ts'
import { type Command, CommandError, type Commands } from './commands.ts'

/** When a verb takes effect: now, or after a while. */
export interface CommandTiming {
  /** How long from now. */
  readonly at?: Duration
}

/** What can happen to a node. */
export interface NodeControls extends NodeView {
  /** The machine dies; every instance on it is lost. */
  crash(when?: CommandTiming): void
  /** It is back, with empty caches; when it is up, its GPUs that need service are replaced. */
  repair(when?: CommandTiming): void
  /** It takes nothing new; what runs stays. */
  cordon(when?: CommandTiming): void
  uncordon(when?: CommandTiming): void
  /** It takes nothing new, and what runs on it moves elsewhere. */
  drain(when?: CommandTiming): void
  /** Its GPUs are slower by a factor; nothing else shows. */
  degrade(factor: number, when?: CommandTiming): void
  recover(when?: CommandTiming): void
  /** A spot node is taken back after a notice. */
  preempt(notice?: Duration, when?: CommandTiming): void
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
export interface ClusterControls {
  /** The node of this name, as in `h100-0`. */
  node(name: string): NodeControls
  /** The node of a deployment's oldest instance that has one, of a hosted instance or of a container. Throws when none has. */
  nodeOf(id: string): NodeControls
  nodes(): NodeView[]
  /** What is wrong now, each with the command that puts it right. */
  activeFailures(): ActiveFailure[]
  /** Puts right what is wrong now; returns what that was. Weather goes on. */
  recoverAll(): ActiveFailure[]
  /** A GPU of a node, counted from 0. `reset` throws for one that needs service: repair its node. */
  gpu(node: string, index: number): { fail(xid: number, when?: CommandTiming): void; reset(when?: CommandTiming): void }
  /** A deployment by its id. `crash`: the engine of its oldest instance exits, and with `times` those of its next starts. */
  deployment(deploy_id: string): { crash(times?: number, when?: CommandTiming): void }
  pool(name: string): { preempt(notice?: Duration, when?: CommandTiming): void }
  zone(name: string): { down(when?: CommandTiming): void; up(when?: CommandTiming): void }
  /** No GPU of this type is handed out any more; what runs goes on. */
  stockOut(gpu: GpuType, when?: CommandTiming): void
  restock(gpu: GpuType, when?: CommandTiming): void
  readonly hub: {
    down(when?: CommandTiming): void
    up(when?: CommandTiming): void
    /** Downloads run at this share of their rate. */
    throttle(share: number, when?: CommandTiming): void
    unthrottle(when?: CommandTiming): void
    gate(repo: string, when?: CommandTiming): void
    open(repo: string, when?: CommandTiming): void
    remove(repo: string, when?: CommandTiming): void
  }
  readonly registry: { down(when?: CommandTiming): void; up(when?: CommandTiming): void }
  readonly disk: { fill(node: string, when?: CommandTiming): void; free(node: string, when?: CommandTiming): void }
  readonly autoscaler: { freeze(when?: CommandTiming): void; free(when?: CommandTiming): void }
  readonly provisioning: { slow(factor: number, when?: CommandTiming): void; normal(when?: CommandTiming): void }
  readonly card: { decline(when?: CommandTiming): void; accept(when?: CommandTiming): void }
  readonly topup: {
    /** Automatic top-ups come this much later. */
    delay(by: Duration, when?: CommandTiming): void
    normal(when?: CommandTiming): void
  }
  readonly limit: {
    set(gpu: GpuType, limit: number | null, when?: CommandTiming): void
    approve(gpu: GpuType, when?: CommandTiming): void
    deny(gpu: GpuType, when?: CommandTiming): void
  }
  readonly price: { set(gpu: GpuType, centsPerHour: number, when?: CommandTiming): void }
  readonly account: { suspend(reason?: string, when?: CommandTiming): void; resume(when?: CommandTiming): void }
  /** A token by its id or name. */
  readonly token: {
    revoke(token: string, when?: CommandTiming): void
    restore(token: string, when?: CommandTiming): void
    allowIps(token: string, addresses: readonly string[], when?: CommandTiming): void
  }
}

/** Gives a command to a world, after a while in microseconds or at once: in this process, or wherever the world is. */
export type SendCommand = (command: Command, delay: Micros) => unknown

/** What can be done to a node without looking at it. */
export type NodeCommands = Omit<NodeControls, keyof NodeView>
/** What can be done to the fleet and the account without looking at them. */
export type ClusterCommands = Omit<ClusterControls, 'node' | 'nodeOf' | 'nodes' | 'activeFailures' | 'recoverAll'>

/** The parts that the controls read and command. */
export interface ClusterParts extends FailingParts {
  readonly commands: Commands
  readonly deployments: Deployments
  readonly instances: Instances
  readonly rentals: Rentals
}

export function createClusterControls(world: () => ClusterParts): ClusterControls {
  const send: SendCommand = (command, delay) => world().commands.schedule(command, delay)
  const nodeControls = (name: string): NodeControls => {
    const { nodes } = world()
    const ordinal = nodes.ordinalOf(name)
    // Asked of the commands, which know what to say of a name that nobody has.
    if (ordinal === undefined) send({ verb: 'node.cordon', target: name }, 0)
    return { ...nodes.view(ordinal!), ...createNodeCommands(send, name) }
  }

  return {
    ...createClusterCommands(send),
    node: nodeControls,
    nodeOf(id) {
      const { deployments, instances, rentals, nodes } = world()
      const rental = rentals.ordinalOf(id)
      if (rental !== undefined) {
        const { kind, node, state } = rentals.read(rental)
        if (node >= 0) return nodeControls(nodes.read(node).id)
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
        if (node >= 0) return nodeControls(nodes.read(node).id)
      }
      throw new CommandError(
        `Failed to find a node of deployment '${id}': no instance of it has been placed. ` +
          'Advance the clock past its placement first.',
      )
    },
    nodes: () => world().nodes.list(),
    activeFailures: () => activeFailures(world()),
    recoverAll() {
      const failures = activeFailures(world())
      for (const { undo } of failures) world().commands.schedule(undo)
      return failures
    },
  }
}

/** The verbs of a node, each as a command that is given. */
export function createNodeCommands(send: SendCommand, name: string): NodeCommands {
  const { give, preempt } = createCommandBuilders(send)
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
export function createClusterCommands(send: SendCommand): ClusterCommands {
  const { give, withoutTarget, withTarget, preempt } = createCommandBuilders(send)
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
    stockOut: withTarget('pool.stockOut'),
    restock: withTarget('pool.restock'),
    hub: {
      down: withoutTarget('hub.down'),
      up: withoutTarget('hub.up'),
      throttle: (share, when) => give({ verb: 'hub.throttle', args: { share } }, when),
      unthrottle: withoutTarget('hub.unthrottle'),
      gate: withTarget('hub.gate'),
      open: withTarget('hub.open'),
      remove: withTarget('hub.remove'),
    },
    registry: { down: withoutTarget('registry.down'), up: withoutTarget('registry.up') },
    disk: { fill: withTarget('disk.fill'), free: withTarget('disk.free') },
    autoscaler: { freeze: withoutTarget('autoscaler.freeze'), free: withoutTarget('autoscaler.free') },
    provisioning: {
      slow: (factor, when) => give({ verb: 'provisioning.slow', args: { factor } }, when),
      normal: withoutTarget('provisioning.normal'),
    },
    card: { decline: withoutTarget('card.decline'), accept: withoutTarget('card.accept') },
    topup: {
      delay: (by, when) => give({ verb: 'topup.delay', args: { by } }, when),
      normal: withoutTarget('topup.normal'),
    },
    limit: {
      set: (gpu, limit, when) => give({ verb: 'limit.set', target: gpu, args: { limit } }, when),
      approve: withTarget('limit.approve'),
      deny: withTarget('limit.deny'),
    },
    price: { set: (gpu, cents, when) => give({ verb: 'price.set', target: gpu, args: { cents } }, when) },
    account: {
      suspend: (reason, when) =>
        give({ verb: 'account.suspend', ...(reason !== undefined && { args: { reason } }) }, when),
      resume: withoutTarget('account.resume'),
    },
    token: {
      revoke: withTarget('token.revoke'),
      restore: withTarget('token.restore'),
      allowIps: (token, addresses, when) => give({ verb: 'token.allowIps', target: token, args: { addresses } }, when),
    },
  }
}

function toDelay({ verb }: Command, at: Duration): Micros {
  try {
    return micros(at)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const reason = error.message.replace(/^Failed to read the duration /, '')
    throw new CommandError(`Failed to obey '${verb}': at is ${reason}`)
  }
}

function createCommandBuilders(send: SendCommand) {
  const sendWithTiming = (command: Command, when: CommandTiming = {}) =>
    send(command, when.at === undefined ? 0 : toDelay(command, when.at))
  return {
    give: sendWithTiming,
    withoutTarget: (verb: string) => (when?: CommandTiming) => sendWithTiming({ verb }, when),
    withTarget: (verb: string) => (target: string, when?: CommandTiming) => sendWithTiming({ verb, target }, when),
    preempt: (verb: string, target: string) => (notice?: Duration, when?: CommandTiming) =>
      sendWithTiming({ verb, target, ...(notice !== undefined && { args: { notice } }) }, when),
  }
}
