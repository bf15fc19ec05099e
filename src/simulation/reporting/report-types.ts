/** The types of a report, as the report endpoint and the command line give it. */

import type { DeploymentStatus, DeploymentType } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { InstanceState } from '../deployments/instance-row.ts'
import type { EngineView } from '../deployments/instance-speed.ts'
import type { LossCause } from '../recording/instance-timeline.ts'
import type { ReportStep, ServingFigures } from './time-series.ts'

/** GPU-hours of instances. */
export interface GpuHours {
  /** From placed to gone. */
  readonly held_gpu_hours: number
  /** The metered time: from ready to gone; from placed, if the provider bills placed instances. */
  readonly billed_gpu_hours: number
  /** The time that work took: requests of the offered load; the whole capacity while lines of a batch ran. */
  readonly used_gpu_hours: number
  /** Held less used. */
  readonly wasted_gpu_hours: number
}

/**
 * Whole requests: waiting_before + arrived = served + refused + failed + left + waiting. A request of a client counts as
 * waiting until it is terminal.
 */
export interface RequestCounts {
  readonly waiting_before: number
  readonly arrived: number
  readonly served: number
  readonly refused: number
  /** Ended by the loss of the instance or by the cut-off of the account. */
  readonly failed: number
  /** The client left before an instance accepted the request. */
  readonly left: number
  /** Waiting at the end of the window. */
  readonly waiting: number
}

/**
 * Tokens of the prompts that instances accepted, and of their answers, incomplete answers included. Tokens of the load
 * follow from its mean lengths. They are integers, so adjoining windows add up.
 */
export interface TokenCounts {
  readonly input: number
  readonly output: number
}

/** Durations by nearest rank. */
export interface Durations {
  readonly min_seconds: number
  readonly median_seconds: number
  readonly p95_seconds: number
  readonly max_seconds: number
}

export const COLD_START_PHASES = ['waiting_for_placement', 'image', 'weights', 'load', 'warm_up', 'total'] as const
export type ColdStartPhase = (typeof COLD_START_PHASES)[number]

/** Instances whose whole start, from pending to ready, ended in the window. If the count is 0, `phases` is null. */
export interface ColdStarts {
  readonly count: number
  readonly phases: Readonly<Record<ColdStartPhase, Durations>> | null
}

/** Seconds that a request waits at a moment: for a place, and for other prompts. */
export interface WaitSeconds {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

export interface DeploymentReport extends GpuHours {
  readonly deploy_id: string
  readonly model_name: string
  readonly type: DeploymentType
  /** Null for a deployment without instances of its own. */
  readonly gpu: GpuType | null
  readonly num_gpus: number
  /** At the end of the window. */
  readonly status: DeploymentStatus
  readonly rent_microcents: number
  readonly seconds_in_status: Readonly<Record<Exclude<DeploymentStatus, 'deleted'>, number>>
  /** Summed over its instances. */
  readonly instance_seconds_in_state: Readonly<Record<InstanceState, number>>
  readonly requests: RequestCounts
  readonly tokens: TokenCounts
  /** Share of the capacity of its ready instances; null without a ready instance. */
  readonly mean_utilisation: number | null
  /** At the end of the window; null for a deployment without load. */
  readonly serving: (ServingFigures & { readonly wait_seconds: WaitSeconds | null }) | null
  /** What one of its instances can do; null for a deployment without instances. */
  readonly engine: EngineView | null
  readonly cold_starts: number
  readonly median_cold_start_seconds: number | null
  readonly instances_lost: number
}

export interface GpuReport extends GpuHours {
  readonly gpu: GpuType
  /** GPUs that were up and not of another customer. */
  readonly capacity_gpu_hours: number
  /** The part of the capacity that is on spot nodes. */
  readonly spot_gpu_hours: number
  /** GPUs that other customers held on nodes that were up. The capacity is without them. */
  readonly others_gpu_hours: number
  /** The capacity at the prices of the profile: spot nodes cost `prices.spot_share` of the price on demand. */
  readonly capacity_cost_microcents: number
  /** GPUs that containers held. */
  readonly container_gpu_hours: number
  /** Share of the capacity that deployments and containers held; null without capacity. */
  readonly utilisation: number | null
  /** Of deployments and containers. */
  readonly rent_microcents: number
  /** The GPUs of the type that the account may hold now; null without a limit. */
  readonly quota: number | null
  /** How often deployments did not request an instance, because the quota was reached. */
  readonly quota_refusals: number
}

/** The activity and cost of a world between two times. Micro-cents are integers: 1 cent is 1,000,000 of them. */
export interface Report {
  /** The window, ISO 8601: everything after `from`, up to and including `to`. */
  readonly from: string
  readonly to: string
  readonly seconds: number
  readonly seed: string
  readonly profile: string
  /** The active weather pack, or `none`. */
  readonly weather: string
  /** The name or the folder of the fixture; `given` for an object. */
  readonly fixture: string
  /** The commands that were executed in the window, those of weather aside. */
  readonly commands: {
    readonly count: number
    /** The newest 100, oldest first. */
    readonly newest: readonly { readonly at: string; readonly verb: string; readonly target: string }[]
  }
  readonly money: {
    /** opening_balance + funds + topups + adjustments − rent − tokens − units = closing_balance. */
    readonly opening_balance_microcents: number
    readonly funds_microcents: number
    readonly topups_microcents: number
    /** Differences that the command `funds.set` posted: positive or negative. */
    readonly adjustments_microcents: number
    readonly rent_microcents: number
    readonly tokens_microcents: number
    /** Requests to catalog models that are charged by other units: images, characters, seconds. */
    readonly units_microcents: number
    readonly closing_balance_microcents: number
    readonly topups: number
    readonly topups_declined: number
    readonly suspensions: number
    readonly hosted: readonly {
      readonly instance_id: string
      readonly name: string
      readonly plan_id: string
      readonly rent_microcents: number
      readonly billed_hours: number
    }[]
    readonly containers: readonly {
      readonly container_id: string
      readonly name: string
      readonly gpu: GpuType
      readonly rent_microcents: number
      readonly billed_gpu_hours: number
    }[]
    readonly tokens: readonly {
      /** Null for the sum of all requests to a model outside batches. */
      readonly batch_id: string | null
      readonly model: string
      readonly tokens_microcents: number
    }[]
    readonly tokens_by_model: readonly { readonly model: string; readonly tokens_microcents: number }[]
    readonly units_by_model: readonly { readonly model: string; readonly units_microcents: number }[]
  }
  readonly gpus: readonly GpuReport[]
  readonly deployments: readonly DeploymentReport[]
  /** All deployments together. */
  readonly totals: GpuHours & {
    readonly deployments: number
    readonly capacity_gpu_hours: number
    readonly container_gpu_hours: number
    readonly requests: RequestCounts
    readonly tokens: TokenCounts
    readonly mean_utilisation: number | null
  }
  readonly cold_starts: ColdStarts
  readonly failures: {
    readonly instances_lost: number
    readonly instances_lost_to: Readonly<Record<LossCause, number>>
    readonly deployments_failed: number
    readonly node_crashes: number
    readonly node_preemptions: number
    readonly gpu_failures: number
    readonly zone_outages: number
  }
  /** Failures of the fleet, suspensions and declined top-ups: the first 10. Those of a kind at one instant are one. */
  readonly incidents: {
    readonly count: number
    readonly first: readonly { readonly at: string; readonly kind: string; readonly times: number }[]
  }
  readonly batches: {
    readonly created: number
    readonly completed: number
    readonly failed: number
    readonly expired: number
    readonly cancelled: number
    /** Terminal lines, failed lines included. */
    readonly lines_done: number
    readonly lines_failed: number
  }
  /** One row per step and deployment, if a step was given. */
  readonly series?: readonly ReportStep[]
}

/** A window in microseconds since the epoch of the world. Both ends are in the past. */
export interface ReportWindow {
  readonly from: Micros
  readonly to: Micros
  /** The time between the rows of a deployment in the series. */
  readonly step?: Micros | undefined
}
