import type { HostedState } from '../../data/records/enums.ts'
import type { HostedPlan } from '../../data/records/machines.ts'
import { Part } from '../part.ts'
import { Rental } from './rental.ts'
import type { Machine } from './rental-row.ts'
import type { Rentals } from './rentals.ts'

/** A valid request for a hosted instance. */
export interface HostedSpec {
  readonly name: string
  readonly plan: HostedPlan
  readonly region: string
  readonly agent_type: string
  readonly version: string | null
}

const SSH_PORT = 22
const SSH_USER = 'ubuntu'

/** A hosted instance of the account. */
export class HostedInstance extends Rental<HostedState> {
  get plan_id(): string {
    return this.#machine.planId
  }
  get storage_gb(): number {
    return this.row.storageGb
  }
  /** Whether its storage is being expanded. */
  get expanding(): boolean {
    return this.row.expansionTargetGb > 0
  }
  get #machine(): Machine {
    return this.row.plan.machine!
  }

  /** Returns the record that the API sends. */
  toRecord() {
    const { id, name, failReason } = this.row
    const { planId, region, centsPerHour, agentType, version, lastBackup } = this.#machine
    return {
      id,
      name,
      state: this.state,
      ...this.times(),
      price_per_hour: centsPerHour / 100,
      region,
      last_backup_ts: lastBackup,
      ssh_port: SSH_PORT,
      fail_reason: failReason === '' ? null : failReason,
      public_ip: this.address(),
      version,
      agent_type: agentType,
      ssh_user: SSH_USER,
      plan_id: planId,
    }
  }

  expand(sizeGb: number): void {
    this.rentals.expand(this.ordinal, sizeGb)
  }
  start(): void {
    this.rentals.start(this.ordinal)
  }
  stop(): void {
    this.rentals.stop(this.ordinal)
  }
}

/** The lower parts that hosted instances use. */
export interface HostedInstancesParts {
  readonly rentals: Rentals
}

/** The hosted instances of the account: rented machines without GPUs, whose storage persists across stops. */
export class HostedInstances extends Part<HostedInstancesParts> {
  /** Returns the hosted instance with this id, even if it is deleted. */
  get(instanceId: string): HostedInstance | undefined {
    const { rentals } = this.parts
    const ordinal = rentals.ordinalOf(instanceId)
    if (ordinal === undefined || rentals.read(ordinal).kind !== 'hosted') return undefined
    return new HostedInstance(this.context, this.parts.rentals, ordinal)
  }

  /** Returns all hosted instances except deleted ones, by creation time, then id. */
  list(): HostedInstance[] {
    const ordinals = this.parts.rentals.list('hosted', state => state !== 'deleted')
    return ordinals.map(ordinal => new HostedInstance(this.context, this.parts.rentals, ordinal))
  }

  /** The number of hosted instances except deleted ones. */
  get count(): number {
    let count = 0
    for (const [, { kind, state }] of this.parts.rentals.entries()) {
      if (kind === 'hosted' && state !== 'deleted') count++
    }
    return count
  }

  create({ name, plan, region, agent_type: agentType, version }: HostedSpec): HostedInstance {
    const { rentals } = this.parts
    const { id: planId, cents_per_hour: centsPerHour, disk_gb: storageGb } = plan
    const machine: Machine = { planId, region, centsPerHour, agentType, version, lastBackup: null }
    const ordinal = rentals.create({ kind: 'hosted', name, machine, storageGb })
    return new HostedInstance(this.context, rentals, ordinal)
  }
}
