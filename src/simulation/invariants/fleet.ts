import { GPU_TYPES, type GpuType, gpuIndex } from '../../data/records/gpu-config.ts'
import {
  INSTANCE_STATES,
  type InstanceRow,
  type InstanceState,
  type ResidentAdapter,
} from '../deployments/instance-row.ts'
import { bitCount, freeGpus, type NodeRow } from '../fleet/node-row.ts'
import { toRentalOrdinal } from '../fleet/tenants.ts'
import { memoryShortage } from '../fleet/weights.ts'
import { countsAgainstQuota, type RentalRow } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'
import { type ReportViolation, WorldInvariants } from './invariant.ts'

const HOLDS_GPUS: ReadonlySet<InstanceState> = new Set(INSTANCE_STATES.filter(state => state !== 'pending'))

/** What an instance was when it was looked at last. */
interface CheckedInstance
  extends Readonly<Pick<InstanceRow, 'id' | 'deployment' | 'state' | 'node' | 'gpus' | 'adapters'>> {
  readonly type: number
  /** GPUs that count against the limit. */
  readonly countedGpus: number
}

/** What a rental was when it was looked at last. */
type CheckedRentalGpus = Pick<CheckedInstance, 'id' | 'node' | 'gpus' | 'countedGpus'>

/** I1 to I4, I12 and I17: who holds which GPU, instances of deployments and rentals alike. */
export class FleetInvariants extends WorldInvariants {
  readonly #instances: (CheckedInstance | undefined)[] = []
  readonly #rentals: (CheckedRentalGpus | undefined)[] = []
  readonly #nodes: (Readonly<NodeRow> | undefined)[] = []
  /** GPUs that a placement could have: by node, and their sum by type. */
  readonly #freeOn: number[] = []
  readonly #free = new Float64Array(GPU_TYPES.length)
  /** GPUs that count against the limit, by type: as counted here, as the world said last, and the limit then. */
  readonly #countedGpus = new Float64Array(GPU_TYPES.length)
  readonly #heldBefore = new Float64Array(GPU_TYPES.length)
  readonly #quotaBefore: (number | null)[]
  /** To be looked at when everything written has been taken in. */
  readonly #changedNodes = new Set<number>()
  /** Types of which GPUs were asked for in this step, as bits. */
  #admittedTypes = 0
  /** Whether this is the first check. What it finds was admitted earlier. */
  #isFirst = true
  #hasFreeChanged = false

  constructor(world: World) {
    super(world)
    this.#quotaBefore = GPU_TYPES.map(gpu => world.gpuQuotas.get(gpu))
    for (const [index, gpu] of GPU_TYPES.entries()) this.#heldBefore[index] = world.gpuQuotas.held(gpu)
  }

  /** The deployment of an instance as it was when it was looked at last. */
  deploymentOf(instance: number): number | undefined {
    return this.#instances[instance]?.deployment
  }

  onInstanceWrite(row: Readonly<InstanceRow>, ordinal: number, report: ReportViolation): void {
    const { deployments, profile } = this.world
    const deployment = deployments.read(row.deployment)
    const before = this.#instances[ordinal]
    const type = gpuIndex(deployment.gpu)
    const { id, state, node, gpus, adapters } = row
    const countedGpus = deployment.numGpus
    this.#instances[ordinal] = { id, deployment: row.deployment, state, node, gpus, type, countedGpus, adapters }
    if (before === undefined) {
      this.#countedGpus[type] = this.#countedGpus[type]! + countedGpus
      this.#admittedTypes |= 1 << type
    } else if (before.node >= 0) this.#changedNodes.add(before.node)

    if (!HOLDS_GPUS.has(row.state)) {
      if (row.node >= 0) report('I1', `instance ${row.id} is ${row.state} and holds GPUs`, row.id)
    } else if (row.node < 0) report('I1', `instance ${row.id} is ${row.state} and holds no GPUs`, row.id)
    if (row.node >= 0) {
      this.#changedNodes.add(row.node)
      const held = bitCount(row.gpus)
      const gpu = this.#nodes[row.node]?.group.gpu ?? 'none'
      if (gpu !== deployment.gpu || held !== deployment.numGpus || held < 1) {
        const expected = `${deployment.numGpus} ${deployment.gpu}`
        report('I3', `instance ${row.id} has ${held} ${gpu}, not ${expected}`, row.id)
      }
    }
    if (row.state === 'ready' && before?.state !== 'ready') {
      const { weights, gpu, numGpus } = deployment
      const shortage = memoryShortage(weights, gpu, numGpus)
      if (shortage !== undefined) report('I4', `instance ${row.id} is ready: ${shortage}`, row.id)
    }
    if (row.adapters !== before?.adapters) {
      this.#checkAdapters(row, before?.adapters ?? [], profile.timings.adapterSlots, report)
    }
  }

  onInstanceRemove(ordinal: number): void {
    const checked = this.#instances[ordinal]
    if (checked === undefined) return
    this.#instances[ordinal] = undefined
    this.#countedGpus[checked.type] = this.#countedGpus[checked.type]! - checked.countedGpus
    if (checked.node >= 0) this.#changedNodes.add(checked.node)
  }

  onRentalWrite(row: Readonly<RentalRow>, ordinal: number, report: ReportViolation): void {
    const before = this.#rentals[ordinal]
    const { id, state, node, gpus, numGpus } = row
    const type = gpuIndex(row.gpu)
    const countedGpus = countsAgainstQuota(state) ? numGpus : 0
    const previousCounted = before?.countedGpus ?? 0
    this.#rentals[ordinal] = { id, node, gpus, countedGpus }
    this.#countedGpus[type] = this.#countedGpus[type]! + countedGpus - previousCounted
    if (countedGpus > previousCounted) this.#admittedTypes |= 1 << type
    if (before !== undefined && before.node >= 0) this.#changedNodes.add(before.node)
    if (node < 0) {
      const mayWait = state === 'creating' || state === 'starting' || countedGpus === 0
      if (!mayWait) report('I1', `${row.kind} ${id} is ${state} and holds no GPUs`, id)
      return
    }
    this.#changedNodes.add(node)
    const held = bitCount(gpus)
    const gpu = this.#nodes[node]?.group.gpu ?? 'none'
    if (gpu !== row.gpu || held !== numGpus) {
      report('I3', `${row.kind} ${id} has ${held} ${gpu}, not ${numGpus} ${row.gpu}`, id)
    }
  }

  onNodeWrite(row: Readonly<NodeRow>, ordinal: number): void {
    this.#nodes[ordinal] = row
    this.#changedNodes.add(ordinal)
    this.#countFree(row, ordinal, freeGpus(row))
  }

  onNodeRemove(row: Readonly<NodeRow>, ordinal: number, report: ReportViolation): void {
    this.#countFree(row, ordinal, 0)
    this.#nodes[ordinal] = undefined
    if (row.allocated !== 0 || row.tenants.length > 0)
      report('I2', `node ${row.id} has gone with tenants on it`, row.id)
  }

  /** Everything written has been taken in: what concerns more than one thing. */
  verify(report: ReportViolation): void {
    for (const node of this.#changedNodes) this.#checkNode(node, report)
    this.#changedNodes.clear()
    if (this.#hasFreeChanged) {
      this.#hasFreeChanged = false
      for (const [index, gpu] of GPU_TYPES.entries()) {
        const reportedFree = this.world.nodes.free(gpu)
        const free = this.#free[index]
        if (reportedFree !== free) report('I1', `${reportedFree} ${gpu} count as free, ${free} are`, gpu)
      }
    }
    for (const [index, gpu] of GPU_TYPES.entries()) this.#checkQuota(index, gpu, report)
    this.#admittedTypes = 0
    this.#isFirst = false
  }

  #checkNode(ordinal: number, report: ReportViolation): void {
    const row = this.#nodes[ordinal]
    if (row === undefined) return
    const { id, group, tenants } = row
    let held = 0
    for (const tenant of tenants) {
      const tenantGpus = tenant >= 0 ? this.#instances[tenant] : this.#rentals[toRentalOrdinal(tenant)]
      const tenantId = this.#tenantId(tenant)
      if (tenantGpus === undefined || tenantGpus.node !== ordinal) {
        report('I1', `node ${id} has ${tenantId} as a tenant, which is not on it`, id)
        continue
      }
      if (held & tenantGpus.gpus) report('I1', `${tenantId} holds a GPU of ${id} that another holds`, tenantId)
      if (row.broken & tenantGpus.gpus) report('I2', `${tenantId} holds a GPU of ${id} that is broken`, tenantId)
      if (row.state !== 'ready' && row.state !== 'cordoned') {
        report('I2', `${tenantId} is on ${id}, which is ${row.state}`, tenantId)
      }
      held |= tenantGpus.gpus
    }
    const allGpus = (1 << group.gpus) - 1
    if (row.allocated !== held)
      report('I1', `node ${id} counts ${bitCount(row.allocated)} GPUs as taken, ${bitCount(held)} are`, id)
    if (row.allocated & (group.occupied | row.heldByOthers))
      report('I1', `node ${id} gave away GPUs that others hold`, id)
    if (row.allocated & ~allGpus) report('I1', `node ${id} gave away GPUs that it does not have`, id)
  }

  #checkQuota(index: number, gpu: GpuType, report: ReportViolation): void {
    const { gpuQuotas } = this.world
    const held = gpuQuotas.held(gpu)
    const quota = gpuQuotas.get(gpu)
    const countedGpus = this.#countedGpus[index]!
    if (held !== countedGpus)
      report('I12', `${held} ${gpu} are counted against the limit, ${countedGpus} are held`, gpu)
    if (quota !== null && held > quota && this.#admittedTypes & (1 << index) && !this.#isFirst) {
      report('I12', `GPUs were admitted with ${held} ${gpu} held, and the limit is ${quota}`, gpu)
    }
    const before = this.#quotaBefore[index]!
    const isRaised = before !== null && (quota === null || quota > before)
    if (isRaised && held < this.#heldBefore[index]!) {
      report('I12', `the limit of ${gpu} rose, and the GPUs held fell from ${this.#heldBefore[index]} to ${held}`, gpu)
    }
    this.#heldBefore[index] = held
    this.#quotaBefore[index] = quota
  }

  #checkAdapters(
    row: Readonly<InstanceRow>,
    before: readonly ResidentAdapter[],
    slots: number,
    report: ReportViolation,
  ): void {
    const { deployments } = this.world
    const resident = new Set(row.adapters.map(one => one.adapter))
    if (row.adapters.length > slots) {
      report('I17', `instance ${row.id} holds ${row.adapters.length} adapters in ${slots} slots`, row.id)
    }
    if (resident.size < row.adapters.length) report('I17', `instance ${row.id} holds an adapter twice`, row.id)
    for (const adapter of resident) {
      const { base, modelName } = deployments.read(adapter).plan
      if (base !== row.deployment) report('I17', `instance ${row.id} holds ${modelName}, whose base it is not`, row.id)
    }
    for (const { adapter, users } of before) {
      const { status, plan, activeUses } = deployments.read(adapter)
      // An adapter that is not running may leave while it has users. An adapter without uses may leave at once.
      if (users > 0 && activeUses > 0 && !resident.has(adapter) && status === 'running') {
        report('I17', `instance ${row.id} gave up ${plan.modelName}, which was in use`, row.id)
      }
    }
  }

  #countFree(row: Readonly<NodeRow>, ordinal: number, free: number): void {
    const type = gpuIndex(row.group.gpu)
    const before = this.#freeOn[ordinal] ?? 0
    this.#free[type] = this.#free[type]! + free - before
    this.#freeOn[ordinal] = free
    this.#hasFreeChanged ||= free !== before
  }

  #tenantId(tenant: number): string {
    const id = tenant >= 0 ? this.#instances[tenant]?.id : this.#rentals[toRentalOrdinal(tenant)]?.id
    return id ?? `tenant ${tenant}`
  }
}
