import type { GpuRequest } from './tenants.ts'

/** Adds nodes for tenants that wait, and gives empty nodes back. The node autoscaler is one. */
export interface NodeProvisioner {
  /** Provisions the nodes that these waiting tenants or the groups lack. */
  provisionFor(requests: readonly GpuRequest[]): void
  /** A node has no tenants. */
  onNodeEmptied(ordinal: number): void
}
