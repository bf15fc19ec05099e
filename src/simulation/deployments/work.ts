/** What deployments know of the work that runs on them: batches and single requests implement these. */
import type { DeploymentRow } from './deployment-row.ts'

/** The batches, as deployments see them. */
export interface BatchWork {
  /** Tells whether lines of a batch run on a deployment, or wait to. */
  hasWorkFor(deployment: number): boolean
  /** Tells whether lines of a batch run on a deployment now. */
  isRunningOn(deployment: number): boolean
  /** The capacity of a deployment or an adapter has changed. */
  onCapacityChanged(deployment: number): void
  /** A ready instance of a deployment is lost. */
  onInstanceLost(deployment: number): void
}

/** The single requests, as deployments see them. */
export interface RequestWork {
  /** Requests that are answered or wait, all together. */
  readonly inFlightCount: number
  /** Tells whether a request is answered by a deployment, or waits for it. */
  hasWorkFor(deployment: number): boolean
  countsOfDeployment(deployment: number): { readonly running: number; readonly waiting: number }
  /** Instances of a deployment became ready, or loaded an adapter. */
  onCapacityAvailable(deployment: number): void
  /** An instance is gone. */
  onInstanceLost(instance: number, reason: string): void
  /** A deployment or an adapter stopped, failed or was deleted. */
  onDeploymentStopped(deployment: number): void
}

/** What a part has that calls the work above it. */
export interface WorkPorts {
  readonly batches: BatchWork
  readonly inferenceRequests: RequestWork
}

/** The adapters, as deployments and instances see them. */
export interface AdapterFollower {
  /** The status of a base has changed. */
  onBaseChanged(base: number): void
  readonly slots: {
    assignSlots(base: number): void
    onAdapterEnded(adapter: number): void
  }
  /** Tells why an adapter can not be started by itself; undefined if it can. */
  blockedReason(ordinal: number): string | undefined
  start(ordinal: number): void
  update(ordinal: number, isPrivate: boolean, description: string): void
}

/** The autoscaler, as deployments see it. */
export interface Scaler {
  desiredInstances(row: Readonly<DeploymentRow>): number
  evaluate(ordinal: number): void
  updateFlow(ordinal: number): void
  scheduleEvaluation(row: DeploymentRow, ordinal: number): void
}
