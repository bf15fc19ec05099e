import type { DeploymentStatus, DeploymentType, ModelTask } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import { type DeploymentRecord, type DeploymentRow, isParked } from './deployment-row.ts'
import type { AdapterFollower } from './instance-speed.ts'

/** What the handle of a deployment reads and does. */
export interface DeploymentControls {
  read(ordinal: number): Readonly<DeploymentRow>
  toRecord(ordinal: number): DeploymentRecord
  toJson(ordinal: number): string
  toText(ordinal: number): string
  start(ordinal: number): void
  stop(ordinal: number): void
  delete(ordinal: number): void
  readonly scaling: {
    liveInstances(ordinal: number): number
    resize(ordinal: number, minInstances: number, maxInstances: number): void
  }
  readonly adapters: AdapterFollower
}

/** A deployment as code outside the simulation holds it: reads the present row each time. */
export class Deployment {
  readonly #deployments: DeploymentControls
  readonly ordinal: number

  constructor(deployments: DeploymentControls, ordinal: number) {
    this.#deployments = deployments
    this.ordinal = ordinal
  }

  get #row(): Readonly<DeploymentRow> {
    return this.#deployments.read(this.ordinal)
  }

  get deploy_id(): string {
    return this.#row.id
  }
  get model_name(): string {
    return this.#row.plan.modelName
  }
  get version(): string {
    return this.#row.plan.version
  }
  get task(): ModelTask {
    return this.#row.plan.task
  }
  get type(): DeploymentType {
    return this.#row.plan.type
  }
  /** Whether instances on GPUs of the account serve it. */
  get hasInstances(): boolean {
    return this.#row.plan.hasInstances
  }
  get status(): DeploymentStatus {
    return this.#row.status
  }
  get fail_reason(): string {
    return this.#row.failReason
  }
  get gpu(): GpuType {
    return this.#row.gpu
  }
  get num_gpus(): number {
    return this.#row.numGpus
  }
  get min_instances(): number {
    return this.#row.minInstances
  }
  get max_instances(): number {
    return this.#row.maxInstances
  }
  /** Whether its bounds allow no instance. */
  get isParked(): boolean {
    return isParked(this.#row)
  }
  /** Instances that serve or are coming. */
  get liveInstances(): number {
    return this.#deployments.scaling.liveInstances(this.ordinal)
  }
  /** Instances that are coming, as the record shows them. */
  get pendingInstances(): number {
    return this.#row.reportedPending
  }
  get is_private(): boolean {
    return this.#row.isPrivate
  }
  get description(): string {
    return this.#row.description
  }
  /** Adapters: the model they stand on, by name. */
  get base_model(): string {
    return this.#row.plan.baseModel
  }
  /** Adapters: where they come from. */
  get modelhub_url(): string {
    return this.#row.plan.modelhubUrl
  }
  /** Why this adapter cannot be started by itself: its base is stopped. Undefined when it can. */
  get blockedReason(): string | undefined {
    return this.#deployments.adapters.blockedReason(this.ordinal)
  }

  /** The wire's record. */
  toRecord(): DeploymentRecord {
    return this.#deployments.toRecord(this.ordinal)
  }

  /** The wire's record as JSON text that is not kept. */
  toText(): string {
    return this.#deployments.toText(this.ordinal)
  }

  /** The wire's record as JSON text, kept until it changes. */
  toJson(): string {
    return this.#deployments.toJson(this.ordinal)
  }

  start(): void {
    if (this.type === 'lora') this.#deployments.adapters.start(this.ordinal)
    else this.#deployments.start(this.ordinal)
  }

  /** Gives it other bounds on its instances. */
  resize(minInstances: number, maxInstances: number): void {
    this.#deployments.scaling.resize(this.ordinal, minInstances, maxInstances)
  }

  /** Adapters: says something else of it. */
  describe(isPrivate: boolean, description: string): void {
    this.#deployments.adapters.update(this.ordinal, isPrivate, description)
  }

  stop(): void {
    this.#deployments.stop(this.ordinal)
  }

  delete(): void {
    this.#deployments.delete(this.ordinal)
  }
}
