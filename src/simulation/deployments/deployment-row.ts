import type { DeploymentStatus, DeploymentType, ModelTask } from '../../data/records/enums.ts'
import { DEPLOYMENT_LIFECYCLE } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { EntityKey } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/table.ts'
import type { ModelWeights } from '../fleet/weights.ts'
import { NO_REQUESTS, type RequestTotals } from '../load/request-totals.ts'
import { type DeploymentLoad, EMPTY_FLOW, type RequestFlow } from '../load/throughput.ts'
import type { InstanceState } from './instance-row.ts'

/** Whether a deployment of this status is neither there nor coming. */
export function isTerminal(status: DeploymentStatus): boolean {
  return DEPLOYMENT_LIFECYCLE.terminal.has(status)
}

/** The weights of a deployment: of a hub repository, or of a model of the catalog (`source: 'catalog'`). */
export interface DeployedWeights extends ModelWeights {
  readonly source: 'hub' | 'catalog'
  readonly repo: string
  readonly revision: string
  readonly token: string
}

/** A deployment as the API asks for it, checked. */
export interface LlmSpec {
  readonly model_name: string
  readonly gpu: GpuType
  readonly num_gpus: number
  readonly max_batch_size: number
  readonly weights: { readonly repo: string; readonly revision: string; readonly token: string } | undefined
  readonly base_model?: string | undefined
  readonly container_image?: string | undefined
  readonly extra_args?: readonly string[] | undefined
  readonly min_instances: number
  readonly max_instances: number
}

/** An adapter as the API asks for it, checked. */
export interface AdapterSpec {
  /** `owner/lora_name`. */
  readonly model_name: string
  readonly base_model: string
  readonly modelhub_url: string
  readonly private: boolean
  readonly description: string
}

/** The deployment record of the interface document (2.3). */
export interface DeploymentRecord {
  deploy_id: string
  model_name: string
  version: string
  task: string
  status: DeploymentStatus
  fail_reason: string
  created_at: string
  updated_at: string
  type: DeploymentType
  instances: { running: number; pending: number }
  config?: {
    gpu: GpuType
    num_gpus: number
    max_batch_size: number
    weights: { repo: string; revision: string; token: string }
  }
  settings?: { min_instances: number; max_instances: number }
}

/** What a new row is made of and never changes. */
export interface DeploymentPlan {
  readonly key: EntityKey
  readonly modelName: string
  readonly version: string
  readonly task: ModelTask
  readonly type: DeploymentType
  readonly createdAt: Micros
  readonly gpu: GpuType
  readonly numGpus: number
  readonly maxBatchSize: number
  readonly weights: DeployedWeights
  readonly containerImage: string
  readonly extraArgs: readonly string[]
  /** Adapters: their base; -1 when it is a model of the catalog, -2 for what is no adapter. */
  readonly base: number
  readonly baseModel: string
  readonly modelhubUrl: string
}

/** One for all: a list of its own for each would be most of what a row takes. */
export const EMPTY_LIST: readonly never[] = Object.freeze([])

export class DeploymentRow extends Row {
  readonly plan: DeploymentPlan
  status: DeploymentStatus = 'initializing'
  failReason = ''
  updatedAt: Micros
  minInstances = 1
  maxInstances = 1
  instances: readonly number[] = EMPTY_LIST
  nextInstanceIndex = 0
  /** Since the first ready instance of this start: from here on it is running, whatever happens to single instances. */
  wasReady = false
  lostStarts = 0
  /** Crashes of its engine that count towards the crash loop, and how many of the next starts will crash as well. */
  crashes = 0
  remainingCrashes = 0
  /** Whether it was stopped for lack of funds. */
  stoppedForFunds = false
  /** Instances that it should have: what settings and load want. */
  desired = 1
  /** Whether load has been asking for more (1) or fewer (-1) instances, and since when. */
  scaleDirection = 0
  scaleDirectionSince: Micros = 0
  /** The next look of the autoscaler. */
  scaleEvent = 0
  /** Its offered load, compiled, and what an instance makes of it. Shared, never changed. */
  load: DeploymentLoad | undefined
  /** What became of its requests up to `servedAt`. */
  flow: RequestFlow = EMPTY_FLOW
  flowAt: Micros = 0
  /** Ready instances, each counted by its speed: 1 for a sound one. */
  effectiveInstances = 0
  /** How many times longer a ready instance takes for a request than a sound one, in the mean; 1 while none is ready. */
  meanSlowdown = 1
  /** What became of requests that were made one by one. */
  requests: RequestTotals = NO_REQUESTS
  /** Instances by what they are doing, kept as they move. */
  waiting = 0
  pulling = 0
  starting = 0
  ready = 0
  draining = 0
  /** Shown last: what `updated_at` follows. */
  reportedRunning = 0
  reportedPending = 0
  /** The meter of its GPU time; -1 for what has none. */
  meter = -1
  idleEvent = 0
  /** Adapters: the next event of their life, and whether they only follow their base's end. */
  next = 0
  restartsWithBase = false
  /** Adapters: pieces of work that use it now, and since when there are any. */
  activeUses = 0
  inUseSince: Micros = 0
  /** Bases: their adapters that are not deleted. */
  adapters: readonly number[] = EMPTY_LIST
  /** What its owner says of it. */
  isPrivate = true
  description = ''
  /** The last lines of the usage history about it, -1 for no line, and the loads in these lines. */
  lastStatusLine = -1
  lastServingLine = -1
  lastTimelineLine = -1
  lastRequestsLine = -1
  recordedLoads: readonly DeploymentLoad[] = EMPTY_LIST

  constructor(generation: Generation, id: string, plan: DeploymentPlan) {
    super(generation, id)
    this.plan = plan
    this.updatedAt = plan.createdAt
  }

  get key(): EntityKey {
    return this.plan.key
  }
  get gpu(): GpuType {
    return this.plan.gpu
  }
  get numGpus(): number {
    return this.plan.numGpus
  }
  get maxBatchSize(): number {
    return this.plan.maxBatchSize
  }
  get weights(): DeployedWeights {
    return this.plan.weights
  }

  copy(generation: Generation): DeploymentRow {
    const copy = new DeploymentRow(generation, this.id, this.plan)
    copy.status = this.status
    copy.failReason = this.failReason
    copy.updatedAt = this.updatedAt
    copy.minInstances = this.minInstances
    copy.maxInstances = this.maxInstances
    copy.instances = this.instances
    copy.nextInstanceIndex = this.nextInstanceIndex
    copy.wasReady = this.wasReady
    copy.lostStarts = this.lostStarts
    copy.crashes = this.crashes
    copy.remainingCrashes = this.remainingCrashes
    copy.stoppedForFunds = this.stoppedForFunds
    copy.desired = this.desired
    copy.scaleDirection = this.scaleDirection
    copy.scaleDirectionSince = this.scaleDirectionSince
    copy.scaleEvent = this.scaleEvent
    copy.load = this.load
    copy.flow = this.flow
    copy.flowAt = this.flowAt
    copy.requests = this.requests
    copy.effectiveInstances = this.effectiveInstances
    copy.meanSlowdown = this.meanSlowdown
    copy.waiting = this.waiting
    copy.pulling = this.pulling
    copy.starting = this.starting
    copy.ready = this.ready
    copy.draining = this.draining
    copy.reportedRunning = this.reportedRunning
    copy.reportedPending = this.reportedPending
    copy.meter = this.meter
    copy.idleEvent = this.idleEvent
    copy.next = this.next
    copy.restartsWithBase = this.restartsWithBase
    copy.activeUses = this.activeUses
    copy.inUseSince = this.inUseSince
    copy.adapters = this.adapters
    copy.isPrivate = this.isPrivate
    copy.description = this.description
    copy.lastStatusLine = this.lastStatusLine
    copy.lastServingLine = this.lastServingLine
    copy.lastTimelineLine = this.lastTimelineLine
    copy.lastRequestsLine = this.lastRequestsLine
    copy.recordedLoads = this.recordedLoads
    return copy.takeHash(this)
  }
}

/** What a fixture knows of a deployment and a request does not. */
export interface FixtureIdentity {
  readonly deploy_id?: string | undefined
  readonly version?: string | undefined
  readonly created_at?: Micros | undefined
  readonly updated_at?: Micros | undefined
  readonly task?: ModelTask | undefined
  readonly type?: DeploymentType | undefined
}

/** Changes the number of instances in a state. A computed field name would cost ten times as much. */
export function changeCount(row: DeploymentRow, state: InstanceState, change: number): void {
  switch (state) {
    case 'pending':
    case 'placed':
      row.waiting += change
      break
    case 'pulling':
      row.pulling += change
      break
    case 'loading':
    case 'warming':
      row.starting += change
      break
    case 'ready':
      row.ready += change
      break
    case 'draining':
      row.draining += change
      break
  }
}

/** Returns the number of instances that serve or start. */
export function countAlive(row: Readonly<DeploymentRow>): number {
  return row.waiting + row.pulling + row.starting + row.ready
}

/** Returns the status that follows from the instance in the latest state. */
export function statusOfLatest(row: Readonly<DeploymentRow>, foldsDownloading: boolean): DeploymentStatus {
  if (row.ready > 0) return 'running'
  if (row.starting > 0) return 'deploying'
  if (row.pulling === 0) return 'initializing'
  return foldsDownloading ? 'deploying' : 'downloading'
}
