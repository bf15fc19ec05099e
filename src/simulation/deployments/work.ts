/** The interfaces through which a part calls the parts above it: the work, the adapters, the autoscaler, the deployments. */

import type { Micros } from '../../kernel/duration.ts'
import type { DeploymentRow } from './deployment-row.ts'
import type { InstanceRow, InstanceState } from './instance-row.ts'

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
  /** A deployment or an adapter stopped, failed, was deleted or was parked. */
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
  /** Tells why an adapter cannot be started by itself; undefined if it can. */
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

/** The deployments, as their instances see them. */
export interface InstanceOwner {
  read(ordinal: number): Readonly<DeploymentRow>
  writable(ordinal: number): DeploymentRow
  /** An instance came, moved from one state to another, or left. */
  countMove(ordinal: number, from: InstanceState | undefined, to: InstanceState | undefined): void
  updateStatus(ordinal: number): void
  updateMeter(ordinal: number): void
  onInstanceReady(ordinal: number): void
  fail(ordinal: number, reason: string): void
  readonly scaling: {
    onCapacityChanged(ordinal: number): void
    releaseExcess(ordinal: number): void
  }
  readonly failures: InstanceFailures
}

/** The failures of deployments, as their instances see them. */
export interface InstanceFailures {
  onInstanceLost(ordinal: number, reason: string): void
  onInstanceCrashed(ordinal: number, reason: string, readyTime: Micros): void
  engineArgsProblem(row: Readonly<DeploymentRow>): string | undefined
  pullRefusal(row: Readonly<DeploymentRow>): string | undefined
}

/** What instances call above them. */
export interface InstancesPorts {
  readonly deployments: InstanceOwner
  readonly slots: {
    assignSlots(base: number): void
    cancelLoads(row: InstanceRow): void
  }
  readonly batches: BatchWork
  readonly inferenceRequests: RequestWork
}
