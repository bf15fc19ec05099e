import { GPU_TYPES, type GpuType } from '../../store/records.ts'
import { gpuIndex } from '../gpus.ts'
import { memoryShortage } from '../hub.ts'
import type { InstanceRow, InstanceState, ResidentAdapter } from '../instances.ts'
import { bitCount, freeGpus, type NodeRow } from '../nodes.ts'
import { countsAgainstLimit, type RentalRow, rentalOf } from '../rental-row.ts'
import type { World } from '../world.ts'
import type { Broken } from './law.ts'

const HOLDS_GPUS: ReadonlySet<InstanceState> = new Set([
  'placed',
  'pulling',
  'loading',
  'warming',
  'ready',
  'draining',
] satisfies InstanceState[])

/** What an instance was when it was looked at last. */
interface Seat {
  readonly id: string
  readonly deployment: number
  readonly state: InstanceState
  readonly node: number
  readonly gpus: number
  readonly type: number
  /** GPUs that count against the limit. */
  readonly counted: number
  readonly adapters: readonly ResidentAdapter[]
}

/** What a rental was when it was looked at last. */
interface Rented {
  readonly id: string
  readonly node: number
  readonly gpus: number
  readonly counted: number
}

/** I1 to I4, I12 and I17: who holds which GPU, instances of deployments and rentals alike. */
export class FleetLaws {
  readonly #world: World
  readonly #seats: (Seat | undefined)[] = []
  readonly #rented: (Rented | undefined)[] = []
  readonly #nodes: (Readonly<NodeRow> | undefined)[] = []
  /** GPUs that a placement could have: by node, and their sum by type. */
  readonly #freeOn: number[] = []
  readonly #free = new Float64Array(GPU_TYPES.length)
  /** GPUs that count against the limit, by type: as counted here, as the world said last, and the limit then. */
  readonly #counted = new Float64Array(GPU_TYPES.length)
  readonly #heldBefore = new Float64Array(GPU_TYPES.length)
  readonly #limitBefore: (number | null)[]
  /** To be looked at when everything written has been taken in. */
  readonly #nodesToLookAt = new Set<number>()
  /** Types of which GPUs were asked for in this step, as bits. */
  #admitted = 0
  /** What was there before anybody looked was not admitted now. */
  #isFirst = true
  #freeChanged = false

  constructor(world: World) {
    this.#world = world
    this.#limitBefore = GPU_TYPES.map(gpu => world.limits.of(gpu))
    for (const [index, gpu] of GPU_TYPES.entries()) this.#heldBefore[index] = world.limits.held(gpu)
  }

  /** The deployment of an instance as it was when it was looked at last. */
  deploymentOf(instance: number): number | undefined {
    return this.#seats[instance]?.deployment
  }

  wroteInstance(row: Readonly<InstanceRow>, ordinal: number, broken: Broken): void {
    const { deployments, profile } = this.#world
    const deployment = deployments.read(row.deployment)
    const before = this.#seats[ordinal]
    const type = gpuIndex(deployment.gpu)
    const seat: Seat = {
      id: row.id,
      deployment: row.deployment,
      state: row.state,
      node: row.node,
      gpus: row.gpus,
      type,
      counted: deployment.numGpus,
      adapters: row.adapters,
    }
    this.#seats[ordinal] = seat
    if (before === undefined) {
      this.#counted[type] = this.#counted[type]! + seat.counted
      this.#admitted |= 1 << type
    } else if (before.node >= 0) this.#nodesToLookAt.add(before.node)

    if (!HOLDS_GPUS.has(row.state)) {
      if (row.node >= 0) broken('I1', `instance ${row.id} is ${row.state} and holds GPUs`, row.id)
    } else if (row.node < 0) broken('I1', `instance ${row.id} is ${row.state} and holds no GPUs`, row.id)
    if (row.node >= 0) {
      this.#nodesToLookAt.add(row.node)
      const held = bitCount(row.gpus)
      const gpu = this.#nodes[row.node]?.group.gpu ?? 'none'
      if (gpu !== deployment.gpu || held !== deployment.numGpus || held < 1) {
        const wanted = `${deployment.numGpus} ${deployment.gpu}`
        broken('I3', `instance ${row.id} has ${held} ${gpu}, not ${wanted}`, row.id)
      }
    }
    if (row.state === 'ready' && before?.state !== 'ready') {
      const { weights, gpu, numGpus, maxBatchSize } = deployment
      const short = memoryShortage(weights, gpu, numGpus, maxBatchSize)
      if (short !== undefined) broken('I4', `instance ${row.id} is ready: ${short}`, row.id)
    }
    if (row.adapters !== before?.adapters) {
      this.#checkAdapters(row, before?.adapters ?? [], profile.timings.adapterSlots, broken)
    }
  }

  removedInstance(ordinal: number): void {
    const seat = this.#seats[ordinal]
    if (seat === undefined) return
    this.#seats[ordinal] = undefined
    this.#counted[seat.type] = this.#counted[seat.type]! - seat.counted
    if (seat.node >= 0) this.#nodesToLookAt.add(seat.node)
  }

  wroteRental(row: Readonly<RentalRow>, ordinal: number, broken: Broken): void {
    const before = this.#rented[ordinal]
    const { id, state, node, gpus, numGpus } = row
    const type = gpuIndex(row.gpu)
    const counted = countsAgainstLimit(state) ? numGpus : 0
    const was = before?.counted ?? 0
    this.#rented[ordinal] = { id, node, gpus, counted }
    this.#counted[type] = this.#counted[type]! + counted - was
    if (counted > was) this.#admitted |= 1 << type
    if (before !== undefined && before.node >= 0) this.#nodesToLookAt.add(before.node)
    if (node < 0) {
      const waits = state === 'creating' || state === 'starting' || counted === 0
      if (!waits) broken('I1', `${row.kind} ${id} is ${state} and holds no GPUs`, id)
      return
    }
    this.#nodesToLookAt.add(node)
    const held = bitCount(gpus)
    const gpu = this.#nodes[node]?.group.gpu ?? 'none'
    if (gpu !== row.gpu || held !== numGpus) {
      broken('I3', `${row.kind} ${id} has ${held} ${gpu}, not ${numGpus} ${row.gpu}`, id)
    }
  }

  wroteNode(row: Readonly<NodeRow>, ordinal: number): void {
    this.#nodes[ordinal] = row
    this.#nodesToLookAt.add(ordinal)
    this.#countFree(row, ordinal, freeGpus(row))
  }

  removedNode(row: Readonly<NodeRow>, ordinal: number, broken: Broken): void {
    this.#countFree(row, ordinal, 0)
    this.#nodes[ordinal] = undefined
    if (row.taken !== 0 || row.tenants.length > 0) broken('I2', `node ${row.id} has gone with tenants on it`, row.id)
  }

  /** Everything written has been taken in: what concerns more than one thing. */
  settle(broken: Broken): void {
    for (const node of this.#nodesToLookAt) this.#checkNode(node, broken)
    this.#nodesToLookAt.clear()
    if (this.#freeChanged) {
      this.#freeChanged = false
      for (const [index, gpu] of GPU_TYPES.entries()) {
        const told = this.#world.nodes.free(gpu)
        const free = this.#free[index]
        if (told !== free) broken('I1', `${told} ${gpu} count as free, ${free} are`, gpu)
      }
    }
    for (const [index, gpu] of GPU_TYPES.entries()) this.#checkLimit(index, gpu, broken)
    this.#admitted = 0
    this.#isFirst = false
  }

  #checkNode(ordinal: number, broken: Broken): void {
    const row = this.#nodes[ordinal]
    if (row === undefined) return
    const { id, group, tenants } = row
    let held = 0
    for (const tenant of tenants) {
      const seat = tenant >= 0 ? this.#seats[tenant] : this.#rented[rentalOf(tenant)]
      const who = this.#nameOf(tenant)
      if (seat === undefined || seat.node !== ordinal) {
        broken('I1', `node ${id} has ${who} as a tenant, which is not on it`, id)
        continue
      }
      if (held & seat.gpus) broken('I1', `${who} holds a GPU of ${id} that another holds`, who)
      if (row.broken & seat.gpus) broken('I2', `${who} holds a GPU of ${id} that is broken`, who)
      if (row.state !== 'ready' && row.state !== 'cordoned') {
        broken('I2', `${who} is on ${id}, which is ${row.state}`, who)
      }
      held |= seat.gpus
    }
    const all = (1 << group.gpus) - 1
    if (row.taken !== held)
      broken('I1', `node ${id} counts ${bitCount(row.taken)} GPUs as taken, ${bitCount(held)} are`, id)
    if (row.taken & group.occupied) broken('I1', `node ${id} gave away GPUs that others hold`, id)
    if (row.taken & ~all) broken('I1', `node ${id} gave away GPUs that it does not have`, id)
  }

  #checkLimit(index: number, gpu: GpuType, broken: Broken): void {
    const { limits } = this.#world
    const held = limits.held(gpu)
    const limit = limits.of(gpu)
    const counted = this.#counted[index]!
    if (held !== counted) broken('I12', `${held} ${gpu} are counted against the limit, ${counted} are held`, gpu)
    if (limit !== null && held > limit && this.#admitted & (1 << index) && !this.#isFirst) {
      broken('I12', `GPUs were admitted with ${held} ${gpu} held, and the limit is ${limit}`, gpu)
    }
    const before = this.#limitBefore[index]!
    const raised = before !== null && (limit === null || limit > before)
    if (raised && held < this.#heldBefore[index]!) {
      broken('I12', `the limit of ${gpu} rose, and the GPUs held fell from ${this.#heldBefore[index]} to ${held}`, gpu)
    }
    this.#heldBefore[index] = held
    this.#limitBefore[index] = limit
  }

  #checkAdapters(row: Readonly<InstanceRow>, before: readonly ResidentAdapter[], slots: number, broken: Broken): void {
    const { deployments } = this.#world
    const resident = new Set(row.adapters.map(one => one.adapter))
    if (row.adapters.length > slots) {
      broken('I17', `instance ${row.id} holds ${row.adapters.length} adapters in ${slots} slots`, row.id)
    }
    if (resident.size < row.adapters.length) broken('I17', `instance ${row.id} holds an adapter twice`, row.id)
    for (const adapter of resident) {
      const { base, modelName } = deployments.read(adapter).plan
      if (base !== row.deployment) broken('I17', `instance ${row.id} holds ${modelName}, whose base it is not`, row.id)
    }
    for (const { adapter, users } of before) {
      const { status, plan, holders } = deployments.read(adapter)
      // What was stopped, failed or deleted by its user leaves with whoever used it; what is let go of may go at once.
      if (users > 0 && holders > 0 && !resident.has(adapter) && status === 'running') {
        broken('I17', `instance ${row.id} gave up ${plan.modelName}, which was in use`, row.id)
      }
    }
  }

  #countFree(row: Readonly<NodeRow>, ordinal: number, free: number): void {
    const type = gpuIndex(row.group.gpu)
    const before = this.#freeOn[ordinal] ?? 0
    this.#free[type] = this.#free[type]! + free - before
    this.#freeOn[ordinal] = free
    this.#freeChanged ||= free !== before
  }

  #nameOf(tenant: number): string {
    const id = tenant >= 0 ? this.#seats[tenant]?.id : this.#rented[rentalOf(tenant)]?.id
    return id ?? `tenant ${tenant}`
  }
}
