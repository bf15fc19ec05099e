/**
 * Why a deployment has fewer ready instances than it wants: the one cause that decides. Why no line of a batch runs. And
 * which deployments wait because of an entry. A stock-out has no effects: what it prevents has no entry.
 */

import type { Entry } from '../../kernel/journal.ts'
import type { BatchRow } from '../../simulation/batches/batch-row.ts'
import { countAlive, type DeploymentRow } from '../../simulation/deployments/deployment-row.ts'
import { INSTANCE_STATES, type InstanceRow, type InstanceState } from '../../simulation/deployments/instance-row.ts'
import { bitCount, freeGpus, type NodeRow } from '../../simulation/fleet/node-row.ts'
import type { JournalKindName } from '../../simulation/journal-kinds.ts'
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

/** The kinds of the entries that begin each cause. The other causes have no such entry. */
const BEGINNINGS = {
  stock_out: ['pool.stockedOut'],
  zone_down: ['zone.down'],
  node_down: ['node.crashed', 'node.lost', 'node.preempted'],
  node_closed: ['node.cordoned', 'node.drained', 'node.preemptionNoticed'],
  gpus_broken: ['gpu.failed'],
  other_customers: ['pool.soldOut'],
  quota: ['limit.set', 'limit.approved'],
  suspension: ['account.suspended'],
  autoscaler_frozen: ['autoscaler.frozen'],
  hub_down: ['hub.down'],
  hub_slow: ['hub.throttled'],
  registry_down: ['registry.down'],
} as const satisfies { readonly [Cause in WaitCause]?: readonly JournalKindName[] }

/** The kinds of all entries that can begin a wait. */
const BEGINNING_KINDS: ReadonlySet<string> = new Set(Object.values(BEGINNINGS).flat())

/** The most nodes or deployments that a sentence names. */
const MAX_NAMED = 3

/** Returns a cause that an entry began, if the entry is one of those that can begin it and is about the same thing. */
function begun(cause: keyof typeof BEGINNINGS, clause: string, isAbout: (entry: Entry) => boolean = () => true): Wait {
  const kinds: readonly string[] = BEGINNINGS[cause]
  return { cause, clause, began: entry => kinds.includes(entry.kind) && isAbout(entry) }
}

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
  if (environment.state.registryDown && isWithoutImage(instance, row, nodes.read(instance.node))) {
    return begun('registry_down', 'the image registry does not answer, so its image does not arrive')
  }
  if (instance.ownRate > 0 && environment.state.hubDown) {
    return begun('hub_down', 'the model hub does not answer, so its weights do not arrive')
  }
  if (instance.ownRate > 0 && environment.state.hubShare < 1) {
    const percent = Math.round(environment.state.hubShare * 1000) / 10
    return begun('hub_slow', `downloads from the model hub have ${percent} percent of their speed`)
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
  if (environment.state.autoscalerFrozen) {
    return begun('autoscaler_frozen', 'the autoscaler is frozen, so no instance is requested')
  }
  if (ledger.suspensionReason !== undefined) {
    const clause = `the account is suspended (${formatValue(ledger.suspensionReason)}), so nothing new starts`
    return begun('suspension', clause)
  }
  const { gpu, numGpus } = row
  if (gpuQuotas.hasRoom(gpu, numGpus)) return undefined
  const clause =
    `the quota of the account is ${formatNumberOf(gpuQuotas.get(gpu), 'GPU')} of the type ${gpu}. ` +
    `It holds ${gpuQuotas.held(gpu)} of them, and an instance needs ${numGpus}`
  return begun('quota', clause, ({ fields }) => fields?.gpu === gpu)
}

/** Returns why an instance of a deployment has no GPUs yet. */
export function waitForGpus(world: World, { gpu, numGpus }: Readonly<DeploymentRow>): Wait {
  const { environment, nodes } = world
  if (nodes.maxGpusPerNode(gpu) < numGpus) {
    const clause = `no node of the fleet can have ${formatNumberOf(numGpus, 'GPU')} of the type ${gpu}`
    return { cause: 'no_such_node', clause }
  }
  if (environment.isStockedOut(gpu)) {
    return begun('stock_out', `GPUs of the type ${gpu} are out of stock`, ({ fields }) => fields?.gpu === gpu)
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
  if (obstacle === 'zone_down') {
    const zones = new Set(rows.map(({ group }) => group.zone))
    const clause = `the zone ${[...zones].slice(0, MAX_NAMED).map(formatValue).join(', ')} is down, and no node that is left has room`
    return begun(obstacle, clause, ({ fields }) => zones.has(String(fields?.zone)))
  }
  if (obstacle === 'other_customers') {
    const clause = `other customers hold the GPUs of the type ${gpu} that it needs`
    return begun(obstacle, clause, ({ fields }) => fields?.gpu === gpu)
  }
  return begun(obstacle, `${nameNodes([...names])} ${NODE_WORDS[obstacle]}, and no other node has room`, isNode)
}

/** What a node is that keeps an instance from starting. */
const NODE_WORDS = { node_down: 'down', node_closed: 'cordoned', gpus_broken: 'short of GPUs that work' } as const

/** Names nodes with their verb: `the node a is`, `the nodes a, b, c and 4 others are`. */
function nameNodes(names: readonly string[]): string {
  return names.length === 1 ? `the node ${nameSome(names)} is` : `the nodes ${nameSome(names)} are`
}

/** Names the first things of a list, and says how many others there are. */
function nameSome(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED
  const named = names.slice(0, MAX_NAMED).map(formatValue).join(', ')
  return rest > 0 ? `${named} and ${formatNumberOf(rest, 'other')}` : named
}

/** Returns sentences that say why no line of a batch runs; none if lines run, or if the batch has no lines to run. */
export function describeIdleBatch(world: World, row: Readonly<BatchRow>): readonly string[] {
  // A batch of a fixture has no step before the first move of the clock.
  if (row.status !== 'in_progress' || row.rate.tokensPerSecond > 0 || row.stepEnd === 0) return []
  const idle = (clause: string) => `No line runs now, because ${clause}.`
  const { batches, clock, deployments, ledger } = world
  if (ledger.suspension.isCutOff) return [idle(`the account is suspended (${formatValue(ledger.suspensionReason!)})`)]
  const target = batches.pacing.findTarget(row)
  if (target === undefined) return [idle(`nothing serves its model ${formatValue(row.work!.model)}`)]
  const deployment = target.kind === 'own' ? deployments.read(target.deployment) : undefined
  const wait = deployment && waitOf(world, deployment)
  const why = wait === undefined ? [] : [`The deployment waits, because ${wait.clause}.`]
  if (target.row !== undefined && deployments.read(target.row).status !== 'running') {
    const { id, plan, status } = deployments.read(target.row)
    const kind = plan.type === 'lora' ? 'LoRA adapter' : 'deployment'
    return [idle(`the ${kind} ${formatValue(id)} of its model is ${status}`), ...why]
  }
  if (deployment === undefined || clock.now < row.waitsUntil) return [idle('it waits for capacity')]
  const lack = deployment.ready > 0 ? 'has loaded its LoRA adapter' : 'is ready'
  return [idle(`no instance of the deployment ${formatValue(deployment.id)} ${lack}`), ...why]
}

/** A deployment that waits. */
export interface Waiting {
  readonly id: string
  readonly name: string
}

/** Returns the deployments that wait now because of an entry. */
export function waitingBecauseOf(world: World, entry: Entry, entries: readonly Entry[]): readonly Waiting[] {
  // For other kinds, no deployment has to be read.
  if (!BEGINNING_KINDS.has(entry.kind)) return []
  return [...world.deployments.entries()].flatMap(([, row]) => {
    const { began } = waitOf(world, row) ?? {}
    const isBegin = began?.(entry) === true && entries.findLast(one => began(one)) === entry
    return isBegin ? [{ id: row.id, name: row.plan.modelName }] : []
  })
}

/** Returns the sentence that names the deployments which wait now because of an entry; none if no deployment does. */
export function describeWaiting(world: World, entry: Entry, entries: readonly Entry[]): readonly string[] {
  const names = waitingBecauseOf(world, entry, entries).map(({ name }) => name)
  if (names.length === 0) return []
  const verb = names.length === 1 ? 'waits' : 'wait'
  return [`${formatNumberOf(names.length, 'deployment')} ${verb} because of it: ${nameSome(names)}.`]
}
