/** Why a deployment has fewer ready instances than it wants: the one cause that decides. */

import type { Entry } from '../../kernel/journal.ts'
import { countAlive, type DeploymentRow } from '../../simulation/deployments/deployment-row.ts'
import { INSTANCE_STATES, type InstanceRow, type InstanceState } from '../../simulation/deployments/instance-row.ts'
import { bitCount, freeGpus, type NodeRow } from '../../simulation/fleet/node-row.ts'
import type { World } from '../../simulation/world.ts'
import { formatNumberOf, formatValue } from './sentence.ts'

/** What a deployment can wait for. */
export const WAIT_CAUSES = [
  ...(['no_such_node', 'stock_out', 'zone_down', 'node_down', 'node_closed', 'gpus_broken'] as const),
  ...(['other_customers', 'no_free_gpus', 'placement', 'quota', 'suspension', 'autoscaler_frozen'] as const),
  ...(['hub_down', 'hub_slow', 'registry_down', 'starting'] as const),
] as const
export type WaitCause = (typeof WAIT_CAUSES)[number]

/** The cause of a wait. */
export interface Wait {
  readonly cause: WaitCause
  /** The words after "because". */
  readonly clause: string
  /** Tells whether a journal entry began this cause. Missing if no entry does. */
  readonly began?: (entry: Entry) => boolean
}

/** What an instance does in each state. */
export const INSTANCE_WORDS: Readonly<Record<InstanceState, string>> = {
  pending: 'waits for GPUs',
  placed: 'has GPUs, and has not begun to start',
  pulling: 'gets its image and its weights',
  loading: 'loads its weights to the GPUs',
  warming: 'starts its engine',
  ready: 'is ready, and serves requests',
  draining: 'takes no new requests, and ends soon',
}

const CLOSES_NODE = /^node\.(?:cordoned|drained|preemptionNoticed)$/
const TAKES_NODE_DOWN = /^node\.(?:crashed|lost|preempted)$/
/** The most nodes that a clause names. */
const MAX_NAMED = 3

/** Returns why a deployment has fewer ready instances than it wants; undefined if it has as many. */
export function waitOf(world: World, row: Readonly<DeploymentRow>): Wait | undefined {
  if (row.ready - row.leaving >= row.desired) return undefined
  const starting = row.instances.map(ordinal => world.instances.read(ordinal)).filter(({ state }) => isOnItsWay(state))
  // Without a ready instance, the one that is nearest to ready decides. Otherwise, what is missing does.
  if (row.ready > 0 || starting.length === 0) {
    const missing = waitOfMissing(world, row)
    if (missing !== undefined) return missing
  }
  const order = (instance: Readonly<InstanceRow>) => INSTANCE_STATES.indexOf(instance.state)
  const [nearest] = starting.sort((a, b) => order(b) - order(a) || a.since - b.since)
  return nearest === undefined ? undefined : waitOfInstance(world, nearest)
}

function isOnItsWay(state: InstanceState): boolean {
  return state !== 'ready' && state !== 'draining'
}

/** Returns why an instance is not ready; undefined if it is, or if it ends. */
export function waitOfInstance(world: World, instance: Readonly<InstanceRow>): Wait | undefined {
  if (!isOnItsWay(instance.state)) return undefined
  const row = world.deployments.read(instance.deployment)
  if (instance.state === 'pending') return waitForGpus(world, row)
  const { environment, nodes } = world
  if (environment.registryDown && isWithoutImage(instance, row, nodes.read(instance.node))) {
    const clause = 'the image registry does not answer, so its image does not arrive'
    return { cause: 'registry_down', clause, began: ({ kind }) => kind === 'registry.down' }
  }
  if (instance.ownRate > 0 && environment.hubDown) {
    const clause = 'the model hub does not answer, so its weights do not arrive'
    return { cause: 'hub_down', clause, began: ({ kind }) => kind === 'hub.down' }
  }
  if (instance.ownRate > 0 && environment.hubShare < 1) {
    const percent = Math.round(environment.hubShare * 1000) / 10
    const clause = `downloads from the model hub have ${percent} percent of their speed`
    return { cause: 'hub_slow', clause, began: ({ kind }) => kind === 'hub.throttled' }
  }
  return {
    cause: 'starting',
    clause: `its instance ${formatValue(instance.id)} still starts: it ${INSTANCE_WORDS[instance.state]}`,
  }
}

/** Whether an instance waits for an image that no pull brings. */
function isWithoutImage(
  { state, timeline }: Readonly<InstanceRow>,
  { plan }: Readonly<DeploymentRow>,
  { pulls }: Readonly<NodeRow>,
): boolean {
  const isUnderWay = pulls.some(({ image }) => image === plan.containerImage)
  return state === 'pulling' && timeline.pulled < 0 && !isUnderWay
}

/** Returns why instances of a deployment were not requested; undefined if all of them were. */
export function waitOfMissing(world: World, row: Readonly<DeploymentRow>): Wait | undefined {
  if (countAlive(row) >= row.desired) return undefined
  const { environment, gpuQuotas, ledger } = world
  if (environment.autoscalerFrozen) {
    const clause = 'the autoscaler is frozen, so no instance is requested'
    return { cause: 'autoscaler_frozen', clause, began: ({ kind }) => kind === 'autoscaler.frozen' }
  }
  if (ledger.suspensionReason !== undefined) {
    const clause = `the account is suspended (${formatValue(ledger.suspensionReason)}), so nothing new starts`
    return { cause: 'suspension', clause, began: ({ kind }) => kind === 'account.suspended' }
  }
  const { gpu, numGpus } = row
  if (gpuQuotas.hasRoom(gpu, numGpus)) return undefined
  const clause =
    `the quota of the account is ${formatNumberOf(gpuQuotas.get(gpu), 'GPU')} of the type ${gpu}. ` +
    `It holds ${gpuQuotas.held(gpu)} of them, and an instance needs ${numGpus}`
  const began = ({ kind, fields }: Entry) => /^limit\.(?:set|approved)$/.test(kind) && fields?.gpu === gpu
  return { cause: 'quota', clause, began }
}

/** Returns why an instance of a deployment has no GPUs yet. */
export function waitForGpus(world: World, { gpu, numGpus }: Readonly<DeploymentRow>): Wait {
  const { environment, nodes } = world
  if (nodes.maxGpusPerNode(gpu) < numGpus) {
    const clause = `no node of the fleet can have ${formatNumberOf(numGpus, 'GPU')} of the type ${gpu}`
    return { cause: 'no_such_node', clause }
  }
  if (environment.isStockedOut(gpu)) {
    const began = ({ kind, fields }: Entry) => kind === 'pool.stockedOut' && fields?.gpu === gpu
    return { cause: 'stock_out', clause: `GPUs of the type ${gpu} are out of stock`, began }
  }
  return waitForRoom(world, gpu, numGpus)
}

/** What has to change on a node so that it has room: the first that is true decides. */
const OBSTACLES = ['zone_down', 'node_down', 'node_closed', 'gpus_broken', 'other_customers'] as const
type Obstacle = (typeof OBSTACLES)[number]

/** Returns what keeps a node from taking so many GPUs more; undefined if the account itself has them. */
function obstacleOf(row: Readonly<NodeRow>, gpus: number): Obstacle | undefined {
  const { state, group, allocated, broken, heldByOthers, downWithZone } = row
  const has = (taken: number) => group.gpus - bitCount(taken) >= gpus
  const others = group.occupied | heldByOthers
  if (state !== 'ready') {
    if (!has(allocated | others | broken)) return undefined
    if (state === 'cordoned') return 'node_closed'
    return state === 'down' ? (downWithZone ? 'zone_down' : 'node_down') : undefined
  }
  if (has(allocated | others)) return 'gpus_broken'
  return has(allocated | broken) ? 'other_customers' : undefined
}

/** Returns why no node takes an instance: because of its state, because its GPUs are held, or because it is about to. */
function waitForRoom({ nodes }: World, gpu: string, gpus: number): Wait {
  const found = new Map<Obstacle, Readonly<NodeRow>[]>()
  for (const [, row] of nodes.entries()) {
    if (row.group.gpu !== gpu) continue
    if (freeGpus(row) >= gpus) {
      return { cause: 'placement', clause: 'a node has room, and its new instance is not placed on it yet' }
    }
    const obstacle = obstacleOf(row, gpus)
    if (obstacle !== undefined) found.set(obstacle, [...(found.get(obstacle) ?? []), row])
  }
  const obstacle = OBSTACLES.find(one => found.has(one))
  if (obstacle === undefined) {
    const clause = `no node has ${formatNumberOf(gpus, 'free GPU')} of the type ${gpu}, and the account holds the others`
    return { cause: 'no_free_gpus', clause }
  }
  const rows = found.get(obstacle)!
  const names = new Set(rows.map(({ id }) => id))
  const isNode = ({ subject }: Entry) => names.has(subject)
  const words = nameNodes([...names])
  switch (obstacle) {
    case 'zone_down': {
      const zones = new Set(rows.map(({ group }) => group.zone))
      const clause = `the zone ${[...zones].slice(0, MAX_NAMED).map(formatValue).join(', ')} is down, and no node that is left has room`
      const began = ({ kind, fields }: Entry) => kind === 'zone.down' && zones.has(String(fields?.zone))
      return { cause: obstacle, clause, began }
    }
    case 'node_down': {
      const clause = `${words} down, and no other node has room`
      return { cause: obstacle, clause, began: entry => isNode(entry) && TAKES_NODE_DOWN.test(entry.kind) }
    }
    case 'node_closed': {
      const clause = `${words} cordoned, and no other node has room`
      return { cause: obstacle, clause, began: entry => isNode(entry) && CLOSES_NODE.test(entry.kind) }
    }
    case 'gpus_broken': {
      const clause = `${words} short of GPUs that work, and no other node has room`
      return { cause: obstacle, clause, began: entry => isNode(entry) && entry.kind === 'gpu.failed' }
    }
    case 'other_customers': {
      const clause = `other customers hold the GPUs of the type ${gpu} that it needs`
      const began = ({ kind, fields }: Entry) => kind === 'pool.soldOut' && fields?.gpu === gpu
      return { cause: obstacle, clause, began }
    }
  }
}

/** Names nodes with their verb: `the node a is`, `the nodes a, b, c and 4 others are`. */
function nameNodes(names: readonly string[]): string {
  if (names.length === 1) return `the node ${formatValue(names[0])} is`
  const rest = names.length - MAX_NAMED
  const named = names.slice(0, MAX_NAMED).map(formatValue).join(', ')
  return `the nodes ${named}${rest > 0 ? ` and ${formatNumberOf(rest, 'other')}` : ''} are`
}
