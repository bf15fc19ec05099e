import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Duration } from '../../kernel/duration.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { Instances } from '../deployments/instances.ts'
import type { NodeView } from '../fleet/nodes.ts'
import type { Rentals } from '../rentals/rentals.ts'
import { type ActiveFailure, activeFailures, type FailingParts } from './active-faults.ts'
import {
  assertNodeName,
  type ClusterCommands,
  type CommandTiming,
  createClusterCommands,
  createNodeCommands,
  type NodeCommands,
  type SendCommand,
} from './command-methods.ts'
import { CommandError, type Commands } from './commands.ts'

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
  /** The node of a deployment's oldest instance that has one, or of a container. Throws when none has. */
  nodeOf(id: string): NodeControls
  nodes(): NodeView[]
  /** Returns what is wrong now, each with the command that puts it right, if there is one. */
  activeFailures(): ActiveFailure[]
  /** Puts right what is wrong now; returns what that was. Weather goes on. */
  recoverAll(): Required<ActiveFailure>[]
  /** A GPU of a node, counted from 0. `reset` throws for one that needs service: repair its node. */
  gpu(node: string, index: number): { fail(xid: number, when?: CommandTiming): void; reset(when?: CommandTiming): void }
  /** A deployment by its id. `crash`: the engine of its oldest instance exits, and with `times` those of its next starts. */
  deployment(deploy_id: string): { crash(times?: number, when?: CommandTiming): void }
  /** A hosted instance by its id. `crash`: its machine is lost. */
  hosted(instance_id: string): { crash(when?: CommandTiming): void }
  /** A batch by its id. `expire`: its completion window ends, while it is validating or in progress. */
  batch(batch_id: string): { expire(when?: CommandTiming): void }
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
  /** Sets the remaining funds in US dollars, from 0 to 40,000,000. The card is not charged. */
  readonly funds: { set(usd: number, when?: CommandTiming): void }
  readonly limit: {
    set(gpu: GpuType, limit: number | null, when?: CommandTiming): void
    approve(gpu: GpuType, when?: CommandTiming): void
    deny(gpu: GpuType, when?: CommandTiming): void
  }
  /** Rate limits per model and API token. */
  readonly rateLimit: {
    /** Sets the requests in flight; null for no limit. */
    set(requests: number | null, when?: CommandTiming): void
    /** Sets the tokens a minute; null for no limit. */
    setTokens(tokens: number | null, when?: CommandTiming): void
    approve(when?: CommandTiming): void
    deny(when?: CommandTiming): void
  }
  readonly price: { set(gpu: GpuType, centsPerHour: number, when?: CommandTiming): void }
  /** Models of the public catalog. Prices are cents per million tokens, for requests and batches that begin from then on. */
  readonly model: {
    /** The catalog shows the date at once. `after`: how long the model still answers. Default: 0. */
    deprecate(model: string, after?: Duration, when?: CommandTiming): void
    restore(model: string, when?: CommandTiming): void
    addVersion(model: string, when?: CommandTiming): void
    setInputPrice(model: string, cents: number, when?: CommandTiming): void
    setOutputPrice(model: string, cents: number, when?: CommandTiming): void
  }
  readonly account: { suspend(reason?: string, when?: CommandTiming): void; resume(when?: CommandTiming): void }
  /** A token by its id or name. */
  readonly token: {
    revoke(token: string, when?: CommandTiming): void
    restore(token: string, when?: CommandTiming): void
    allowIps(token: string, addresses: readonly string[], when?: CommandTiming): void
  }
}

/** Every command of the table is declared above: a missing one does not compile. */
type Assert<_ extends true> = never
export type CommandsAreDeclared = Assert<
  ClusterControls extends ClusterCommands ? (NodeControls extends NodeCommands ? true : false) : false
>

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
    assertNodeName(name)
    const { nodes } = world()
    const ordinal = nodes.ordinalOf(name)
    // The commands check the name, because their error suggests the nearest known name.
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
        if (kind === 'hosted') {
          throw new CommandError(
            `Failed to find a node of hosted instance '${id}': it has a machine of its own. Use cluster.hosted(id).`,
          )
        }
        const hint = state === 'creating' || state === 'starting' ? ' Advance the clock past its placement first.' : ''
        throw new CommandError(`Failed to find a node of ${kind} '${id}': it is ${state} and has no GPUs.${hint}`)
      }
      const deployment = deployments.ordinalOf(id)
      if (deployment === undefined) {
        throw new CommandError(
          `Failed to find a node of '${id}': no deployment or container has that id. Check the id.`,
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
      const failures = activeFailures(world()).flatMap(({ undo, ...failure }) => (undo ? [{ ...failure, undo }] : []))
      for (const { undo } of failures) world().commands.schedule(undo)
      return failures
    },
  }
}
