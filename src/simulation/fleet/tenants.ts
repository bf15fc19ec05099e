import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Micros } from '../../kernel/duration.ts'

/** Returns how a rental is called among the tenants of a node: below zero; instances have their own ordinals. */
export function toTenantId(rental: number): number {
  return -1 - rental
}

/** Returns the ordinal of the rental that a tenant is; below zero for an instance. */
export function toRentalOrdinal(tenant: number): number {
  return -1 - tenant
}

/** A download to a node, as the row of a tenant has it. Its next event is its end. */
export interface Download {
  readonly node: number
  bytesLeft: number
  /** The rate it could have, 0 if nothing is under way; the rate it has, and since when. */
  ownRate: number
  rate: number
  rateSince: Micros
  next: number
}

/** The row of a tenant. */
export interface TenantRow {
  readonly id: string
  readonly since: Micros
}

/** GPUs that a tenant needs on one node. */
export interface GpuRequest {
  readonly gpu: string
  readonly gpus: number
}

/** A kind of tenant: the instances of deployments, or the rentals. */
export interface TenantKind {
  read(ordinal: number): Readonly<TenantRow>
  /** Tries to give a waiting tenant its GPUs; false if no single node has them. */
  place(ordinal: number): boolean
  gpuRequestOf(ordinal: number): GpuRequest
  /** The image that a tenant runs; '' is the provider's own serving image. */
  imageOf(ordinal: number): string
  /** The repository whose weights a tenant reads; undefined if it reads none. */
  weightsOf(ordinal: number): string | undefined
}

/** The tenants that download weights: the instances of deployments. */
export interface DownloadingTenants extends TenantKind {
  read(ordinal: number): Readonly<TenantRow & Download>
  writable(ordinal: number): TenantRow & Download
  entries(): Generator<[number, Readonly<TenantRow & Download>]>
  /** Schedules the end of a download: it is complete, or it has timed out. */
  scheduleDownloadEnd(ordinal: number, delay: Micros, isTimeout: boolean): EntryHandle
}

/** The tenants of the fleet by their ids: instances from zero up, rentals below zero. */
export class Tenants {
  #instances!: DownloadingTenants
  #rentals!: TenantKind

  /** Binds the two kinds: the world does it once. */
  connect(instances: DownloadingTenants, rentals: TenantKind): void {
    this.#instances = instances
    this.#rentals = rentals
  }

  get instances(): DownloadingTenants {
    return this.#instances
  }

  read(tenant: number): Readonly<TenantRow> {
    return tenant >= 0 ? this.#instances.read(tenant) : this.#rentals.read(toRentalOrdinal(tenant))
  }

  place(tenant: number): boolean {
    return tenant >= 0 ? this.#instances.place(tenant) : this.#rentals.place(toRentalOrdinal(tenant))
  }

  gpuRequestOf(tenant: number): GpuRequest {
    return tenant >= 0 ? this.#instances.gpuRequestOf(tenant) : this.#rentals.gpuRequestOf(toRentalOrdinal(tenant))
  }

  imageOf(tenant: number): string {
    return tenant >= 0 ? this.#instances.imageOf(tenant) : this.#rentals.imageOf(toRentalOrdinal(tenant))
  }

  weightsOf(tenant: number): string | undefined {
    return tenant >= 0 ? this.#instances.weightsOf(tenant) : this.#rentals.weightsOf(toRentalOrdinal(tenant))
  }
}

/** Adds nodes for tenants that wait, and gives empty nodes back. The node autoscaler is one. */
export interface NodeProvisioner {
  /** Provisions the nodes that these waiting tenants or the groups lack. */
  provisionFor(requests: readonly GpuRequest[]): void
  /** A node has no tenants. */
  onNodeEmptied(ordinal: number): void
}
