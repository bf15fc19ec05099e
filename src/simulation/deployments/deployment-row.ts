import type { EngineConstants } from '../../data/engine-classes.ts'
import type { DeploymentStatus, DeploymentType, ModelTask } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { EntityKey } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import type { ModelWeights } from '../fleet/weights.ts'
import { EMPTY_FLOW, type FlowState } from '../load/request-flow.ts'
import { NO_REQUESTS, type RequestTotals } from '../load/request-totals.ts'
import type { DeploymentLoad } from '../load/serving.ts'
import type { InstanceState } from './instance-row.ts'

/**
 * Whether a deployment of this status is neither there nor coming: the terminal statuses of its lifecycle. Every event of an
 * instance asks, so it compares them instead of looking into their set.
 */
export function isTerminal(status: DeploymentStatus): boolean {
  return status === 'stopped' || status === 'failed' || status === 'deleted'
}

/**
 * The weights of a deployment: of a hub repository, or of a model of the catalog (`source: 'catalog'`). A
 * fixture can deploy a repository that its hub does not list (`source: 'fixture'`).
 */
export interface DeployedWeights extends ModelWeights {
  readonly source: 'hub' | 'catalog' | 'fixture'
  readonly repo: string
  readonly revision: string
  /** A hash of the token for the hub; '' without one. */
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
  /** Default: text-generation and llm. */
  readonly task?: ModelTask | undefined
  readonly type?: DeploymentType | undefined
  /** A version that the model has. Default: the newest of a catalog model, else a new one. */
  readonly version?: string | undefined
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

/** What a new row is made of and never changes. */
export interface DeploymentPlan {
  readonly key: EntityKey
  readonly modelName: string
  /** How many deployments of this name came before it. */
  readonly nth: number
  readonly version: string
  readonly task: ModelTask
  readonly type: DeploymentType
  /** Whether instances on GPUs of the account serve it. False for adapters and for references to the catalog. */
  readonly hasInstances: boolean
  readonly createdAt: Micros
  readonly gpu: GpuType
  readonly numGpus: number
  readonly maxBatchSize: number
  readonly weights: DeployedWeights
  readonly containerImage: string
  readonly extraArgs: readonly string[]
  /** The constants of its engine. */
  readonly constants: EngineConstants
  /** Adapters: their base; -1 when it is a model of the catalog, -2 for what is not an adapter. */
  readonly base: number
  readonly baseModel: string
  readonly modelhubUrl: string
}

/** One for all: a list of its own for each would be most of what a row takes. */
export const EMPTY_LIST: readonly never[] = Object.freeze([])

export class DeploymentRow extends Row {
  declare readonly plan: DeploymentPlan
  status = this.reference<DeploymentStatus>('initializing')
  failReason = this.reference('')
  declare updatedAt: Micros
  minInstances = this.number(1)
  maxInstances = this.number(1)
  instances = this.reference<readonly number[]>(EMPTY_LIST)
  nextInstanceIndex = this.int32(0)
  /** Since the first ready instance of this start: from here on it is running, whatever happens to single instances. */
  wasReady = this.boolean(false)
  lostStarts = this.int32(0)
  /** Crashes of its engine that count towards the crash loop, and how many of the next starts will crash as well. */
  crashes = this.int32(0)
  remainingCrashes = this.number(0)
  /** Whether it was stopped for lack of funds. */
  stoppedForFunds = this.boolean(false)
  /** Instances that it should have: what settings and load want. */
  desired = this.number(1)
  /** Whether load has been asking for more (1) or fewer (-1) instances, and since when. */
  scaleDirection = this.int32(0)
  scaleDirectionSince: Micros = this.number(0)
  /** The next look of the autoscaler. */
  scaleEvent = this.number(0)
  /** Its offered load, compiled, and what an instance makes of it. Shared, never changed. */
  load = this.reference<DeploymentLoad | undefined>(undefined)
  /** What became of its requests up to `servedAt`. */
  flow = this.owned<FlowState>(EMPTY_FLOW)
  flowAt: Micros = this.number(0)
  /** Ready instances, each counted by its speed: 1 for a sound one. */
  effectiveInstances = this.number(0)
  /** How many times longer a ready instance takes for a request than a sound one, in the mean; 1 while none is ready. */
  meanSlowdown = this.number(1)
  /** What became of requests that were made one by one. */
  requests = this.reference<RequestTotals>(NO_REQUESTS)
  /** Instances by what they are doing, kept as they move. */
  waiting = this.int32(0)
  pulling = this.int32(0)
  starting = this.int32(0)
  ready = this.int32(0)
  draining = this.int32(0)
  /** The ready instances that leave when a notice ends. */
  leaving = this.int32(0)
  /** Shown last: what `updated_at` follows. */
  reportedRunning = this.int32(0)
  reportedPending = this.int32(0)
  /** The meter of its GPU time; -1 for what has none. */
  meter = this.int32(-1)
  idleEvent = this.number(0)
  /** Adapters: the next event of their life, and whether they only follow their base's end. */
  next = this.number(0)
  restartsWithBase = this.boolean(false)
  /** Adapters: pieces of work that use it now, and since when there are any. */
  activeUses = this.int32(0)
  inUseSince: Micros = this.number(0)
  /** Bases: their adapters that are not deleted. */
  adapters = this.reference<readonly number[]>(EMPTY_LIST)
  /** What its owner says of it. */
  isPrivate = this.boolean(true)
  description = this.reference('')
  /** The last lines of the usage history about it, -1 for no line, and the loads in these lines. */
  lastStatusLine = this.int32(-1)
  lastServingLine = this.int32(-1)
  lastTimelineLine = this.int32(-1)
  lastRequestsLine = this.int32(-1)
  recordedLoads = this.reference<readonly DeploymentLoad[]>(EMPTY_LIST)

  constructor(generation: Generation, id: string, initial: Pick<DeploymentRow, 'plan' | 'updatedAt'>) {
    super(generation, id)
    this.plan = this.reference(initial.plan)
    this.updatedAt = this.number(initial.updatedAt)
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

/** Returns the number of instances that serve or start, without those that leave. */
export function countAlive(row: Readonly<DeploymentRow>): number {
  return row.waiting + row.pulling + row.starting + row.ready - row.leaving
}

/** Returns whether the bounds of a deployment allow no instance. */
export function isParked(row: Readonly<DeploymentRow>): boolean {
  return row.maxInstances === 0 && row.plan.hasInstances
}

/** Returns the status that follows from the instance in the latest state. A parked deployment keeps its status. */
export function statusOfLatest(row: Readonly<DeploymentRow>, foldsDownloading: boolean): DeploymentStatus {
  if (isParked(row)) return row.status
  if (row.ready > 0) return 'running'
  if (row.starting > 0) return 'deploying'
  if (row.pulling === 0) return 'initializing'
  return foldsDownloading ? 'deploying' : 'downloading'
}
