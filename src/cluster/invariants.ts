import { gpuIndex } from './gpus.ts'
import { memoryShortage } from './hub.ts'
import { bitCount } from './nodes.ts'
import type { World } from './world.ts'

/** A law of the simulation that does not hold. */
export interface Violation {
  /** The law, as numbered in `docs/model.md`. */
  readonly law: string
  readonly message: string
}

/**
 * Counts a world anew and returns every law that does not hold: an empty list for a sound world.
 *
 * @example expect(violations(sim.world)).toEqual([])
 */
export function violations(world: World): Violation[] {
  const found: Violation[] = []
  const broken = (law: string, message: string) => found.push({ law, message })
  checkFleet(world, broken)
  checkDeployments(world, broken)
  checkAdapters(world, broken)
  checkBatches(world, broken)
  checkMoney(world, broken)
  return found
}

type Broken = (law: string, message: string) => void

const HOLDS_GPUS = new Set(['placed', 'pulling', 'loading', 'warming', 'ready', 'draining'])

function checkFleet(world: World, broken: Broken): void {
  const { instances, nodes, deployments, hosted, limits } = world
  const taken = new Map<number, number>()
  const held = new Map<number, number>()
  const claim = (who: string, node: number, bits: number) => {
    const before = taken.get(node) ?? 0
    if ((before & bits) !== 0) broken('I1', `${who} holds a GPU of ${nodes.read(node).id} that another holds`)
    taken.set(node, before | bits)
  }
  for (const [, row] of instances.entries()) {
    const deployment = deployments.read(row.deployment)
    const type = gpuIndex(deployment.gpu)
    held.set(type, (held.get(type) ?? 0) + deployment.numGpus)
    if (!HOLDS_GPUS.has(row.state)) {
      if (row.node >= 0) broken('I1', `${row.id} is ${row.state} and holds GPUs`)
      continue
    }
    const node = nodes.read(row.node)
    claim(row.id, row.node, row.gpus)
    if (node.state === 'down') broken('I2', `${row.id} is ${row.state} on ${node.id}, which is down`)
    if (node.group.gpu !== deployment.gpu || bitCount(row.gpus) !== deployment.numGpus) {
      broken('I3', `${row.id} has ${bitCount(row.gpus)} ${node.group.gpu}, not ${deployment.numGpus} ${deployment.gpu}`)
    }
    if (
      row.state === 'ready' &&
      memoryShortage(deployment.size, deployment.gpu, deployment.numGpus, deployment.maxBatchSize)
    ) {
      broken('I4', `${row.id} is ready and its weights do not fit`)
    }
  }
  for (const [, row] of hosted.entries()) {
    if (row.node < 0) continue
    const type = gpuIndex(row.gpu)
    held.set(type, (held.get(type) ?? 0) + row.numGpus)
    claim(row.id, row.node, row.gpuBits)
    if (row.storageGb > 512) broken('I18', `${row.id} has ${row.storageGb} GB`)
  }
  for (const [ordinal, node] of nodes.entries()) {
    const name = node.id
    if (node.taken !== (taken.get(ordinal) ?? 0)) broken('I1', `${name} counts GPUs as taken that nobody holds`)
    if (node.taken & node.group.occupied) broken('I1', `${name} gave away GPUs that others hold`)
  }
  for (const [, deployment] of deployments.entries()) {
    const { gpu } = deployment
    if (gpu === 'other') continue
    const counted = held.get(gpuIndex(gpu)) ?? 0
    if (limits.held(gpu) !== counted) broken('I12', `${limits.held(gpu)} ${gpu} counted as held, ${counted} are`)
  }
}

function checkDeployments(world: World, broken: Broken): void {
  const { deployments, instances, clock } = world
  for (const [ordinal, row] of deployments.entries()) {
    const states = row.instances.map(instance => instances.read(instance).state)
    const ready = states.filter(state => state === 'ready').length
    const pending = states.filter(state => state !== 'ready' && state !== 'draining').length
    const counted = row.waiting + row.pulling + row.starting
    if (row.ready !== ready || counted !== pending || row.draining !== states.length - ready - pending) {
      broken('I5', `${row.id} counts ${row.ready}/${counted} instances, it has ${ready}/${pending}`)
    }
    if (row.shownRunning !== ready || row.shownPending !== pending) {
      broken('I5', `${row.id} shows ${row.shownRunning}/${row.shownPending} instances, it has ${ready}/${pending}`)
    }
    const over = row.status === 'stopped' || row.status === 'failed' || row.status === 'deleted'
    if (over && ready + pending > 0) broken('I14', `${row.id} is ${row.status} and has instances`)
    if (!over && ready + pending > row.maxInstances && row.plan.type === 'llm') {
      broken('I5', `${row.id} has ${ready + pending} instances, more than ${row.maxInstances}`)
    }
    if ((row.status === 'failed') !== (row.failReason !== '')) {
      broken('I6', `${row.id} is ${row.status} with fail_reason ${JSON.stringify(row.failReason)}`)
    }
    if (row.plan.createdAt > row.updatedAt || row.updatedAt > clock.now) {
      broken('I7', `${row.id}: created_at, updated_at and now are out of order`)
    }
    const told = deployments.text(ordinal)
    if (told !== JSON.stringify(deployments.record(ordinal))) broken('I5', `${row.id} is told otherwise than it is`)
  }
}

function checkAdapters(world: World, broken: Broken): void {
  const { batches, deployments, instances, profile } = world
  const users = new Map<number, number>()
  for (const [, row] of batches.entries()) {
    if (row.holds < 0) continue
    users.set(row.holds, (users.get(row.holds) ?? 0) + 1)
    if (row.status !== 'in_progress') broken('I17', `${row.id} is ${row.status} and keeps an adapter in its slots`)
  }
  const slots = profile.timings.adapterSlots
  for (const [, row] of instances.entries()) {
    if (row.adapters.length > slots) broken('I17', `${row.id} has ${row.adapters.length} adapters in ${slots} slots`)
    for (const { adapter, users: counted } of row.adapters) {
      const { id, plan, status } = deployments.read(adapter)
      if (plan.base !== row.deployment) broken('I17', `${row.id} has ${id}, an adapter of another base`)
      if (status !== 'running' && status !== 'deploying') broken('I17', `${row.id} has ${id}, which is ${status}`)
      const using = users.get(adapter) ?? 0
      if (counted !== using) broken('I17', `${row.id} counts ${counted} users of ${id}, there are ${using}`)
    }
    // A slot that nobody uses is given to whoever waits: so an adapter in use is missing only where all are in use.
    if (row.state !== 'ready' || row.adapters.every(({ users, loading }) => users > 0 || loading !== 0)) {
      if (row.state !== 'ready' || row.adapters.length === slots) continue
    }
    for (const adapter of deployments.read(row.deployment).adapters) {
      const { id, status } = deployments.read(adapter)
      const wanted = status === 'running' && (users.get(adapter) ?? 0) > 0
      if (wanted && !row.adapters.some(one => one.adapter === adapter)) broken('I17', `${row.id} lacks ${id}, in use`)
    }
  }
}

const MOMENTS = ['in_progress', 'finalizing', 'completed'] as const

function checkBatches(world: World, broken: Broken): void {
  for (const [, row] of world.batches.entries()) {
    const record = world.batches.get(row.id)!.record()
    const times = MOMENTS.map(moment => row.at[moment]).filter(time => time !== undefined)
    if (times.some((time, i) => time < (times[i - 1] ?? row.createdAt) || time > world.clock.now)) {
      broken('I7', `${row.id}: its times are out of order`)
    }
    if (record.expires_at - record.created_at !== 86_400) broken('I7', `${row.id} does not expire after 24 h`)
    const counts = record.request_counts
    if (counts && counts.completed + counts.failed > counts.total) broken('I13', `${row.id} has more lines than it had`)
    if (row.status === 'completed' && counts && counts.completed + counts.failed !== counts.total) {
      broken('I13', `${row.id} is completed and ${counts.total - counts.completed - counts.failed} lines are not over`)
    }
  }
}

function checkMoney(world: World, broken: Broken): void {
  const { ledger } = world
  const sum = ledger.entries().reduce((total, entry) => total + entry.microcents, ledger.opening)
  if (sum !== ledger.balance) broken('I9', `the balance is ${ledger.balance}, its entries sum to ${sum}`)
  if (!Number.isSafeInteger(ledger.balance)) broken('I9', `the balance ${ledger.balance} is no integer`)
}
