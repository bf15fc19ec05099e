/**
 * The classes of what a snapshot of a world holds. Rows are kept by the fields that they declare, so a new field is kept
 * without a change here. A new class must be listed here; a test checks it.
 */

import type { OfferedLoad } from '../data/offered-load.ts'
import { Chance } from '../kernel/random.ts'
import { RateLimitRequestRow } from './account/access/rate-limits.ts'
import { Accrual } from './account/accrual.ts'
import { QuotaRequestRow } from './account/gpu-quotas.ts'
import { AccountRow, MeterRow } from './account/ledger-types.ts'
import { OwnRecordRow } from './account/own-records.ts'
import { BatchLines } from './batches/batch-lines.ts'
import { BatchRow } from './batches/batch-row.ts'
import { FileRow } from './batches/files.ts'
import { DeploymentRow } from './deployments/deployment-row.ts'
import { InstanceRow } from './deployments/instance-row.ts'
import { AccountModelRow } from './deployments/model-versions.ts'
import { NodeRow } from './fleet/node-row.ts'
import { InferenceRow } from './inference/request-row.ts'
import { WebhookRow } from './inference/webhooks.ts'
import { InstanceEngine, type InstanceWorkload } from './load/engine.ts'
import { type CurveRandomness, LoadCurve } from './load/load-curve.ts'
import { FlowState } from './load/request-flow.ts'
import { ScheduledCommandRow } from './operations/commands.ts'
import { WeatherSourceRow } from './operations/weather.ts'
import { InstanceTimeline } from './recording/instance-timeline.ts'
import { RentalRow } from './rentals/rental-row.ts'

/** Every class of rows. */
export const ROW_CLASSES = {
  AccountRow,
  BatchRow,
  ScheduledCommandRow,
  DeploymentRow,
  FileRow,
  InferenceRow,
  InstanceRow,
  QuotaRequestRow,
  MeterRow,
  NodeRow,
  OwnRecordRow,
  AccountModelRow,
  RateLimitRequestRow,
  RentalRow,
  WeatherSourceRow,
  WebhookRow,
} as const

/** Classes that have nothing but fields. */
export const CLASSES_ARCHIVED_BY_FIELDS = { BatchLines, FlowState, InstanceTimeline } as const

/** What is taken apart and put together again. */
export const CLASSES_ARCHIVED_BY_PARTS = {
  Accrual: {
    of: Accrual,
    take: ({ wholeMicrocents: whole, remainder: rest }: Accrual): readonly unknown[] => [whole, rest],
    make: ([whole, rest]: readonly unknown[]): Accrual => new Accrual(whole as number, rest as number),
  },
  Chance: {
    of: Chance,
    take: (chance: Chance): readonly unknown[] => [chance.seed],
    make: ([seed]: readonly unknown[]): Chance => new Chance(seed as string),
  },
  InstanceEngine: {
    of: InstanceEngine,
    take: ({ workload }: InstanceEngine): readonly unknown[] => [workload],
    make: ([workload]: readonly unknown[]): InstanceEngine => new InstanceEngine(workload as InstanceWorkload),
  },
  // Compiled again on restore, because its source takes a hundredth of the bytes.
  LoadCurve: {
    of: LoadCurve,
    take: ({ load, randomness: by }: LoadCurve): readonly unknown[] => [load, by],
    make: ([load, by]: readonly unknown[]): LoadCurve => new LoadCurve(load as OfferedLoad, by as CurveRandomness),
  },
} as const
