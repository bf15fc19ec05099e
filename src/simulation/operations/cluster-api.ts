import { GPU_TYPES, type GpuType } from '../../data/records/gpu-config.ts'
import type { Duration } from '../../kernel/duration.ts'
import type { ApiTokens } from '../account/access/api-tokens.ts'
import type { Ledger } from '../account/ledger.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { Instances } from '../deployments/instances.ts'
import type { Environment } from '../fleet/environment.ts'
import type { Nodes, NodeView } from '../fleet/nodes.ts'
import type { Rentals } from '../rentals/rentals.ts'
import {
  assertNodeName,
  type ClusterCommands,
  type CommandTiming,
  createClusterCommands,
  createNodeCommands,
  type NodeCommands,
  type SendCommand,
} from './command-methods.ts'
import { type Command, CommandError, type Commands } from './commands.ts'

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
  deployment(deploy_id: string): {
    crash(times?: number, when?: CommandTiming): void
    stop(when?: CommandTiming): void
    delete(when?: CommandTiming): void
    fail(when?: CommandTiming): void
  }
  /** A hosted instance by its id. `crash`: its machine is lost. */
  hosted(instance_id: string): { crash(when?: CommandTiming): void }
  /** A batch by its id, while it is validating or in progress. `expire`: its completion window ends. */
  batch(batch_id: string): {
    expire(when?: CommandTiming): void
    cancel(when?: CommandTiming): void
    fail(when?: CommandTiming): void
    /** No further line is done. */
    stall(when?: CommandTiming): void
  }
  readonly file: { delete(file_id: string, when?: CommandTiming): void }
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
  /** Sets the remaining funds in US dollars, from 0 to 40,000,000. A top-up may follow when time moves next. */
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
export interface ClusterParts {
  readonly environment: Environment
  readonly ledger: Ledger
  readonly nodes: Nodes
  readonly apiTokens: ApiTokens
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
      const problem = (of: string, reason: string) => new CommandError(`Failed to find a node of ${of}: ${reason}`)
      const advice = 'Advance the clock past its placement first.'
      const rental = rentals.findById(id)
      if (rental !== undefined) {
        const { kind, node, state } = rental
        if (node >= 0) return nodeControls(nodes.read(node).id)
        if (kind === 'hosted') {
          throw problem(`hosted instance '${id}'`, 'it has a machine of its own. Use cluster.hosted(id).')
        }
        const hint = state === 'creating' || state === 'starting' ? ` ${advice}` : ''
        throw problem(`${kind} '${id}'`, `it is ${state} and has no GPUs.${hint}`)
      }
      const deployment = deployments.findById(id)
      if (deployment === undefined) throw problem(`'${id}'`, 'no deployment or container has that id. Check the id.')
      for (const instance of deployment.instances) {
        const { node } = instances.read(instance)
        if (node >= 0) return nodeControls(nodes.read(node).id)
      }
      throw problem(`deployment '${id}'`, `no instance of it has been placed. ${advice}`)
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

/** Something that is wrong with a world, and the command that puts it right. */
interface ActiveFailure {
  /** As in `node h100-0 is down`. */
  readonly description: string
  /** Missing if the fleet has no node for the GPUs of a deployment: no command adds a GPU type. */
  readonly undo?: Command
}

/**
 * Returns everything that is wrong now and that a command can put right, the fleet first. Last come deployments whose
 * instances wait for GPUs that no node can have. A lack of funds and the notice of a preemption are left out.
 */
function activeFailures(world: ClusterParts): ActiveFailure[] {
  const failures: ActiveFailure[] = []
  const add = (description: string, verb: string, target?: string) =>
    failures.push({ description, undo: target === undefined ? { verb } : { verb, target } })
  const { environment, ledger, nodes, apiTokens } = world

  const zones = new Set<string>()
  for (const [, row] of nodes.entries()) {
    const { id, state, group, broken } = row
    if (state === 'down' && row.downWithZone) zones.add(group.zone)
    else if (state === 'down') add(`node ${id} is down`, 'node.repair', id)
    // A node that is being taken back has an end planned; to uncordon it would only lure instances onto it.
    else if (state === 'cordoned' && row.next === 0) add(`node ${id} is cordoned`, 'node.uncordon', id)
    if (row.slowdown !== 1 && state !== 'down') add(`node ${id} is slow`, 'node.recover', id)
    if (row.diskFull && state !== 'down') add(`the disk of ${id} is full`, 'disk.free', id)
    for (let gpu = 0; gpu < group.gpus; gpu++) {
      if (!(broken & (1 << gpu)) || state === 'down') continue
      if (row.needService & (1 << gpu)) add(`GPU ${gpu} of ${id} needs service`, 'node.repair', id)
      else add(`GPU ${gpu} of ${id} is broken`, 'gpu.reset', `${id}/${gpu}`)
    }
  }
  for (const zone of [...zones].sort()) add(`zone ${zone} is down`, 'zone.up', zone)
  for (const gpu of GPU_TYPES) if (environment.isStockedOut(gpu)) add(`${gpu} is out of stock`, 'pool.restock', gpu)
  if (environment.state.hubDown) add('the hub is down', 'hub.up')
  if (environment.state.hubShare < 1) add('the hub is slow', 'hub.unthrottle')
  for (const [repo, state] of environment.state.repositoryStates) {
    if (state !== 'open') add(`repository ${repo} is ${state}`, 'hub.open', repo)
  }
  if (environment.state.registryDown) add('the image registry is down', 'registry.up')
  if (environment.state.autoscalerFrozen) add('the autoscaler is frozen', 'autoscaler.free')
  if (environment.state.provisioningFactor !== 1) add('provisioning is slow', 'provisioning.normal')
  if (!ledger.topups.isCardAccepted) add('the card is declined', 'card.accept')
  if (ledger.suspension.isImposed) {
    add(`the account is suspended (${ledger.suspensionReason})`, 'account.resume')
  }
  for (const id of apiTokens.revokedIds) add(`token ${id} is revoked`, 'token.restore', id)
  for (const [, { id, plan, gpu, numGpus, instances }] of world.deployments.entries()) {
    if (instances.length === 0 || nodes.maxGpusPerNode(gpu) >= numGpus) continue
    failures.push({
      description: `deployment ${id} (${plan.modelName}) waits for ${numGpus}x${gpu}, which no node can have`,
    })
  }
  return failures
}
