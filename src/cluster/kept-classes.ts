/**
 * The classes of what a snapshot of a world holds. Rows are kept by their own fields, so a field that is added to one is
 * kept as it stands; a class that is added has to be named here, and a test says so.
 */
import { Chance } from '../kernel/random.ts'
import { Generation } from '../kernel/table.ts'
import type { OfferedLoad } from '../store/load.ts'
import { Accrual } from './accrual.ts'
import { BatchRow } from './batch-row.ts'
import { ScheduledCommandRow } from './commands.ts'
import { DeploymentRow } from './deployment-row.ts'
import { FileRow } from './files.ts'
import { InferenceRow } from './inference-row.ts'
import { InstanceRow } from './instances.ts'
import { AccountRow, MeterRow } from './ledger-row.ts'
import { InstanceTimeline } from './life.ts'
import { QuotaRequestRow } from './limits.ts'
import { type CurveRandomness, LoadCurve } from './load-curve.ts'
import { AccountModelRow } from './models.ts'
import { NodeRow } from './nodes.ts'
import { RentalRow } from './rental-row.ts'
import { WeatherSourceRow } from './weather.ts'

/** Rows and what else has nothing but fields. */
export const CLASSES_ARCHIVED_BY_FIELDS = {
  AccountRow,
  BatchRow,
  ScheduledCommandRow,
  DeploymentRow,
  FileRow,
  InferenceRow,
  InstanceRow,
  InstanceTimeline,
  QuotaRequestRow,
  MeterRow,
  NodeRow,
  AccountModelRow,
  RentalRow,
  WeatherSourceRow,
} as const

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
  // Whose a row was does not matter to whoever puts it back, only that it is nobody's there.
  Generation: {
    of: Generation,
    take: (): readonly unknown[] => [],
    make: (): Generation => new Generation(),
  },
  // Compiled anew: what it was compiled from takes a hundredth of the room.
  LoadCurve: {
    of: LoadCurve,
    take: ({ load, randomness: by }: LoadCurve): readonly unknown[] => [load, by],
    make: ([load, by]: readonly unknown[]): LoadCurve => new LoadCurve(load as OfferedLoad, by as CurveRandomness),
  },
} as const
