import type { DeploymentStatus } from '../../data/records/enums.ts'
import type { DeploymentRow } from './deployment-row.ts'
import type { DeploymentTable } from './deployment-table.ts'
import type { AdapterFollower } from './instance-speed.ts'

/** What the handle of a deployment reads and does. */
export interface DeploymentControls extends Pick<DeploymentTable, 'read' | 'toRecord'> {
  start(ordinal: number): void
  stop(ordinal: number): void
  delete(ordinal: number): void
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

  get row(): Readonly<DeploymentRow> {
    return this.#deployments.read(this.ordinal)
  }
  get deploy_id(): string {
    return this.row.id
  }
  get status(): DeploymentStatus {
    return this.row.status
  }

  /** The wire's record. */
  toRecord(): ReturnType<DeploymentTable['toRecord']> {
    return this.#deployments.toRecord(this.ordinal)
  }

  start(): void {
    if (this.row.plan.type === 'lora') this.#deployments.adapters.start(this.ordinal)
    else this.#deployments.start(this.ordinal)
  }

  stop(): void {
    this.#deployments.stop(this.ordinal)
  }

  delete(): void {
    this.#deployments.delete(this.ordinal)
  }
}
